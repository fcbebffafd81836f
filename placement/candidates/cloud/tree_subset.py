"""A few trees of a cloud, as a small cloud in which a search looks first.

A search with a limit ends after its first candidates. So it tries a few trees first, and what it
reads then costs what these trees cost, not what the cloud costs (`subset_choice.py` says which).
The providers of a subset have slots of their own, tree by tree::

    cloud                h0  h0.0  h0.1  h1  h1.0  h2  h2.0
    slot                  0     1     2   3     4   5     6
    subset of h0 and h2   0     1     2            3     4      slots_in_whole  0 1 2 5 6

A search computes with the slots of the columns that it looks at. What it finds has slots of the
whole cloud: `in_whole` turns the former into the latter.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

import numpy as np

from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.forest import Forest
from placement.candidates.cloud.snapshot import CloudColumns, SearchedTrees, Snapshot
from placement.candidates.slots import SearchedSlot, SearchedSlots, WholeSlot, WholeSlots

T = TypeVar("T")
#: how many slots remembered subsets have together: bounds the memory, about 100 bytes for each
_MOST_SLOTS = 65_536
#: as many slots take what a subset takes however few slots it has
_OWN_SLOTS = 128
#: how many traits, and how many aggregates, a subset keeps the providers of
_MOST_SETS = 32


class TreeSubset(SearchedTrees):
    """Some trees of a cloud.

    :param whole: the cloud
    :param cloud: the columns of these trees alone
    :param slots_in_whole: by slot of `cloud`, the slot of the same provider in the whole cloud
    """

    def __init__(
        self,
        whole: Snapshot,
        cloud: CloudColumns,
        slots_in_whole: WholeSlots,
        bound: WholeSlot | None,
        lacks_singles: bool,
        by_usage: bool,
    ) -> None:
        self._whole, self.cloud, self._slots_in_whole = whole, cloud, slots_in_whole
        self.bound, self.lacks_singles, self.by_usage = bound, lacks_singles, by_usage

    def slot(self, uuid: str) -> SearchedSlot | None:
        """Return the slot of a provider in `cloud`; None if it isn't in any of the trees."""
        wanted = self._whole.slot(uuid)
        if wanted is None:
            return None
        found = np.flatnonzero(self._slots_in_whole == wanted)
        return SearchedSlot(int(found[0])) if len(found) else None

    def in_whole(self, slots: SearchedSlots) -> WholeSlots:
        """Return the slots that some providers have in the whole cloud, in the same shape."""
        return WholeSlots(self._slots_in_whole[slots])


def subset_of(
    whole: Snapshot,
    anchors: WholeSlots,
    others: WholeSlots,
    bound: WholeSlot | None,
    lacks_singles: bool,
    by_usage: bool = False,
) -> TreeSubset | None:
    """Return some trees of the cloud; None if the database contradicts itself about them.

    :param anchors: the roots of the trees that may have candidates, ascending
    :param others: the roots of trees that only lend to them, ascending
    """
    recent: _RecentSubsets = whole.remembered("subsets", _RecentSubsets)
    key = anchors.tobytes(), others.tobytes()
    found = recent.get(key)
    if found is None:
        found = _without_columns(whole, anchors, others)
        if found is None:
            return None
        recent.note(key, found)
    bare, slots = found
    columns = _Converted(whole.columns, lambda column: column.among(slots))
    cloud = dataclasses.replace(bare, columns=columns)
    return TreeSubset(whole, cloud, slots, bound, lacks_singles, by_usage)


def _without_columns(
    whole: Snapshot, anchors: WholeSlots, others: WholeSlots
) -> tuple[CloudColumns, WholeSlots] | None:
    """Return all of a subset that no change of usage changes, and its slots in the whole cloud."""
    roots = WholeSlots(np.union1d(anchors, others)) if len(others) else anchors
    found = _forest_of(whole.forest, roots, np.isin(roots, anchors) if len(others) else None)
    if found is None:
        return None
    forest, slots = found
    bare = CloudColumns(
        forest=forest,
        names=whole.names,
        aggregate_ids=whole.aggregate_ids,
        columns={},
        aggregates_of=whole.aggregates_of.among(slots),
        with_trait=_Converted(whole.with_trait, lambda some: some.among(slots), _MOST_SETS),
        in_aggregate=_Converted(whole.in_aggregate, lambda some: some.among(slots), _MOST_SETS),
    )
    return bare, slots


class _RecentSubsets:
    """Subsets that searches looked at: the next request of their kind looks at the same trees."""

    __slots__ = ("_known", "_slots")

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bytes], tuple[CloudColumns, WholeSlots]] = {}
        self._slots = 0

    def get(self, key: tuple[bytes, bytes]) -> tuple[CloudColumns, WholeSlots] | None:
        """Return the subset of these anchors and others, if it is known."""
        return self._known.get(key)

    def note(self, key: tuple[bytes, bytes], subset: tuple[CloudColumns, WholeSlots]) -> None:
        """Remember a subset, in place of all others if they would take too much memory."""
        size = len(subset[1]) + _OWN_SLOTS
        if size > _MOST_SLOTS:
            return
        if self._slots + size > _MOST_SLOTS:
            self._known, self._slots = {}, 0
        self._known[key] = subset
        self._slots += size


def _forest_of(
    whole: Forest, roots: WholeSlots, are_anchors: Mask | None
) -> tuple[Forest, WholeSlots] | None:
    """Return the trees of some roots, and the slot of each of their providers in the whole cloud.

    None if a parent is in another tree than its child, or a root isn't in its own tree.

    :param are_anchors: which of the roots may have candidates; None: all
    """
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
    own_roots = begin + whole.place[roots]
    parent = np.where(nested, begin[tree] + whole.place[parents], np.int32(-1))
    anchors = np.zeros(size, np.bool_)
    anchors[own_roots if are_anchors is None else own_roots[are_anchors]] = True
    start, counts = np.zeros(size, np.int32), np.zeros(size, np.int32)
    start[own_roots], counts[own_roots] = begin, count
    forest = Forest(
        parent=parent,
        root=own_roots[tree],
        alive=whole.alive[slots],
        order=np.arange(size, dtype=np.int32),
        start=start,
        count=counts,
        place=whole.place[slots],
        nested=whole.nested,
        anchors=anchors,
    )
    return forest, WholeSlots(slots)


class _Converted(Mapping[int, T], Generic[T]):
    """A mapping whose values are converted when they are first wanted.

    :param most: how many converted values it keeps; None: all
    """

    def __init__(
        self, whole: Mapping[int, T], convert: Callable[[T], T], most: int | None = None
    ) -> None:
        self._whole, self._convert, self._most = whole, convert, most
        self._known: dict[int, T] = {}

    def __getitem__(self, key: int) -> T:
        known = self._known.get(key)
        if known is None:
            known = self._convert(self._whole[key])
            if self._most is not None and len(self._known) >= self._most:
                self._known = {}
            self._known[key] = known
        return known

    def __iter__(self) -> Iterator[int]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)
