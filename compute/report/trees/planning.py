"""The steps that lie between two trees: what placement has, and what is wanted (compute.md §3.9).

The order is: create what is new, parents first; reshape; delete what was removed, children first;
then set inventory, aggregates and traits where they differ, children first. Providers are never
renamed and never get another parent.

A provider that the editor of the wanted tree added may exist already: a sharing provider of other
hosts, or one that another writer created at the same moment. It keeps what others gave it: the
wanted traits and aggregates are added to those that it has.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

import os_traits

from compute.provider_tree import ProviderData, ProviderSubTree, ProviderTree
from compute.provider_tree.allocation_records import Allocations
from compute.report.trees.reshaper import Inventories
from compute.report.trees.steps import (
    AddProvider,
    PropertyStep,
    RemoveProvider,
    RereadInventory,
    Reshape,
    SetAggregates,
    SetInventory,
    SetTraits,
    Step,
)

LOG = logging.getLogger(__name__)

SHARES = os_traits.MISC_SHARES_VIA_AGGREGATE


class Known(Protocol):
    """What placement has, as far as is known. `tree` is up to date after each step."""

    tree: ProviderTree


def steps_to(
    known: Known, wanted: ProviderTree, allocations: Allocations | None = None
) -> Iterator[Step]:
    """Yield the steps that make placement look like `wanted`, one after the other.

    The caller applies each step, or imagines it, before it asks for the next one, because later
    steps depend on the outcome of earlier ones. For example, a provider to be created may turn out
    to exist, with traits of its own; and a reshape sets inventories as well.

    With `allocations`, even empty ones, inventories are moved by a reshape. A step writes a
    provider at the generation that `wanted` has of it, and not at that of the cache: another user
    of the cache may have read the provider again since `wanted` was copied. `wanted` gets the
    generations that the steps read and write.
    """
    removals = _removals(known.tree, wanted)
    yield from _additions(known.tree, wanted)
    _learn(known.tree, wanted)
    if allocations is not None:
        current = [
            uuid
            for uuid in wanted.get_provider_uuids()
            if wanted.data(uuid).generation == known.tree.data(uuid).generation
        ]
        yield from _reshape(known.tree, wanted, allocations, removals)
        for uuid in current:
            wanted.note_written(uuid, known.tree.data(uuid).generation)
    yield from removals
    for step in _property_steps(known.tree, wanted):
        yield replace(step, generation=wanted.expected_generation(step.uuid))
        wanted.note_written(step.uuid, known.tree.data(step.uuid).generation)


def _additions(known: ProviderTree, wanted: ProviderTree) -> list[AddProvider]:
    """Return steps that create what isn't known, a parent before its children."""
    return [
        AddProvider(
            one.uuid,
            one.name,
            one.parent_uuid,
            was_there=wanted.expected_generation(one.uuid) is not None,
        )
        for one in map(wanted.data, wanted.get_provider_uuids())
        if not known.exists(one.uuid)
    ]


def _removals(known: ProviderTree, wanted: ProviderTree) -> list[RemoveProvider]:
    """Return steps that delete what was removed from `wanted`, children before their parent.

    A provider that is known and never was in `wanted` may have come after `wanted` was copied, and
    stays. Of a ProviderSubTree only providers below its root are deleted: a sharing provider has
    other users.
    """
    removed = wanted.removed
    return [RemoveProvider(uuid) for uuid in reversed(_scope(known, wanted)) if uuid in removed]


def _reshape(
    known: ProviderTree,
    wanted: ProviderTree,
    allocations: Allocations,
    removals: Iterable[RemoveProvider],
) -> list[Step]:
    """Return one reshape, and steps that read back the new generations."""
    inventories = _reshaped_inventories(known, wanted, [step.uuid for step in removals])
    return [
        Reshape(inventories, allocations),
        *(
            RereadInventory(uuid, _has_more_to_set(known, wanted, uuid))
            for uuid in wanted.get_provider_uuids()
        ),
    ]


def _has_more_to_set(known: ProviderTree, wanted: ProviderTree, uuid: str) -> bool:
    """Say whether traits or aggregates of a provider that isn't new have to be set."""
    if not known.exists(uuid) or not known.data(uuid).generation:
        return False
    wants = _wanted_data(known, wanted, uuid)
    return known.have_traits_changed(uuid, wants.traits) or known.have_aggregates_changed(
        uuid, wants.aggregates
    )


