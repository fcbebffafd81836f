"""A host's providers with its NUMA nodes as children of the root, or flat, and the way between.

In the flat form, the root has all of VCPU and MEMORY_MB. In the modelled form, child providers
`<node>_numa<k>`, the cells, have them. The driver says what it wants, and `arrange` changes the
tree, whatever form it had before. compute.md §6.6.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations
from compute.provider_tree.cells import CELL_CLASSES, stays_together
from compute.provider_tree.inventory_record import Inventory, completed
from compute.provider_tree.relocation import KnownPlaces, Target, nobody_knows, relocate
from virt.ownership import Ownership, ensure_child, suffix_like
from virt.reshape.removal import remove_provider

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree

LOG = logging.getLogger(__name__)

#: The kind of the cells' names, for an Ownership.
is_cell = suffix_like(r"numa\d+")


@dataclass(frozen=True)
class CellProvider:
    """A provider the driver wants below its root; parents come before their children.

    Its traits are added to those that the provider has. Other traits that begin with `trait_family`
    are removed: the driver decides on all of them.
    """

    name: str
    parent: str
    inventory: Inventory
    traits: Collection[str] = field(default=())
    trait_family: str | None = None


def of_cells(nodename: str, names: Collection[str] = ()) -> Ownership:
    """Return the Ownership of a node's cells, and of providers of these names."""
    return Ownership(nodename, is_cell, names=names)


def inventories_now(
    tree: "ProviderTree", nodename: str, is_ours: Ownership
) -> dict[str, Inventory]:
    """Return name → inventory in the tree, of the node's root and the driver's below it."""
    uuids = {nodename: nodename} | _present(tree, is_ours)
    return {name: tree.data(uuid).inventory for name, uuid in uuids.items()}


def inherited(now: Mapping[str, Inventory], name: str) -> Inventory:
    """Return a provider's inventory, with the classes that could move to it from others of `now`.

    Allocation ratios are computed from the result. A class that moves keeps its ratio. If it had
    several, it gets the highest, so that all allocations still fit.
    """
    result: Inventory = {}
    for inventory in now.values():
        for resource_class, found in inventory.items():
            best = result.setdefault(resource_class, found)
            if completed(found)["allocation_ratio"] > completed(best)["allocation_ratio"]:
                result[resource_class] = found
    return result | now.get(name, {})


def arrange(
    tree: "ProviderTree",
    nodename: str,
    root_inventory: Inventory,
    wanted: Sequence[CellProvider],
    is_ours: Ownership,
    allocations: Allocations | None = None,
    known_places: KnownPlaces = nobody_knows,
    classes: Collection[str] = CELL_CLASSES,
) -> None:
    """Change the node's root, and the driver's providers below it, into what is wanted.

    :param root_inventory: the root's whole inventory
    :param wanted: the driver's other providers; those it has in the tree and doesn't want any more
        are removed
    :param is_ours: says which providers below the root are the driver's; all others stay as they
        are
    :param allocations: None, or the allocations to move, in place
    :param known_places: where consumers really are, by provider *name* instead of uuid
    :param classes: the classes that can move between these providers

    Raises ReshapeNeeded if `allocations` is None, and a class that a provider has is now wanted on
    another one only; the tree is as it was. Raises ReshapeFailed if an allocation fits nowhere; the
    allocations are as they were.
    """
    root = tree.data(nodename)
    present = _present(tree, is_ours)
    inventories = {nodename: root_inventory} | {one.name: one.inventory for one in wanted}
    moving = _moving_classes(tree, {nodename: root.uuid} | present, inventories, classes)
    if moving and allocations is None:
        LOG.info("%s moves to other providers below %s", ", ".join(sorted(moving)), nodename)
        raise exceptions.ReshapeNeeded()

    uuids = {nodename: root.uuid} | present
    for provider in wanted:
        if provider.name not in uuids:
            uuids[provider.name] = ensure_child(tree, provider.name, uuids[provider.parent])
    if allocations is not None:
        _relocate(allocations, uuids, inventories, classes, known_places)
    for name, inventory in inventories.items():
        tree.update_inventory(uuids[name], inventory)
    for provider in wanted:
        _update_traits(tree, uuids[provider.name], provider)
    # `present` has parents first, and children have to be removed first.
    for name, uuid in reversed(present.items()):
        if name not in inventories:
            remove_provider(tree, uuid)


def _update_traits(tree: "ProviderTree", uuid: str, provider: CellProvider) -> None:
    if provider.trait_family is not None:
        family = {one for one in tree.data(uuid).traits if one.startswith(provider.trait_family)}
        tree.remove_traits(uuid, *family.difference(provider.traits))
    tree.add_traits(uuid, *provider.traits)


def _present(tree: "ProviderTree", is_ours: Ownership) -> dict[str, str]:
    """Return name → uuid of the driver's providers below the root, parents first."""
    return {provider.name: provider.uuid for provider in is_ours.below_root(tree)}


def _moving_classes(
    tree: "ProviderTree",
    uuids: Mapping[str, str],
    inventories: Mapping[str, Inventory],
    classes: Collection[str],
) -> set[str]:
    """Return the classes that one provider has but shouldn't have, and another should have."""
    wanted_somewhere = {name for inventory in inventories.values() for name in inventory}
    return {
        resource_class
        for name, uuid in uuids.items()
        for resource_class in tree.data(uuid).inventory
        if resource_class in classes
        and resource_class in wanted_somewhere
        and resource_class not in inventories.get(name, ())
    }


def _relocate(
    allocations: Allocations,
    uuids: Mapping[str, str],
    inventories: Mapping[str, Inventory],
    classes: Collection[str],
    known_places: KnownPlaces,
) -> None:
    def known_by_uuid(consumer: str) -> dict[str, Mapping[str, int]] | None:
        places = known_places(consumer)
        if places is None:
            return None
        return {uuids.get(name, name): amounts for name, amounts in places.items()}

    leaving = {
        uuid: set(classes).difference(inventories.get(name, ())) for name, uuid in uuids.items()
    }
    targets = [Target(uuids[name], name, inventory) for name, inventory in inventories.items()]
    together = [name for name in classes if stays_together(name)]
    relocate(allocations, leaving, targets, together, known_by_uuid)
