"""The options of nova that a guest's request depends on, by nova's names."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PciAlias:
    """A name for PCI devices, as [pci]alias defines it.

    :param resource_class: as placement names the class
    :param traits: as placement names them
    """

    resource_class: str
    traits: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Settings:
    """What nova's configuration says.

    :param pci_aliases: name → device; empty: nobody configured any, so flavors aren't held to them
    :param owner_trait: every nova-compute is new enough to mark its node as nova's
    """

    query_placement_for_image_type_support: bool = False
    image_metadata_prefilter: bool = False
    pci_in_placement: bool = False
    pci_aliases: Mapping[str, PciAlias] = field(default_factory=dict)
    owner_trait: bool = True
