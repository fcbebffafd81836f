"""Machines that an older service reported as processors, memory and disk (compute.md §6.10).

The consumer of such a machine holds these amounts. Now the machine is reported as one unit of its
class, and its instance shall hold that unit. Formerly a tracker wrote these allocations anew at
every run (`requires_allocation_refresh`); a reshape does it once.
"""

from typing import TYPE_CHECKING

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations, give, held, take

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree

FORMER = ("VCPU", "MEMORY_MB", "DISK_GB")


def has_former_classes(tree: "ProviderTree", nodename: str) -> bool:
    """Say whether the node's root is reported in the former way."""
    return not tree.data(nodename).inventory.keys().isdisjoint(FORMER)


def give_whole_machine(
    tree: "ProviderTree", nodename: str, resource_class: str, allocations: Allocations
) -> bool:
    """Replace what consumers hold of former classes by one of `resource_class`, in place.

    Return whether a consumer got the class that didn't hold it before. Raises ReshapeFailed if
    several consumers would hold the machine; then nothing has changed.
    """
    root = tree.data(nodename).uuid
    former = {
        consumer: body
        for consumer, body in sorted(allocations.items())
        if any(held(body, root, name) for name in FORMER)
    }
    owners = {one for one, body in allocations.items() if held(body, root, resource_class)}
    if len(owners | former.keys()) > 1:
        raise exceptions.ReshapeFailed(
            error=f"machine {nodename} is held by several consumers, and one only can have it: "
            f"{', '.join(sorted(owners | former.keys()))}"
        )
    for consumer, body in former.items():
        # Give first: a record that is empty for a moment is removed, and then comes back as the
        # last.
        if consumer not in owners:
            give(body, root, resource_class, 1)
        for name in FORMER:
            take(body, root, name)
    return bool(former.keys() - owners)
