"""Who is whose parent: the trees of a cloud as arrays.

The providers of a tree stand in one run of `order`, ascending by slot, wherever their slots are::

    h0 ── h0.0       slot     0   1   2   3     (h0, h1, h0.0, h1.0)
    h1 ── h1.0       parent  -1  -1   0   1
                     root     0   1   0   1
                     order    0   2 | 1   3     the tree of 0, the tree of 1
                     start    0   2   -   -     by the slot of a root
                     count    2   2   0   0     by the slot of a root
                     place    0   0   1   1     where in its run each provider stands
"""

import dataclasses
import functools
from collections.abc import Mapping

import numpy as np

from placement.candidates.cloud.columns import Mask, Numbers, Slots
from placement.candidates.cloud.prepared_texts import in_blocks

#: for how many arrays of slots their order by root is remembered
_REMEMBERED = 64


@dataclasses.dataclass(frozen=True, eq=False)
class Forest:
    """Parents and roots by slot, and each tree's providers in one run of `order`.

    :param parent: the parent's slot, -1 for roots and for deleted providers
    :param root: the root's slot; deleted providers are their own
    :param alive: whether the slot's provider exists
    :param order: slots sorted by root, then slot
    :param start: where in `order` the tree of a root begins, by the root's slot
    :param count: how many providers the tree of a root has, 0 for slots that are no root
    :param place: where in its tree's run a provider stands
    :param nested: whether any provider has a parent
    :param anchors: the roots whose trees may have candidates; None: all
    """

    parent: Slots
    root: Slots
    alive: Mask
    order: Slots
    start: Slots
    count: Slots
    place: Slots
    nested: bool
    anchors: Mask | None = None

    @classmethod
    def of(cls, parent: Slots, root: Slots, alive: Mask) -> "Forest":
        """Build a forest from parents and roots alone."""
        size = len(parent)
        nested = bool(np.any(parent >= 0))
        if not nested:
            slots = np.arange(size, dtype=np.int32)
            none = np.zeros(size, np.int32)
            return cls(parent, root, alive, slots, slots, alive.astype(np.int32), none, nested)
        order = np.argsort(root, kind="stable").astype(np.int32)
        count = np.bincount(root[alive], minlength=size).astype(np.int32)
        everyone = np.bincount(root, minlength=size)
        start = (np.cumsum(everyone) - everyone).astype(np.int32)
        place = np.empty(size, np.int32)
        place[order] = np.arange(size, dtype=np.int32) - start[root[order]]
        return cls(parent, root, alive, order, start, count, place, nested)

    @property
    def size(self) -> int:
        return len(self.parent)

    @functools.cached_property
    def is_root(self) -> Mask:
        """Return which slots are roots of existing trees."""
        if self.anchors is not None:
            return self.anchors
        return self.alive if not self.nested else (self.parent < 0) & self.alive

    @functools.cached_property
    def roots(self) -> Slots:
        """Return the roots of existing trees, ascending."""
        return np.flatnonzero(self.is_root).astype(np.int32)

    @functools.cached_property
    def singles(self) -> Slots:
        """Return the roots of trees of one provider, ascending."""
        return self.roots[self.count[self.roots] == 1]

    @functools.cached_property
    def roots_of_blocks(self) -> Numbers:
        """Return how many roots each block of slots has."""
        return in_blocks(self.is_root)

    @functools.cached_property
    def _by_root(self) -> dict[int, tuple[Slots, Numbers, Slots]]:
        return {}

    def by_root(self, slots: Slots) -> tuple[Numbers, Slots]:
        """Return in which order to take some providers so that those of a tree are together.

        The second array has the root of each provider in that order.

        It is remembered for the same array object: a column keeps its `slots` while only usage
        changes, and sorting them would cost more than the search.
        """
        known = self._by_root.get(id(slots))
        if known is None:
            roots = self.root[slots]
            order = np.argsort(roots, kind="stable").astype(np.int32)
            if len(self._by_root) >= _REMEMBERED:
                self._by_root.clear()
            # the array is kept, so that no other array can get its id
            known = self._by_root[id(slots)] = slots, order, roots[order]
        return known[1:]

    def roots_of(self, providers: Mask) -> Mask:
        """Return the roots of the trees that some of the providers are in."""
        roots = np.zeros(self.size, np.bool_)
        roots[self.root.take(providers.nonzero()[0])] = True
        return roots

    def members(self, root: int) -> Slots:
        """Return the slots of a root's tree, ascending."""
        begin = self.start[root]
        return self.order[begin : begin + self.count[root]]

    def lineage(self, slot: int) -> list[int]:
        """Return the provider and its ancestors, upwards."""
        found = [slot]
        # a damaged database may have a loop; a tree isn't deeper than the forest is large
        while (slot := int(self.parent[slot])) >= 0 and len(found) <= self.size:
            found.append(slot)
        return found

    def changed(self, kin: Mapping[int, tuple[int, int] | None], size: int) -> "Forest":
        """Return the forest with other (parent, root) of some slots; None: the provider is gone."""
        parent = _grown(self.parent, size, -1)
        alive = _grown(self.alive, size, False)
        root = np.arange(size, dtype=np.int32)
        root[: self.size] = self.root
        for slot, place in kin.items():
            alive[slot] = place is not None
            parent[slot], root[slot] = (-1, slot) if place is None else place
        return Forest.of(parent, root, alive)


def _grown(array: np.ndarray, size: int, filler: int | bool) -> np.ndarray:
    grown = np.full(size, filler, array.dtype)
    grown[: len(array)] = array
    return grown
