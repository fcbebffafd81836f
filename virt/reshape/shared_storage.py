"""Disk of the root moves to a pool that several hosts share (compute.md §6.9)."""

from typing import TYPE_CHECKING

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations
from compute.provider_tree.relocation import Target, relocate

if TYPE_CHECKING:
    from compute.provider_tree import ProviderData, ProviderTree

DISK_GB = "DISK_GB"
SHARES = "MISC_SHARES_VIA_AGGREGATE"


def disk_pools(tree: "ProviderTree", nodename: str) -> "list[ProviderData]":
    """Return the providers that share DISK_GB with the node, by aggregate, the lowest uuid first.

    Providers of the node's own tree are left out.
    """
    root = tree.data(nodename)
    own = set(tree.get_provider_uuids(nodename))
    others = (tree.data(uuid) for uuid in sorted(set(tree.get_provider_uuids()) - own))
    return [
        one
        for one in others
        if SHARES in one.traits and DISK_GB in one.inventory and one.aggregates & root.aggregates
    ]


def move_disk(
    tree: "ProviderTree",
    nodename: str,
    pool: "ProviderData",
    allocations: Allocations | None = None,
) -> None:
    """Take DISK_GB off the root, and move the allocations of it to the pool.

    Raises ReshapeNeeded if the root has DISK_GB and `allocations` is None; the tree is as it was.
    Raises ReshapeFailed if the pool could never hold that much; the allocations are as they were.

    What other hosts' guests hold of the pool isn't known here, so Placement decides whether there
    is room.
    """
    root = tree.data(nodename)
    if DISK_GB in root.inventory and allocations is None:
        raise exceptions.ReshapeNeeded()
    if allocations is not None:
        target = Target(pool.uuid, pool.name, {DISK_GB: pool.inventory[DISK_GB]})
        relocate(allocations, {root.uuid: {DISK_GB}}, [target])
    tree.update_inventory(
        root.uuid, {name: one for name, one in root.inventory.items() if name != DISK_GB}
    )
