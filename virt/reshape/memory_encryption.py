"""One child provider for each technology that encrypts memory (compute.md §6.5.3)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations, give, held, holdings, take
from compute.provider_tree.inventory_record import with_reserved
from compute.provider_tree.names import child_name
from compute.provider_tree.stock import Stock
from virt.inventory import record
from virt.ownership import Ownership, ensure_child, own_child
from virt.reshape.removal import remove_provider

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree

MEM_ENCRYPTION_CONTEXT = "MEM_ENCRYPTION_CONTEXT"

#: The only technology at the time when the class was on the root.
AMD_SEV = "amd_sev"

#: Technology → its trait.
TRAITS = {
    AMD_SEV: "HW_CPU_X86_AMD_SEV",
    "amd_sev_es": "HW_CPU_X86_AMD_SEV_ES",
    "intel_tdx": "HW_CPU_X86_INTEL_TDX",
}


def is_technology(suffix: str) -> bool:
    """Say whether what follows the node's name is a technology; for an Ownership."""
    return suffix in TRAITS


def provider_name(nodename: str, technology: str) -> str:
    """Return the name of a technology's provider, e.g. `compute1_amd_sev`."""
    return child_name(nodename, technology)


def update_memory_encryption(
    tree: "ProviderTree",
    nodename: str,
    slots: Mapping[str, int],
    allocations: Allocations | None = None,
) -> None:
    """Report each technology on a child of its own, and take class and traits off the root.

    :param slots: technology, a key of TRAITS → how many guests can use it at once
    :param allocations: None, or the allocations to move, in place

    Raises ReshapeNeeded if the root has the class and `allocations` is None; the children are in
    the tree by then. Raises ReshapeFailed if a consumer holds the class on a technology's provider
    already, or if there is no room for it on the child of AMD SEV; the allocations are as they
    were.

    remove_other_technologies removes the children of technologies that the host no longer has.
    """
    root = tree.data(nodename)
    _update_children(tree, nodename, slots)
    tree.remove_traits(nodename, *TRAITS.values())
    if MEM_ENCRYPTION_CONTEXT not in root.inventory:
        return
    if allocations is None:
        raise exceptions.ReshapeNeeded()
    _move(tree, nodename, root.uuid, allocations)
    del root.inventory[MEM_ENCRYPTION_CONTEXT]
    tree.update_inventory(root.uuid, root.inventory)


def remove_other_technologies(
    tree: "ProviderTree",
    nodename: str,
    slots: Mapping[str, int],
    allocations: Allocations | None = None,
) -> None:
    """Remove the children of technologies that `slots` has none of."""
    for technology in TRAITS:
        name = provider_name(nodename, technology)
        if not slots.get(technology) and own_child(tree, name) is not None:
            remove_provider(tree, name, allocations)


def _update_children(tree: "ProviderTree", nodename: str, slots: Mapping[str, int]) -> None:
    for technology, trait in TRAITS.items():
        name = provider_name(nodename, technology)
        total = slots.get(technology, 0)
        if total:
            ensure_child(tree, name, nodename)
            inventory = {MEM_ENCRYPTION_CONTEXT: {**record(total), "max_unit": 1}}
            tree.update_inventory(name, with_reserved(inventory, tree.data(name).inventory))
            tree.add_traits(name, trait)


def _move(tree: "ProviderTree", nodename: str, root_uuid: str, allocations: Allocations) -> None:
    ours = {one.uuid for one in Ownership(nodename, is_technology).below_root(tree)}
    moving = {}
    for consumer, body in sorted(allocations.items()):
        if amount := held(body, root_uuid, MEM_ENCRYPTION_CONTEXT):
            moving[consumer] = amount
        for provider_uuid, resource_class, _amount in holdings(body):
            if resource_class == MEM_ENCRYPTION_CONTEXT and provider_uuid in ours:
                raise exceptions.ReshapeFailed(
                    error=f"unexpected {resource_class} allocation on provider {provider_uuid} of "
                    f"consumer {consumer}: they should all be on the root provider"
                )
    if not moving:
        return
    target = provider_name(nodename, AMD_SEV)
    child = own_child(tree, target)
    if child is None:
        raise exceptions.ReshapeFailed(
            error=f"{', '.join(moving)} hold {MEM_ENCRYPTION_CONTEXT}, but this host offers no AMD "
            f"SEV: there is no provider {target}"
        )
    _refuse_what_does_not_fit(child.inventory[MEM_ENCRYPTION_CONTEXT], target, moving)
    for consumer, amount in moving.items():
        give(allocations[consumer], child.uuid, MEM_ENCRYPTION_CONTEXT, amount)
        take(allocations[consumer], root_uuid, MEM_ENCRYPTION_CONTEXT)


def _refuse_what_does_not_fit(
    inventory: Mapping[str, Any], target: str, moving: Mapping[str, int]
) -> None:
    stock = Stock.of(inventory)
    for consumer, amount in moving.items():
        if not stock.has_room_for(amount):
            raise exceptions.ReshapeFailed(
                error=f"no room for {amount} {MEM_ENCRYPTION_CONTEXT} of consumer {consumer} on "
                f"{target} (free: {stock.free}; at most {stock.max_unit} each)"
            )
        stock.used += amount