def _property_steps(known: ProviderTree, wanted: ProviderTree) -> list[PropertyStep]:
    """Return steps that set what differs, children before their parent."""
    scope = set(_scope(known, wanted))
    steps: list[PropertyStep] = []
    for uuid in reversed(wanted.get_provider_uuids()):
        wants = _wanted_data(known, wanted, uuid)
        if uuid in scope:
            _warn_if_moved(known.data(uuid), wants)
        if known.has_inventory_changed(uuid, wants.inventory):
            steps.append(SetInventory(uuid, wants.inventory))
        if known.have_aggregates_changed(uuid, wants.aggregates):
            steps.append(SetAggregates(uuid, frozenset(wants.aggregates)))
        if known.have_traits_changed(uuid, wants.traits):
            steps.append(SetTraits(uuid, frozenset(wants.traits)))
    return steps


def _scope(known: ProviderTree, wanted: ProviderTree) -> list[str]:
    """Return the known providers that `wanted` is about."""
    if not isinstance(wanted, ProviderSubTree):
        return known.get_provider_uuids()
    root = wanted.scope_rp_uuid
    return known.get_provider_uuids(root) if known.exists(root) else []


def _warn_if_moved(has: ProviderData, wants: ProviderData) -> None:
    if (has.name, has.parent_uuid) != (wants.name, wants.parent_uuid):
        LOG.warning(
            "Provider %s stays %s below %s: renaming it to %s or moving it below %s is not "
            "supported.",
            has.uuid,
            has.name,
            has.parent_uuid,
            wants.name,
            wants.parent_uuid,
        )


def _learn(known: ProviderTree, wanted: ProviderTree) -> None:
    """Complete in `wanted` the providers that its editor added and that turned out to exist."""
    for uuid in wanted.get_provider_uuids():
        if wanted.data(uuid).generation is None and known.exists(uuid):
            found = _wanted_data(known, wanted, uuid)
            wanted.update_inventory(uuid, found.inventory)
            wanted.update_aggregates(uuid, found.aggregates)
            wanted.update_traits(uuid, found.traits, generation=known.data(uuid).generation)


def _wanted_data(known: ProviderTree, wanted: ProviderTree, uuid: str) -> ProviderData:
    """Return what the provider shall have: what `wanted` says, and what others gave it.

    A provider without a generation was added by the editor of `wanted`, who doesn't know what
    placement has. If the provider is known, it keeps its traits and aggregates, and its inventory
    unless `wanted` has one for it.
    """
    wants = wanted.data(uuid)
    if wants.generation is not None or not known.exists(uuid):
        return wants
    has = known.data(uuid)
    return wants._replace(
        inventory=wants.inventory or has.inventory,
        traits=wants.traits | has.traits,
        aggregates=wants.aggregates | has.aggregates,
    )


def _reshaped_inventories(
    known: ProviderTree, wanted: ProviderTree, removed: Iterable[str]
) -> Inventories:
    """Return the `inventories` of the reshape: providers of `wanted`, with its generations.

    Unchanged providers are listed too, except sharing providers. The generation of a sharing
    provider changes with every allocation of every host that uses it, so a reshape that names it
    would conflict with all of them. Placement checks its capacity all the same. The providers that
    are deleted afterwards are emptied by the same transaction, so that nothing can be placed on
    them in between.
    """
    inventories = {}
    for uuid in wanted.get_provider_uuids():
        wants = _wanted_data(known, wanted, uuid)
        if _is_only_shared(known, wanted, wants):
            continue
        inventories[uuid] = _record(wants.inventory, wants.generation)
    for uuid in removed:
        if known.exists(uuid):
            inventories[uuid] = _record({}, known.data(uuid).generation)
    return inventories


def _is_only_shared(known: ProviderTree, wanted: ProviderTree, wants: ProviderData) -> bool:
    """Say whether it is a sharing provider beside the node's own tree, and unchanged."""
    uuid = wants.uuid
    own_root = wanted.scope_rp_uuid if isinstance(wanted, ProviderSubTree) else None
    # the cheapest test comes first, the walk through a tree last
    return (
        SHARES in wants.traits
        and uuid != own_root
        and known.exists(uuid)
        and SHARES in known.data(uuid).traits
        and not known.has_inventory_changed(uuid, wants.inventory)
        and wanted.get_provider_uuids_in_tree(uuid) == [uuid]
    )


def _record(inventory: Mapping[str, object], generation: int | None) -> dict[str, object]:
    return {"inventories": inventory, "resource_provider_generation": generation}
