"""The providers of a ProviderTree, and how one is found among them. No locking: the tree does it.

The providers form a forest: several roots, each with providers below it. A name may occur more
than once, a uuid can't.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, ValuesView

import os_traits

from compute.provider_tree.node import ProviderNode


class ProviderForest:
    """Root providers with all below them, by uuid and by name.

    `by_uuid` has every provider, roots too. Change a node's traits only together with
    `traits_changed`.
    """

    def __init__(self) -> None:
        self.roots_by_uuid: dict[str, ProviderNode] = {}
        self.roots_by_name: dict[str, ProviderNode] = {}
        self.by_uuid: dict[str, ProviderNode] = {}
        self._by_name: dict[str, dict[str, ProviderNode]] = {}
        # The sharing providers, in the order they came; None: traits changed since they were found.
        self._sharing: list[ProviderNode] | None = None

    @property
    def roots(self) -> ValuesView[ProviderNode]:
        """Return the root providers, in the order they came."""
        return self.roots_by_uuid.values()

    def walk(self) -> Iterator[ProviderNode]:
        """Yield every provider, a parent before its children."""
        for root in self.roots:
            yield from root.walk()

    def adopt_copy(self, root: ProviderNode) -> None:
        """Insert independent copies of a provider and of all below it."""
        for node in root.walk():
            self.insert(node.copy_alone())

    # Finding

    def find(self, name_or_uuid: str) -> ProviderNode | None:
        """Return the provider of that uuid or name, or None.

        Where both could be meant the order is: a root's uuid, a root's name, and then the first
        match of a depth-first walk.
        """
        found = self.roots_by_uuid.get(name_or_uuid) or self.roots_by_name.get(name_or_uuid)
        if found:
            return found
        by_uuid = self.by_uuid.get(name_or_uuid)
        namesakes = self._by_name.get(name_or_uuid)
        if not namesakes:
            return by_uuid
        if len(namesakes) == 1:
            (namesake,) = namesakes.values()
            if by_uuid is None or by_uuid is namesake:
                return namesake
        return next(node for node in self.walk() if name_or_uuid in (node.uuid, node.name))

    def get(self, name_or_uuid: str) -> ProviderNode:
        """Return the provider of that uuid or name. Raises ValueError if there is none."""
        found = self.find(name_or_uuid)
        if found is None:
            raise ValueError(f"No such provider {name_or_uuid}")
        return found

    def root_of(self, node: ProviderNode) -> ProviderNode:
        """Return the root above a provider, or the provider itself if it is a root."""
        while node.parent_uuid is not None:
            node = self.by_uuid[node.parent_uuid]
        return node

    def sharing(self) -> list[ProviderNode]:
        """Return the sharing providers. They are looked for only after a change of traits."""
        if self._sharing is None:
            self._sharing = [
                node
                for node in self.by_uuid.values()
                if os_traits.MISC_SHARES_VIA_AGGREGATE in node.traits
            ]
        return self._sharing

    def traits_changed(self) -> None:
        """Have the next call of `sharing` look for sharing providers again."""
        self._sharing = None

    # Changing

    def insert(self, node: ProviderNode) -> None:
        """Add a provider. Raises ValueError if its parent isn't here."""
        if node.parent_uuid is None:
            self.roots_by_uuid[node.uuid] = node
            self.roots_by_name[node.name] = node
        else:
            parent = self.by_uuid.get(node.parent_uuid)
            if parent is None:
                raise ValueError(f"No such provider {node.parent_uuid}")
            parent.children[node.uuid] = node
        self.by_uuid[node.uuid] = node
        self._by_name.setdefault(node.name, {})[node.uuid] = node
        self._sharing = None

    def remove(self, node: ProviderNode) -> None:
        """Remove a provider and all below it."""
        self._sharing = None
        if node.parent_uuid is None:
            del self.roots_by_uuid[node.uuid]
            # The name may have been taken over by a newer root.
            if self.roots_by_name.get(node.name) is node:
                del self.roots_by_name[node.name]
        else:
            del self.by_uuid[node.parent_uuid].children[node.uuid]
        for gone in node.walk():
            del self.by_uuid[gone.uuid]
            namesakes = self._by_name[gone.name]
            del namesakes[gone.uuid]
            if not namesakes:
                del self._by_name[gone.name]

    def parents_first(self, nodes: Iterable[ProviderNode]) -> list[ProviderNode]:
        """Return the nodes with parents before their children, otherwise in the order given.

        Raises ValueError if a parent is neither among the nodes nor here, or if the parents form a
        circle.
        """
        wanted = {node.uuid: node for node in nodes}
        position = {uuid: place for place, uuid in enumerate(wanted)}
        unknown: list[str] = []
        ready: list[tuple[int, str]] = []
        waiting_for: dict[str, list[str]] = {}
        for uuid, node in wanted.items():
            parent = node.parent_uuid
            if parent in wanted:
                waiting_for.setdefault(str(parent), []).append(uuid)
            else:
                heapq.heappush(ready, (position[uuid], uuid))
                if parent is not None and parent not in self.by_uuid:
                    unknown.append(parent)
        if unknown:
            raise ValueError(
                f"The following parents were not found: {', '.join(dict.fromkeys(unknown))}"
            )
        ordered = []
        while ready:
            _, uuid = heapq.heappop(ready)
            ordered.append(wanted[uuid])
            for child in waiting_for.pop(uuid, ()):
                heapq.heappush(ready, (position[child], child))
        if waiting_for:
            stuck = ", ".join(uuid for children in waiting_for.values() for uuid in children)
            raise ValueError(
                "Unexpectedly failed to find parents already in the tree for any of the "
                f"following: {stuck}"
            )
        return ordered
