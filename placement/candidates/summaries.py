"""provider_summaries as JSON text, kept with the snapshot until the provider changes."""

import json
from collections.abc import Sequence

import numpy as np

from placement.candidates.snapshot import Snapshot
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

    def of_trees(self, roots: Sequence[int]) -> str:
        """The members of an object: everybody in these trees."""
        snapshot = self._snapshot
        if not snapshot.forest.nested:
            return ", ".join(self._kept(roots))
        texts = snapshot.tree_texts.take(roots)
        missing = [root for root, text in zip(roots, texts, strict=True) if text is None]
        if missing:
            trees = [snapshot.forest.members(root).tolist() for root in missing]
            written = iter(self._kept([slot for tree in trees for slot in tree]))
            for root, tree in zip(missing, trees, strict=True):
                snapshot.tree_texts.remember(root, ", ".join(next(written) for _ in tree))
            texts = snapshot.tree_texts.take(roots)
        return ", ".join(text for text in texts if text is not None)

    def of_providers(self, slots: Sequence[int]) -> str:
        """The members of an object: just these providers."""
        return ", ".join(self._written(slots))

    def _kept(self, slots: Sequence[int]) -> list[str]:
        """The summaries of 1.29 and later, from the snapshot as far as they are there."""
        texts = self._snapshot.texts.take(slots)
        missing = [slot for slot, text in zip(slots, texts, strict=True) if text is None]
        if missing:
            for slot, text in zip(missing, self._written(missing), strict=True):
                self._snapshot.texts.remember(slot, text)
            texts = self._snapshot.texts.take(slots)
        return [text for text in texts if text is not None]

    def _written(self, slots: Sequence[int]) -> list[str]:
        snapshot, version = self._snapshot, self._version
        uuids = snapshot.register.uuids
        resources = self._resources(slots)
        texts = []
        parents = snapshot.forest.parent[list(slots)].tolist()
        roots = snapshot.forest.root[list(slots)].tolist()
        for slot, stock, parent, root in zip(slots, resources, parents, roots, strict=True):
            text = f'"{uuids[slot]}": {{"resources": {{{stock}}}'
            if version >= TRAITS:
                text += f', "traits": {self._traits(snapshot.traits_of[slot])}'
            if version >= TREES:
                above = "null" if parent < 0 else f'"{uuids[parent]}"'
                text += f', "parent_provider_uuid": {above}, "root_provider_uuid": "{uuids[root]}"'
            texts.append(text + "}")
        return texts

    def _traits(self, ids: tuple[int, ...]) -> str:
        return self._snapshot.remembered(
            ("traits", ids), lambda: json.dumps([self._names.traits[key] for key in ids])
        )

    def _resources(self, slots: Sequence[int]) -> list[str]:
        """The inventories of each provider, class by class over all of them."""
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
            used = column.used[where].tolist()
            for number, place, taken in zip(numbers, where.tolist(), used, strict=True):
                capacity = column.capacity(place)
                texts[number].append(f'{name}: {{"capacity": {capacity}, "used": {taken}}}')
        return [", ".join(parts) for parts in texts]

    def _shows(self, class_id: int) -> bool:
        return self._version >= ALL_CLASSES or self._names.classes[class_id] in self._requested
