"""Resource providers in memory: a forest with inventories, traits and aggregates.

The compute service keeps one as its memory of what placement knows, hands a copy to the driver to
edit, and sends the difference (compute.md §2)::

    cn (root) ── numa0 ── pf0       get_provider_uuids()               [cn, numa0, pf0, numa1, ssp]
              └─ numa1              get_provider_uuids("numa0")        [numa0, pf0]
    ssp (root, sharing)             get_provider_uuids_in_tree("pf0")  [cn, numa0, pf0, numa1]

A provider is named by its uuid or its name, compared letter by letter. Where both could be meant
the order is: a root's uuid, a root's name, and then the first match of a depth-first walk.
Methods raise ValueError for a provider that isn't there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, ValuesView
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from uuid import uuid4

import os_traits

from compute.provider_tree.forest import ProviderForest
from compute.provider_tree.inventory_record import Inventory
from compute.provider_tree.node import (
    ProviderData,
    ProviderNode,
    Resource,
    copied_inventory,
    copied_resources,
)

__all__ = ["ProviderData", "ProviderSubTree", "ProviderTree", "Resource"]

# One lock for every tree in the process, copies included; it is called provider-tree-lock in the
# specification. It is held for the length of one method and is not re-entrant.
_PROVIDER_TREE_LOCK = threading.Lock()

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _locked(
    method: Callable[Concatenate[ProviderTree, _P], _R],
) -> Callable[Concatenate[ProviderTree, _P], _R]:
    @wraps(method)
    def under_lock(self: ProviderTree, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        with self.lock:
            return method(self, *args, **kwargs)

    return under_lock


class ProviderTree:
    """A forest of resource providers. Safe to use from many threads; copies are independent."""

    def __init__(self) -> None:
        self.lock = _PROVIDER_TREE_LOCK
        self._forest = ProviderForest()
        self._removed: set[str] = set()
        self._conflicts: set[str] = set()
        self._filled: set[str] = set()

    @property
    def roots(self) -> ValuesView[ProviderNode]:
        """Return the root providers, in the order they came."""
        return self._forest.roots

    @property
    def roots_by_uuid(self) -> dict[str, ProviderNode]:
        """Return uuid → root provider."""
        return self._forest.roots_by_uuid

    @property
    def roots_by_name(self) -> dict[str, ProviderNode]:
        """Return name → root provider; of two with the same name, the newer."""
        return self._forest.roots_by_name

    # Copying

    def __deepcopy__(self, memo: dict[int, Any]) -> ProviderTree:
        with self.lock:
            twin = self._empty_twin()
            for root in self.roots:
                twin._forest.adopt_copy(root)
            twin._removed |= self._removed
            twin._conflicts |= self._conflicts
            twin._filled |= self._filled
            return twin

    def __getstate__(self) -> dict[str, Any]:
        with self.lock:
            state = self.__dict__.copy()
            del state["lock"]
            # Copy the providers here: pickle reads the state after the lock is released.
            del state["_forest"]
            state["providers"] = [node.data() for node in self._forest.walk()]
            return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        ProviderTree.__init__(self)
        providers = state.pop("providers")
        self.__dict__.update(state)
        for row in providers:
            node = ProviderNode(row.name, row.uuid, row.generation, row.parent_uuid)
            node.inventory, node.traits = row.inventory, row.traits
            node.aggregates, node.resources = row.aggregates, row.resources
            self._forest.insert(node)

    def _empty_twin(self) -> ProviderTree:
        return ProviderTree()

    # Adding and removing nodes

    def _insert(self, node: ProviderNode) -> None:
        self._forest.insert(node)
        self._removed.discard(node.uuid)

    def populate_from_iterable(self, provider_dicts: Iterable[Mapping[str, Any]] | None) -> None:
        """Put in providers as `GET /resource_providers` lists them, in whatever order.

        `uuid`, `name`, `generation` and `parent_provider_uuid` are read. A provider that is here
        already is replaced, together with all below it, by one without inventory, traits and
        aggregates: so pass complete sub-trees. Raises ValueError if a parent is neither listed nor
        here, or if the parents form a circle, and KeyError without `uuid` or `name`; then nothing
        is changed.
        """
        self._populate({row["uuid"]: _bare(row) for row in provider_dicts or ()})

    def populate_whole(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Put in providers with their `inventories`, `aggregates` and `traits`, all at once.

        For the rest see `populate_from_iterable`.
        """
        self._populate({row["uuid"]: _whole(row) for row in rows})

    def _populate(self, nodes: Mapping[str, ProviderNode]) -> None:
        with self.lock:
            for node in self._forest.parents_first(nodes.values()):
                existing = self._forest.by_uuid.get(node.uuid)
                if existing is not None:
                    self._forest.remove(existing)
                self._insert(node)

    @_locked
    def new_root(self, name: str, uuid: str, generation: int | None = None) -> str:
        """Add a root provider and return its uuid.

        Raises ValueError without a uuid, or if a provider has it as uuid or name already. The name
        isn't checked, because placement does that: a second root of the same name hides the first.
        """
        if not uuid:
            raise ValueError(f"Provider {name} needs a uuid to be a root.")
        if self._forest.find(uuid):
            raise ValueError(f"Provider {uuid} already exists.")
        self._insert(ProviderNode(name, uuid, generation))
        return uuid

    @_locked
    def new_child(
        self, name: str, parent: str, uuid: str | None = None, generation: int | None = None
    ) -> str:
        """Add a provider below `parent` (name or uuid) and return its uuid, made up if not given.

        Raises ValueError if the parent is missing, or if the uuid (without one: the name) is taken.
        """
        key = uuid or name
        if self._forest.find(key):
            raise ValueError(f"Provider {key} already exists.")
        parent_node = self._forest.get(parent)
        node = ProviderNode(name, uuid or str(uuid4()), generation, parent_node.uuid)
        self._insert(node)
        return node.uuid

    @_locked
    def remove(self, name_or_uuid: str) -> None:
        """Remove the provider and all below it; `removed` lists them from now on."""
        node = self._forest.get(name_or_uuid)
        self._removed.update(gone.uuid for gone in node.walk())
        self._forest.remove(node)

    @_locked
    def forget(self, name_or_uuid: str) -> None:
        """Drop the provider and all below it from the tree; in placement they may still exist."""
        self._forest.remove(self._forest.get(name_or_uuid))

    @property
    def removed(self) -> frozenset[str]:
        """Return the uuids of the providers that were removed and weren't added again."""
        with self.lock:
            return frozenset(self._removed)

    # Looking around

    @_locked
    def get_provider_uuids(self, name_or_uuid: str | None = None) -> list[str]:
        """Return the uuids of all providers, or of one and all below it, parents first."""
        nodes = (
            self._forest.walk() if name_or_uuid is None else self._forest.get(name_or_uuid).walk()
        )
        return [node.uuid for node in nodes]

    @_locked
    def get_provider_uuids_in_tree(self, name_or_uuid: str) -> list[str]:
        """Return the uuids of the whole tree the provider belongs to, its root first."""
        return [node.uuid for node in self._forest.root_of(self._forest.get(name_or_uuid)).walk()]

    @_locked
    def _find_with_lock(self, name_or_uuid: str, return_root: bool = False) -> ProviderNode:
        """Return the provider itself, or the root above it. Tests of nova's developers call this.

        What is returned is part of the tree, and not protected by the lock any more.
        """
        node = self._forest.get(name_or_uuid)
        return self._forest.root_of(node) if return_root else node

    @_locked
    def exists(self, name_or_uuid: str) -> bool:
        """Say whether there is such a provider."""
        return self._forest.find(name_or_uuid) is not None

    @_locked
    def data(self, name_or_uuid: str) -> ProviderData:
        """Return a snapshot of the provider."""
        return self._forest.get(name_or_uuid).data()

    @_locked
    def subtree(self, name_or_uuid: str) -> ProviderSubTree:
        """Return an independent copy of one root with all below it, and of nothing else.

        Raises ValueError also if the provider isn't a root.
        """
        return self._scope(name_or_uuid)

    @_locked
    def subtree_with_sharing(self, name_or_uuid: str) -> ProviderSubTree:
        """Return `subtree` and the providers that share with it.

        Those are the sharing providers that have an aggregate in common with a member. Each is a
        root without children in the copy, wherever it is in this tree.
        """
        scope = self._scope(name_or_uuid)
        members = scope._forest
        aggregates = set().union(*(node.aggregates for node in members.walk()))
        if not aggregates:
            return scope
        for node in self._forest.sharing():
            if not aggregates.isdisjoint(node.aggregates) and node.uuid not in members.by_uuid:
                lone = node.copy_alone()
                lone.parent_uuid = None
                members.insert(lone)
        return scope

    def _scope(self, name_or_uuid: str) -> ProviderSubTree:
        root = self._forest.get(name_or_uuid)
        if root.parent_uuid is not None:
            raise ValueError(f"Provider {name_or_uuid} is not a root provider.")
        scope = ProviderSubTree(root.uuid)
        scope._forest.adopt_copy(root)
        return scope

    # Conflicts

    @_locked
    def note_conflict(self, name_or_uuid: str) -> None:
        """Remember that placement refused this generation of the provider as outdated."""
        self._conflicts.add(self._forest.get(name_or_uuid).uuid)

    @_locked
    def expected_generation(self, name_or_uuid: str) -> int | None:
        """Return the generation to write the provider at; None: the one that placement has by then.

        It is None for a provider that was made here, and after `note_conflict`.
        """
        node = self._forest.get(name_or_uuid)
        return None if node.uuid in self._conflicts else node.generation

    @_locked
    def note_written(self, name_or_uuid: str, generation: int | None) -> None:
        """Remember that placement has the provider as it is here, at this generation."""
        node = self._forest.get(name_or_uuid)
        self._conflicts.discard(node.uuid)
        node.note_generation(generation)

    # All properties

    @_locked
    def update_all(self, row: Mapping[str, Any], may_add: bool = False) -> None:
        """Replace inventory, aggregates, traits and generation; no copy has only some of them.

        With `may_add` a provider that isn't here becomes a root; else that is a ValueError.

        :param row: as for `populate_whole`
        """
        if may_add and self._forest.find(row["uuid"]) is None:
            self._insert(_whole({**row, "parent_provider_uuid": None}))
            return
        node = self._forest.get(row["uuid"])
        node.take_properties(row)
        self._forest.traits_changed()
        node.note_generation(row["generation"])

    # Inventory

    @_locked
    def has_inventory(self, name_or_uuid: str) -> bool:
        """Say whether the provider has an inventory of anything."""
        return bool(self._forest.get(name_or_uuid).inventory)

    @_locked
    def has_inventory_changed(self, name_or_uuid: str, inventory: Inventory) -> bool:
        """Say whether `inventory` asks for something else than is stored.

        It does if it has other classes, or fields that differ or are new. Fields left out don't
        count.
        """
        return self._forest.get(name_or_uuid).inventory_differs(inventory)

    @_locked
    def update_inventory(
        self, name_or_uuid: str, inventory: Inventory, generation: int | None = None
    ) -> bool:
        """Replace the whole inventory if it changes anything; return whether it did.

        A `generation` is stored either way.
        """
        node = self._forest.get(name_or_uuid)
        self._filled.add(node.uuid)
        return self._changed(node, inventory, generation)

    @_locked
    def correct_inventory(self, name_or_uuid: str, inventory: Inventory) -> bool:
        """Replace the whole inventory as `update_inventory` does, of whomever the provider is.

        It doesn't count as filled.
        """
        return self._changed(self._forest.get(name_or_uuid), inventory, None)

    @staticmethod
    def _changed(node: ProviderNode, inventory: Inventory, generation: int | None) -> bool:
        changed = node.inventory_differs(inventory)
        if changed:
            node.inventory = copied_inventory(inventory)
        node.note_generation(generation)
        return changed

    @property
    def filled(self) -> frozenset[str]:
        """Return the uuids of the providers that `update_inventory` was called for, here."""
        with self.lock:
            return frozenset(self._filled)

    def has_sharing_provider(self, resource_class: str) -> bool:
        """Say whether some provider shares `resource_class` with its aggregates."""
        for uuid in self.get_provider_uuids():
            try:
                provider = self.data(uuid)
            except ValueError:
                continue  # removed by another thread since: it shares nothing
            if (
                resource_class in provider.inventory
                and os_traits.MISC_SHARES_VIA_AGGREGATE in provider.traits
            ):
                return True
        return False

    @_locked
    def update_resources(self, name_or_uuid: str, resources: dict[str, set[Any]]) -> bool:
        """Replace the assignable resources if they differ; return whether they did."""
        node = self._forest.get(name_or_uuid)
        if node.resources == resources:
            return False
        node.resources = copied_resources(resources)
        return True

    # Traits

    @_locked
    def has_traits(self, name_or_uuid: str, traits: Iterable[str]) -> bool:
        """Say whether the provider has every one of `traits`."""
        return self._forest.get(name_or_uuid).traits.issuperset(traits)

    @_locked
    def have_traits_changed(self, name_or_uuid: str, traits: Iterable[str]) -> bool:
        """Say whether `traits` is another set than the provider's."""
        return self._forest.get(name_or_uuid).traits_differ(traits)

    @_locked
    def update_traits(
        self, name_or_uuid: str, traits: Iterable[str], generation: int | None = None
    ) -> bool:
        """Replace the traits; return whether that changed anything.

        A `generation` is stored either way.
        """
        node = self._forest.get(name_or_uuid)
        wanted = set(traits)
        changed = node.traits != wanted
        node.traits = wanted
        if changed:
            self._forest.traits_changed()
        node.note_generation(generation)
        return changed

    def add_traits(self, name_or_uuid: str, *traits: str) -> None:
        """Add `traits`. Without any, the provider isn't even looked up."""
        if traits:
            with self.lock:
                self._forest.get(name_or_uuid).traits.update(traits)
                self._forest.traits_changed()

    def remove_traits(self, name_or_uuid: str, *traits: str) -> None:
        """Take away `traits`; absent ones are fine. Without any, nothing is looked up."""
        if traits:
            with self.lock:
                self._forest.get(name_or_uuid).traits.difference_update(traits)
                self._forest.traits_changed()

    # Aggregates

    @_locked
    def in_aggregates(self, name_or_uuid: str, aggregates: Iterable[str]) -> bool:
        """Say whether the provider is a member of every one of `aggregates`."""
        return self._forest.get(name_or_uuid).aggregates.issuperset(aggregates)

    @_locked
    def have_aggregates_changed(self, name_or_uuid: str, aggregates: Iterable[str]) -> bool:
        """Say whether `aggregates` is another set than the provider's."""
        return self._forest.get(name_or_uuid).aggregates_differ(aggregates)

    @_locked
    def update_aggregates(
        self, name_or_uuid: str, aggregates: Iterable[str], generation: int | None = None
    ) -> bool:
        """Replace the aggregates; return whether that changed anything.

        A `generation` is stored either way.
        """
        node = self._forest.get(name_or_uuid)
        wanted = set(aggregates)
        changed = node.aggregates != wanted
        node.aggregates = wanted
        node.note_generation(generation)
        return changed

    @_locked
    def add_aggregates(self, name_or_uuid: str, *aggregates: str) -> None:
        """Add `aggregates`."""
        self._forest.get(name_or_uuid).aggregates.update(aggregates)

    @_locked
    def remove_aggregates(self, name_or_uuid: str, *aggregates: str) -> None:
        """Take away `aggregates`; absent ones are fine."""
        self._forest.get(name_or_uuid).aggregates.difference_update(aggregates)


def _bare(row: Mapping[str, Any]) -> ProviderNode:
    return ProviderNode(
        row["name"], row["uuid"], row.get("generation"), row.get("parent_provider_uuid")
    )


def _whole(row: Mapping[str, object]) -> ProviderNode:
    node = _bare(row)
    node.take_properties(row)
    return node


class ProviderSubTree(ProviderTree):
    """The part of a ProviderTree that belongs to one root, `scope_rp_uuid`.

    `SchedulerReportClient.update_from_provider_tree` removes nothing outside that scope. It starts
    empty; `ProviderTree.subtree` makes a filled one.
    """

    def __init__(self, scope_rp_uuid: str) -> None:
        super().__init__()
        self._scope_rp_uuid = scope_rp_uuid

    @property
    def scope_rp_uuid(self) -> str:
        """Return the uuid of the root this sub-tree stands for."""
        return self._scope_rp_uuid

    def _empty_twin(self) -> ProviderTree:
        return ProviderSubTree(self._scope_rp_uuid)
