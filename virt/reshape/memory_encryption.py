"""One child provider for each technology that encrypts memory (compute.md §6.5.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations, give, held, holdings, take
from compute.provider_tree.inventory_record import with_reserved
from compute.provider_tree.names import child_name
from compute.provider_tree.stock import Stock
from virt.inventory import record
from virt.ownership import Ownership, ensure_child, own_child
from virt.reshape.removal import remove_gone, remove_provider

if TYPE_CHECKING:
    from compute.provider_tree import ProviderData, ProviderTree

MEM_ENCRYPTION_CONTEXT = "MEM_ENCRYPTION_CONTEXT"

#: The only technology at the time when the class was on the root.
AMD_SEV = "amd_sev"

#: Technology → its trait.
TRAITS = {
    AMD_SEV: "HW_CPU_X86_AMD_SEV",
    "amd_sev_es": "HW_CPU_X86_AMD_SEV_ES",
    "amd_sev_snp": "HW_CPU_X86_AMD_SEV_SNP",
    "intel_tdx": "HW_CPU_X86_INTEL_TDX",
}

# A machine has one of these at a time: both use the same slots of the processor.
_ONE_OF = ("amd_sev_es", "amd_sev_snp")


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

    Raises ReshapeNeeded if `allocations` is None, and the root has the class, or SEV-SNP and SEV-ES
    replaced each other; the children are in the tree by then. Raises ReshapeFailed if a consumer
    holds the class on the root and on a technology's provider already, or if there is no room for
    it where it goes; the allocations are as they were.

    remove_other_technologies removes the children of technologies that the host no longer has.
    """
    root = tree.data(nodename)
    replaced = _replaced(tree, nodename, slots)
    _update_children(tree, nodename, slots, replaced)
    tree.remove_traits(nodename, *TRAITS.values())
    is_on_root = MEM_ENCRYPTION_CONTEXT in root.inventory
    if not is_on_root and not replaced:
        return
    if allocations is None:
        raise exceptions.ReshapeNeeded()
    moves = []
    if is_on_root:
        moves += _moves_off_root(tree, nodename, root.uuid, allocations)
    for technology, former in replaced.items():
        moves += _moves(tree, nodename, former.uuid, technology, allocations)
    for move in moves:
        move.apply(allocations)
    if is_on_root:
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
            is_replaced = technology in _ONE_OF and any(slots.get(one) for one in _ONE_OF)
            (remove_provider if is_replaced else remove_gone)(tree, name, allocations)


def _replaced(
    tree: "ProviderTree", nodename: str, slots: Mapping[str, int]
) -> "dict[str, ProviderData]":
    """Return technology → the provider of the one that it replaces, if that still has contexts."""
    found = {}
    for technology, former in (_ONE_OF, _ONE_OF[::-1]):
        provider = own_child(tree, provider_name(nodename, former))
        if not slots.get(technology) or slots.get(former) or provider is None:
            continue
        if MEM_ENCRYPTION_CONTEXT in provider.inventory:
            found[technology] = provider
    return found


def _update_children(
    tree: "ProviderTree",
    nodename: str,
    slots: Mapping[str, int],
    replaced: "Mapping[str, ProviderData]",
) -> None:
    for technology, trait in TRAITS.items():
        name = provider_name(nodename, technology)
        total = slots.get(technology, 0)
        if total:
            ensure_child(tree, name, nodename)
            known = tree.data(name).inventory
            if not known and technology in replaced:
                known = replaced[technology].inventory
            inventory = {MEM_ENCRYPTION_CONTEXT: {**record(total), "max_unit": 1}}
            tree.update_inventory(name, with_reserved(inventory, known))
            tree.add_traits(name, trait)


@dataclass(frozen=True)
class _ContextMove:
    consumer: str
    amount: int
    source: str
    target: str

    def apply(self, allocations: Allocations) -> None:
        give(allocations[self.consumer], self.target, MEM_ENCRYPTION_CONTEXT, self.amount)
        take(allocations[self.consumer], self.source, MEM_ENCRYPTION_CONTEXT)


def _moves_off_root(
    tree: "ProviderTree", nodename: str, root_uuid: str, allocations: Allocations
) -> list[_ContextMove]:
    ours = {one.uuid for one in Ownership(nodename, is_technology).below_root(tree)}
    for consumer, body in sorted(allocations.items()):
        for provider_uuid, resource_class, _amount in holdings(body):
            if resource_class == MEM_ENCRYPTION_CONTEXT and provider_uuid in ours:
                raise exceptions.ReshapeFailed(
                    error=f"unexpected {resource_class} allocation on provider {provider_uuid} of "
                    f"consumer {consumer}: they should all be on the root provider"
                )
    return _moves(tree, nodename, root_uuid, AMD_SEV, allocations)


def _moves(
    tree: "ProviderTree", nodename: str, source: str, technology: str, allocations: Allocations
) -> list[_ContextMove]:
    """Return how all contexts of a provider move to that of a technology.

    Raises ReshapeFailed if the host offers none of it, or there is no room.
    """
    moving = {
        consumer: amount
        for consumer, body in sorted(allocations.items())
        if (amount := held(body, source, MEM_ENCRYPTION_CONTEXT))
    }
    if not moving:
        return []
    target = provider_name(nodename, technology)
    child = own_child(tree, target)
    if child is None:
        raise exceptions.ReshapeFailed(
            error=f"{', '.join(moving)} hold {MEM_ENCRYPTION_CONTEXT}, but this host offers no AMD "
            f"SEV: there is no provider {target}"
        )
    used = sum(held(body, child.uuid, MEM_ENCRYPTION_CONTEXT) for body in allocations.values())
    stock = Stock.of(child.inventory[MEM_ENCRYPTION_CONTEXT], used)
    for consumer, amount in moving.items():
        if not stock.has_room_for(amount):
            raise exceptions.ReshapeFailed(
                error=f"no room for {amount} {MEM_ENCRYPTION_CONTEXT} of consumer {consumer} on "
                f"{target} (free: {stock.free}; at most {stock.max_unit} each)"
            )
        stock.used += amount
    return [_ContextMove(one, amount, source, child.uuid) for one, amount in moving.items()]
