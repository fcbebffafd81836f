"""The NUMA cells of imaginary hosts, and the network cards below them (compute.md §6.6)."""

from collections.abc import Callable, Mapping, Sequence

from compute.provider_tree.cells import cell_name
from compute.provider_tree.inventory_record import with_reserved
from compute.provider_tree.names import child_name
from virt.inventory import Inventory, cell_inventories
from virt.ownership import Ownership
from virt.reshape import numa
from virt.sriov import PHYSNET_TRAIT, PhysicalFunction

#: Current inventory → ratio of each class.
Ratios = Callable[[Inventory], Mapping[str, float]]


def cells_and_cards(
    nodename: str,
    cells: Mapping[int, Mapping[str, int]],
    cards: Sequence[PhysicalFunction],
    now: Mapping[str, Inventory],
    reserved: Mapping[str, int],
    ratios: Ratios,
) -> list[numa.CellProvider]:
    """Return the providers of a modelled node: its cells first, then its cards.

    :param cells: cell → totals of VCPU and MEMORY_MB
    :param cards: each below its cell, or below the root if it has none
    :param now: name → inventory of the node's providers in the tree
    :param reserved: what the whole host keeps of each class
    """
    names = {cell: cell_name(nodename, cell) for cell in cells}
    inventories = cell_inventories(
        list(cells.values()),
        reserved,
        [ratios(numa.inherited(now, name)) for name in names.values()],
    )
    return [
        numa.CellProvider(name, nodename, inventory)
        for name, inventory in zip(names.values(), inventories, strict=True)
    ] + [
        numa.CellProvider(
            card_name(nodename, card),
            nodename if card.numa_node is None else names[card.numa_node],
            with_reserved(card.inventory, now.get(card_name(nodename, card), {})),
            card.traits,
            PHYSNET_TRAIT,
        )
        for card in cards
    ]


def of_cells_and_cards(nodename: str, cards: Sequence[PhysicalFunction]) -> Ownership:
    """Return the Ownership of the node's cells and cards."""
    return numa.of_cells(nodename, [card_name(nodename, card) for card in cards])


def card_name(nodename: str, card: PhysicalFunction) -> str:
    """Return the name of a card's provider."""
    return child_name(nodename, card.name)
