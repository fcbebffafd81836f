"""Some trees of a cloud as a snapshot of its own, so that a search of them costs what they cost.

The providers of a part have slots of their own, tree by tree: only a search uses them, and what it
finds has the slots of the whole cloud.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from placement.candidates.cloud.columns import Slots
from placement.candidates.cloud.forest import Forest
from placement.candidates.cloud.snapshot import Snapshot

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, eq=False)
class TreeSubset(Snapshot):
    """A search of it finds what a search of the whole cloud finds in these trees.

    :param whole: the cloud it is a part of
    :param slots_in_whole: the slot of each of its providers in the whole cloud
    :param lacks_singles: whether trees of one provider that may have candidates are missing
    """

    whole: Snapshot = dataclasses.field(kw_only=True)
    slots_in_whole: Slots = dataclasses.field(kw_only=True)
    lacks_singles: bool = dataclasses.field(kw_only=True)

    def slot(self, uuid: str) -> int | None:
        """Return the slot of a provider; None if it isn't in this part of the cloud."""
        known = self.whole.slot(uuid)
        if known is None:
            return None
        # trees are in the order of their roots, so the first slot of each is ascending as well
        roots = self.whole.forest.root
        at = np.flatnonzero(roots[self.slots_in_whole] == roots[known])
        found = at[self.slots_in_whole[at] == known]
        return int(found[0]) if len(found) else None

    def in_whole(self, slots: npt.NDArray[np.integer[Any]]) -> Slots:
        """Return the slots that these providers have in the whole cloud."""
        return self.slots_in_whole[slots]


def part_of(
    whole: Snapshot, anchors: Slots, others: Slots, bound: int | None, lacks_singles: bool
) -> TreeSubset | None:
    """Return some trees of the cloud; None if the database contradicts itself about them.

    :param anchors: the roots of the trees that may have candidates, ascending
    :param others: the roots of trees that only lend to them, ascending
    """
    roots = np.union1d(anchors, others) if len(others) else anchors
    found = _forest_of(whole.forest, roots, np.isin(roots, anchors) if len(others) else None)
    if found is None:
        return None
    forest, slots = found
    return TreeSubset(
        register=whole.register,
        forest=forest,
        names=whole.names,
        aggregate_ids=whole.aggregate_ids,
        generations=whole.generations,
        columns=_Converted(whole.columns, lambda column: column.among(slots)),
        traits_of=whole.traits_of.among(slots),
        aggregates_of=whole.aggregates_of.among(slots),
        classes_of=whole.classes_of.among(slots),
        with_trait=_Converted(whole.with_trait, lambda members: members.among(slots)),
        in_aggregate=_Converted(whole.in_aggregate, lambda members: members.among(slots)),
        stray_usage={},
        texts=whole.texts,
        tree_texts=whole.tree_texts,
        lineage=whole.lineage,
        cursor=whole.cursor,
        bound=bound,
        whole=whole,
        slots_in_whole=slots,
        lacks_singles=lacks_singles,
    )


def _forest_of(
    whole: Forest, roots: Slots, are_anchors: npt.NDArray[np.bool_] | None
) -> tuple[Forest, Slots] | None:
    """Return the trees of some roots, and their providers' slots in the whole forest."""
    count = whole.count[roots]
    begin = np.cumsum(count, dtype=np.int32) - count
    size = int(count.sum())
    tree = np.repeat(np.arange(len(roots)), count)
    slots = whole.order[(whole.start[roots] - begin)[tree] + np.arange(size, dtype=np.int32)]
    parents = whole.parent[slots]
    nested = parents >= 0
    consistent = np.array_equal(whole.root[parents[nested]], whole.root[slots[nested]])
    if not consistent or not np.array_equal(whole.root[roots], roots):
        return None
    local_roots = begin + whole.place[roots]
    parent = np.where(nested, begin[tree] + whole.place[parents], np.int32(-1))
    anchors = np.zeros(size, np.bool_)
    anchors[local_roots if are_anchors is None else local_roots[are_anchors]] = True
    start, counts = np.zeros(size, np.int32), np.zeros(size, np.int32)
    start[local_roots], counts[local_roots] = begin, count
    forest = Forest(
        parent=parent,
        root=local_roots[tree],
        alive=np.ones(size, np.bool_),
        order=np.arange(size, dtype=np.int32),
        start=start,
        count=counts,
        place=whole.place[slots],
        nested=whole.nested,
        anchors=anchors,
    )
    return forest, slots


class _Converted(Mapping[int, T], Generic[T]):
    """A mapping whose values are converted when they are asked for."""

    def __init__(self, whole: Mapping[int, T], convert: Callable[[T], T]) -> None:
        self._whole, self._convert = whole, convert
        self._known: dict[int, T] = {}

    def __getitem__(self, key: int) -> T:
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._convert(self._whole[key])
        return known

    def __iter__(self) -> Iterator[int]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)
