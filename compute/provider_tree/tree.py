"""A picture of resource providers in memory: a forest with inventories, traits and aggregates.

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

import heapq
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, ValuesView
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from uuid import uuid4

import os_traits

from compute.provider_tree.node import (
    Inventory,
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
        self.roots_by_uuid: dict[str, ProviderNode] = {}
        self.roots_by_name: dict[str, ProviderNode] = {}
        # Every provider, roots too. A name may occur more than once, a uuid can't.
        self._by_uuid: dict[str, ProviderNode] = {}
        self._by_name: dict[str, dict[str, ProviderNode]] = {}
        # The sharing providers, in the order they came; None: to be looked for.
        self._sharing: list[ProviderNode] | None = None
        self._removed: set[str] = set()
        self._conflicts: set[str] = set()

    @property
    def roots(self) -> ValuesView[ProviderNode]:
        """The root providers, in the order they came."""
        return self.roots_by_uuid.values()

    # Copying

    def __deepcopy__(self, memo: dict[int, Any]) -> ProviderTree:
        with self.lock:
            twin = self._empty_twin()
            for root in self.roots:
                twin._adopt_copy(root)
            twin._removed |= self._removed
            twin._conflicts |= self._conflicts
            return twin

    def __getstate__(self) -> dict[str, Any]:
        with self.lock:
            state = self.__dict__.copy()
            del state["lock"]
            # The nodes themselves would be read after the lock is released: hand out rows instead.
            for name in ("roots_by_uuid", "roots_by_name", "_by_uuid", "_by_name", "_sharing"):
                del state[name]
            state["providers"] = [node.data() for node in self._walk()]
            return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        ProviderTree.__init__(self)
        providers = state.pop("providers")
        self.__dict__.update(state)
        for row in providers:
            node = ProviderNode(row.name, row.uuid, row.generation, row.parent_uuid)
            node.inventory, node.traits = row.inventory, row.traits
            node.aggregates, node.resources = row.aggregates, row.resources
            self._insert(node)

    def _empty_twin(self) -> ProviderTree:
        return ProviderTree()

    def _adopt_copy(self, root: ProviderNode) -> None:
        for node in root.walk():
            self._insert(node.copy_alone())

    # Finding

    def _walk(self) -> Iterator[ProviderNode]:
        for root in self.roots:
            yield from root.walk()

    def _find(self, name_or_uuid: str) -> ProviderNode | None:
        found = self.roots_by_uuid.get(name_or_uuid) or self.roots_by_name.get(name_or_uuid)
        if found:
            return found
        by_uuid = self._by_uuid.get(name_or_uuid)
        namesakes = self._by_name.get(name_or_uuid)
        if not namesakes:
            return by_uuid
        if len(namesakes) == 1:
            (namesake,) = namesakes.values()
            if by_uuid is None or by_uuid is namesake:
                return namesake
        return next(node for node in self._walk() if name_or_uuid in (node.uuid, node.name))

    def _get(self, name_or_uuid: str) -> ProviderNode:
        found = self._find(name_or_uuid)
        if found is None:
            raise ValueError(f"No such provider {name_or_uuid}")
        return found

    def _root_of(self, node: ProviderNode) -> ProviderNode:
        while node.parent_uuid is not None:
            node = self._by_uuid[node.parent_uuid]
        return node

    # Adding and removing nodes

    def _insert(self, node: ProviderNode) -> None:
        if node.parent_uuid is None:
            self.roots_by_uuid[node.uuid] = node
            self.roots_by_name[node.name] = node
        else:
            parent = self._by_uuid.get(node.parent_uuid)
            if parent is None:
                raise ValueError(f"No such provider {node.parent_uuid}")
            parent.children[node.uuid] = node
        self._by_uuid[node.uuid] = node
        self._by_name.setdefault(node.name, {})[node.uuid] = node
        self._removed.discard(node.uuid)
        self._sharing = None

    def _remove(self, node: ProviderNode) -> None:
        self._sharing = None
        if node.parent_uuid is None:
            del self.roots_by_uuid[node.uuid]
            # The name may have been taken over by a newer root.
            if self.roots_by_name.get(node.name) is node:
                del self.roots_by_name[node.name]
        else:
            del self._by_uuid[node.parent_uuid].children[node.uuid]
        for gone in node.walk():
            del self._by_uuid[gone.uuid]
            namesakes = self._by_name[gone.name]
            del namesakes[gone.uuid]
            if not namesakes:
                del self._by_name[gone.name]

    def populate_from_iterable(self, providers: Iterable[Mapping[str, Any]] | None) -> None:
        """Put in providers as `GET /resource_providers` lists them, in whatever order.

        Read are `uuid`, `name`, `generation` and `parent_provider_uuid`. A provider already here
        is replaced together with all below it and starts bare, without inventory, traits or
        aggregates: pass complete sub-trees. ValueError if a parent is neither listed nor here, or
        if the parents form a circle; nothing is changed then. KeyError without `uuid` or `name`.
        """
        nodes = {
            row["uuid"]: ProviderNode(
                row["name"], row["uuid"], row.get("generation"), row.get("parent_provider_uuid")
            )
            for row in providers or ()
        }
        with self.lock:
            for node in self._parents_first(nodes):
                existing = self._by_uuid.get(node.uuid)
                if existing is not None:
                    self._remove(existing)
                self._insert(node)

    def _parents_first(self, nodes: dict[str, ProviderNode]) -> list[ProviderNode]:
        """Order `nodes`: always the earliest one whose parent isn't waiting any more."""
        position = {uuid: place for place, uuid in enumerate(nodes)}
        unknown: list[str] = []
        ready: list[tuple[int, str]] = []
        waiting_for: dict[str, list[str]] = {}
        for uuid, node in nodes.items():
            parent = node.parent_uuid
            if parent in nodes:
                waiting_for.setdefault(str(parent), []).append(uuid)
            else:
                heapq.heappush(ready, (position[uuid], uuid))
                if parent is not None and parent not in self._by_uuid:
                    unknown.append(parent)
        if unknown:
            raise ValueError(
                f"The following parents were not found: {', '.join(dict.fromkeys(unknown))}"
            )
        ordered = []
        while ready:
            _, uuid = heapq.heappop(ready)
            ordered.append(nodes[uuid])
            for child in waiting_for.pop(uuid, ()):
                heapq.heappush(ready, (position[child], child))
        if waiting_for:
            stuck = ", ".join(uuid for children in waiting_for.values() for uuid in children)
            raise ValueError(
                "Unexpectedly failed to find parents already in the tree for any of the "
                f"following: {stuck}"
            )
        return ordered

    @_locked
    def new_root(self, name: str, uuid: str, generation: int | None = None) -> str:
        """Add a root provider and return its uuid.

        ValueError without a uuid, or if it is some provider's uuid or name already. The name isn't
        checked (placement does that): a second root of the same name hides the first.
        """
        if not uuid:
            raise ValueError(f"Provider {name} needs a uuid to be a root.")
        if self._find(uuid):
            raise ValueError(f"Provider {uuid} already exists.")
        self._insert(ProviderNode(name, uuid, generation))
        return uuid

    @_locked
    def new_child(
        self, name: str, parent: str, uuid: str | None = None, generation: int | None = None
    ) -> str:
        """Add a provider below `parent` (name or uuid) and return its uuid, made up if not given.

        ValueError if the parent is missing, or if the uuid (without one: the name) is taken.
        """
        key = uuid or name
        if self._find(key):
            raise ValueError(f"Provider {key} already exists.")
        parent_node = self._get(parent)
        node = ProviderNode(name, uuid or str(uuid4()), generation, parent_node.uuid)
        self._insert(node)
        return node.uuid

    @_locked
    def remove(self, name_or_uuid: str) -> None:
        """Remove the provider and all below it: they shall be no more, see `removed`."""
        node = self._get(name_or_uuid)
        self._removed.update(gone.uuid for gone in node.walk())
        self._remove(node)

    @_locked
    def forget(self, name_or_uuid: str) -> None:
        """Drop the provider and all below it from the picture; they may still be there."""
        self._remove(self._get(name_or_uuid))

    @property
    def removed(self) -> frozenset[str]:
        """The uuids of what was removed and didn't come back."""
        with self.lock:
            return frozenset(self._removed)

    # Looking around

    @_locked
    def get_provider_uuids(self, name_or_uuid: str | None = None) -> list[str]:
        """The uuids of all providers, or of one and all below it; a parent before its children."""
        nodes = self._walk() if name_or_uuid is None else self._get(name_or_uuid).walk()
        return [node.uuid for node in nodes]

    @_locked
    def get_provider_uuids_in_tree(self, name_or_uuid: str) -> list[str]:
        """The uuids of the whole tree the provider belongs to, its root first."""
        return [node.uuid for node in self._root_of(self._get(name_or_uuid)).walk()]

    @_locked
    def exists(self, name_or_uuid: str) -> bool:
        """Whether there is such a provider."""
        return self._find(name_or_uuid) is not None

    @_locked
    def data(self, name_or_uuid: str) -> ProviderData:
        """A snapshot of the provider."""
        return self._get(name_or_uuid).data()

    @_locked
    def subtree(self, name_or_uuid: str) -> ProviderSubTree:
        """An independent copy of one root with all below it, and of nothing else.

        ValueError also if the provider isn't a root.
        """
        return self._scope(name_or_uuid)

    @_locked
    def subtree_with_sharing(self, name_or_uuid: str) -> ProviderSubTree:
        """`subtree`, and with it the sharing providers that one of its members has an aggregate
        in common with, each as a root without children, wherever it is here.
        """
        scope = self._scope(name_or_uuid)
        aggregates = set().union(*(node.aggregates for node in scope._walk()))
        if not aggregates:
            return scope
        for node in self._sharing_nodes():
            if not aggregates.isdisjoint(node.aggregates) and node.uuid not in scope._by_uuid:
                lone = node.copy_alone()
                lone.parent_uuid = None
                scope._insert(lone)
        return scope

    def _sharing_nodes(self) -> list[ProviderNode]:
        """The sharing providers; looked for only after a provider or its traits changed."""
        if self._sharing is None:
            self._sharing = [
                node
                for node in self._by_uuid.values()
                if os_traits.MISC_SHARES_VIA_AGGREGATE in node.traits
            ]
        return self._sharing

    def _scope(self, name_or_uuid: str) -> ProviderSubTree:
        root = self._get(name_or_uuid)
        if root.parent_uuid is not None:
            raise ValueError(f"Provider {name_or_uuid} is not a root provider.")
        scope = ProviderSubTree(root.uuid)
        scope._adopt_copy(root)
        return scope

    # Conflicts

    @_locked
    def note_conflict(self, name_or_uuid: str) -> None:
        """Remember that the provider isn't of this generation any more, and that it was said so."""
        self._conflicts.add(self._get(name_or_uuid).uuid)

    @_locked
    def expected_generation(self, name_or_uuid: str) -> int | None:
        """The generation at which the provider is written; None: whatever it is by then.

        That is so for a provider that was made here, and for one that a conflict is known of.
        """
        node = self._get(name_or_uuid)
        return None if node.uuid in self._conflicts else node.generation

    @_locked
    def note_written(self, name_or_uuid: str, generation: int | None) -> None:
        """Remember that the provider was written as it is here, and its generation since then."""
        node = self._get(name_or_uuid)
        self._conflicts.discard(node.uuid)
        node.note_generation(generation)

    # Inventory

    @_locked
    def has_inventory(self, name_or_uuid: str) -> bool:
        """Whether the provider has an inventory of anything."""
        return bool(self._get(name_or_uuid).inventory)

    @_locked
    def has_inventory_changed(self, name_or_uuid: str, inventory: Inventory) -> bool:
        """Whether `inventory` asks for something else than is stored.

        Other classes do, and fields that differ or are new; fields left out don't.
        """
        return self._get(name_or_uuid).inventory_differs(inventory)

    @_locked
    def update_inventory(
        self, name_or_uuid: str, inventory: Inventory, generation: int | None = None
    ) -> bool:
        """Replace the whole inventory if it changes anything; return whether it did.

        A `generation` is stored either way.
        """
        node = self._get(name_or_uuid)
        changed = node.inventory_differs(inventory)
        if changed:
            node.inventory = copied_inventory(inventory)
        node.note_generation(generation)
        return changed

    def has_sharing_provider(self, resource_class: str) -> bool:
        """Whether some provider shares `resource_class` with its aggregates."""
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
        node = self._get(name_or_uuid)
        if node.resources == resources:
            return False
        node.resources = copied_resources(resources)
        return True

    # Traits

    @_locked
    def has_traits(self, name_or_uuid: str, traits: Iterable[str]) -> bool:
        """Whether the provider has every one of `traits`."""
        return self._get(name_or_uuid).traits.issuperset(traits)

    @_locked
    def have_traits_changed(self, name_or_uuid: str, traits: Iterable[str]) -> bool:
        """Whether `traits` is another set than the provider's."""
        return self._get(name_or_uuid).traits_differ(traits)

    @_locked
    def update_traits(
        self, name_or_uuid: str, traits: Iterable[str], generation: int | None = None
    ) -> bool:
        """Replace the traits; return whether that changed anything. A `generation` is stored
        either way.
        """
        node = self._get(name_or_uuid)
        wanted = set(traits)
        changed = node.traits != wanted
        node.traits = wanted
        if changed:
            self._sharing = None
        node.note_generation(generation)
        return changed

    def add_traits(self, name_or_uuid: str, *traits: str) -> None:
        """Add `traits`. Without any, the provider isn't even looked up."""
        if traits:
            with self.lock:
                self._get(name_or_uuid).traits.update(traits)
                self._sharing = None

    def remove_traits(self, name_or_uuid: str, *traits: str) -> None:
        """Take away `traits`; absent ones are fine. Without any, nothing is looked up."""
        if traits:
            with self.lock:
                self._get(name_or_uuid).traits.difference_update(traits)
                self._sharing = None

    # Aggregates

    @_locked
    def in_aggregates(self, name_or_uuid: str, aggregates: Iterable[str]) -> bool:
        """Whether the provider is a member of every one of `aggregates`."""
        return self._get(name_or_uuid).aggregates.issuperset(aggregates)

    @_locked
    def have_aggregates_changed(self, name_or_uuid: str, aggregates: Iterable[str]) -> bool:
        """Whether `aggregates` is another set than the provider's."""
        return self._get(name_or_uuid).aggregates_differ(aggregates)

    @_locked
    def update_aggregates(
        self, name_or_uuid: str, aggregates: Iterable[str], generation: int | None = None
    ) -> bool:
        """Replace the aggregates; return whether that changed anything. A `generation` is stored
        either way.
        """
        node = self._get(name_or_uuid)
        wanted = set(aggregates)
        changed = node.aggregates != wanted
        node.aggregates = wanted
        node.note_generation(generation)
        return changed

    @_locked
    def add_aggregates(self, name_or_uuid: str, *aggregates: str) -> None:
        """Add `aggregates`."""
        self._get(name_or_uuid).aggregates.update(aggregates)

    @_locked
    def remove_aggregates(self, name_or_uuid: str, *aggregates: str) -> None:
        """Take away `aggregates`; absent ones are fine."""
        self._get(name_or_uuid).aggregates.difference_update(aggregates)


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
        """The uuid of the root this sub-tree stands for."""
        return self._scope_rp_uuid

    def _empty_twin(self) -> ProviderTree:
        return ProviderSubTree(self._scope_rp_uuid)
