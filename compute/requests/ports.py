"""What a guest's ports ask for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from compute.report.consumers.resource_request import RequestGroup

REMOTE_MANAGED = "COMPUTE_REMOTE_MANAGED_PORTS"


@dataclass(frozen=True)
class GuestPort:
    """A port as the network service asks for it.

    :param groups: suffix → group; the suffixes differ from those of other ports
    :param same_subtree: sets of suffixes
    :param remote_managed: a SmartNIC's own processor manages it
    """

    groups: Mapping[str, RequestGroup] = field(default_factory=dict)
    same_subtree: tuple[frozenset[str], ...] = ()
    remote_managed: bool = False
