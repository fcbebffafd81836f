"""Which providers of a node's tree are the driver's. The driver changes no others.

The root is the driver's, and so is what the driver made below it. The driver knows its providers by
their names: it gives them names that it recognises, `<node>_<suffix>` with suffixes of kinds that
it knows (`numa0`, `pci_0000_84_00_0`). A provider with a trait that names another owner, like
OWNER_CYBORG, is never the driver's, whatever its name is. Nor is a provider that the compute
service made for a PCI device.
"""

import re
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from compute import exceptions
from compute.provider_tree.names import child_suffix
from compute.provider_tree.owners import has_other_owner

if TYPE_CHECKING:
    from compute.provider_tree import ProviderData, ProviderTree

#: Says whether a suffix is of a kind that the driver gives its providers.
Kind = Callable[[str], bool]

_OF_THE_TRACKER = "COMPUTE_MANAGED_PCI_DEVICE"


class Ownership:
    """Says of a provider below a node's root whether it is the driver's.

    :param kinds: the kinds of suffixes that the driver uses; a suffix follows the node's name
    :param names: whole names of the driver's other providers
    """

    def __init__(self, nodename: str, *kinds: Kind, names: Collection[str] = ()) -> None:
        self.nodename = nodename
        self._kinds = kinds
        self._names = frozenset(names)

    def __call__(self, provider: "ProviderData") -> bool:
        """Judge by the provider's name, and by its traits."""
        if is_foreign(provider):
            return False
        suffix = child_suffix(self.nodename, provider.name)
        return provider.name in self._names or (
            suffix is not None and any(is_of_kind(suffix) for is_of_kind in self._kinds)
        )

    def below_root(self, tree: "ProviderTree") -> "list[ProviderData]":
        """Return the driver's providers below the node's root, parents before their children."""
        below = (tree.data(uuid) for uuid in tree.get_provider_uuids(self.nodename)[1:])
        return [provider for provider in below if self(provider)]


def suffix_like(pattern: str) -> Kind:
    """Return the kind of the suffixes that a regular expression matches as a whole."""
    compiled = re.compile(pattern)
    return lambda suffix: compiled.fullmatch(suffix) is not None


def is_foreign(provider: "ProviderData") -> bool:
    """Say whether a provider's traits show that it isn't the driver's."""
    return _OF_THE_TRACKER in provider.traits or has_other_owner(provider.traits)


def own_child(tree: "ProviderTree", name: str) -> "ProviderData | None":
    """Return the driver's provider of that name, if there is one."""
    provider = tree.data(name) if tree.exists(name) else None
    return None if provider is None or is_foreign(provider) else provider


def ensure_child(tree: "ProviderTree", name: str, parent: str) -> str:
    """Return the uuid of the driver's provider of that name; create it if it is missing.

    A new provider is below `parent`.

    Raises InvalidConfiguration if another service's provider has that name.
    """
    if not tree.exists(name):
        return tree.new_child(name, parent)
    provider = tree.data(name)
    if is_foreign(provider):
        raise exceptions.InvalidConfiguration(
            f"Resource provider {name} ({provider.uuid}) is another service's, by its traits "
            f"{', '.join(sorted(provider.traits))}; this host needs one of that name."
        )
    return provider.uuid
