"""provider_summaries as JSON text, kept with the snapshot until the provider changes."""

import itertools
import json
from collections.abc import Sequence

import numpy as np

from placement.candidates.cloud.columns import Slots
from placement.candidates.cloud.prepared_texts import SEPARATOR
from placement.candidates.cloud.snapshot import Snapshot
from placement.microversions import Version

TRAITS: Version = (1, 17)
ALL_CLASSES: Version = (1, 27)
TREES: Version = (1, 29)


class Summaries:
    """Writes summaries as a version shows them.

    :param requested: the classes that versions before 1.27 are limited to
    """

    def __init__(self, snapshot: Snapshot, version: Version, requested: frozenset[str]) -> None:
        self._snapshot = snapshot
        self._version = version
        self._names = snapshot.names
        self._requested = requested

    def of_trees(self, roots: Slots) -> list[bytes]:
        """Return the members of an object, one or many at a time: all providers of these trees.

        :param roots: ascending
        """
        forest = self._snapshot.forest
        write = self._trees if forest.nested else self._written
        return self._snapshot.tree_texts.of(roots, forest.roots_of_blocks, write)

    def of_providers(self, slots: Slots) -> list[bytes]:
        """Return the members of an object: just these providers."""
        return self._written(slots.tolist())

    def _trees(self, roots: list[int]) -> list[bytes]:
        trees = [self._snapshot.forest.members(root).tolist() for root in roots]
        everybody = [slot for tree in trees for slot in tree]
        texts = iter(self._snapshot.texts.each(everybody, self._written))
        return [SEPARATOR.join(itertools.islice(texts, len(tree))) for tree in trees]

    def _written(self, slots: Sequence[int]) -> list[bytes]:
        snapshot, version = self._snapshot, self._version
        uuids = snapshot.register.uuids
        resources = self._resources(slots)
        texts = []
        at = np.array(slots, np.int32)
        parents = snapshot.forest.parent[at].tolist()
        roots = snapshot.forest.root[at].tolist()
        for slot, stock, parent, root in zip(at.tolist(), resources, parents, roots, strict=True):
            text = f'"{uuids[slot]}": {{"resources": {{{stock}}}'
            if version >= TRAITS:
                text += f', "traits": {self._traits(snapshot.traits_of[slot])}'
            if version >= TREES:
                above = "null" if parent < 0 else f'"{uuids[parent]}"'
                text += f', "parent_provider_uuid": {above}, "root_provider_uuid": "{uuids[root]}"'
            texts.append((text + "}").encode())
        return texts

    def _traits(self, ids: tuple[int, ...]) -> str:
        return self._snapshot.remembered(
            ("traits", ids), lambda: json.dumps([self._names.traits[key] for key in ids])
        )

    def _resources(self, slots: Sequence[int]) -> list[str]:
        """Return the inventories of each provider, class by class over all of them."""
        snapshot = self._snapshot
        by_class: dict[int, list[int]] = {}
        for number, classes in enumerate(snapshot.classes_of.take(slots)):
            for class_id in classes:
                if self._shows(class_id):
                    by_class.setdefault(class_id, []).append(number)
        texts: list[list[str]] = [[] for _ in slots]
        at = np.array(slots, np.int32)
        for class_id in sorted(by_class):
            numbers = by_class[class_id]
            column = snapshot.columns[class_id]
            where = column.find(at[numbers])[1]
            name = json.dumps(self._names.classes[class_id])
            used = column.usage.take(where).tolist()
            for number, place, taken in zip(numbers, where.tolist(), used, strict=True):
                capacity = column.capacity(place)
                texts[number].append(f'{name}: {{"capacity": {capacity}, "used": {taken}}}')
        return [", ".join(parts) for parts in texts]

    def _shows(self, class_id: int) -> bool:
        return self._version >= ALL_CLASSES or self._names.classes[class_id] in self._requested
