"""Which hosts are alike: swapping them, with all that is on them, changes nothing in the cloud.

So the loss of one means the same as the loss of the other. Hosts are alike if their trees are equal
in all that a search reads, and if as many consumers hold the same of them. Whatever a request names
is like nothing else.
"""

import collections
import time
from collections.abc import Collection, Hashable, Mapping

import numpy as np

from placement.candidates.cloud.columns import Numbers, Slots
from placement.candidates.cloud.snapshot import Snapshot
from placement.extensions.evacuation.movers import TreeDemand
from placement.extensions.survives.holders import Holders, HostHolder
from placement.extensions.survives.sets import LostSet


class Likeness:
    """Says which sets of hosts are alike.

    :param named: uuids of consumers that are like no other ones
    :param apart: slots of roots that are like no other ones
    :param given: what single consumers ask for, by uuid
    :param end: when the time is over, as `time.thread_time` has it: no sets are alike from then on
    """

    def __init__(
        self,
        cloud: Snapshot,
        holders: Holders,
        named: Collection[str],
        apart: Collection[int],
        given: Mapping[str, TreeDemand],
        end: float,
    ) -> None:
        self._end = end
        self._forest, self._holders = cloud.forest, holders
        self._named, self._given = named, given
        self._apart = {*apart, *self._forest.root[cloud.sharing].tolist()}
        self._labels = _labels(cloud)
        self._place: list[int] = self._forest.place.tolist()
        self._root_of: list[int] = self._forest.root.tolist()
        self._kinds: dict[Hashable, int] = {}
        self._known: dict[int, int] = {}

    def of(self, lost: LostSet) -> Hashable:
        """Return the same for sets that are alike."""
        if time.thread_time() >= self._end:
            return "not looked at", lost.roots
        return tuple(sorted(map(self._kind, lost.roots)))

    def _kind(self, root: int) -> int:
        known = self._known.get(root)
        if known is None:
            kind = ("apart", root) if root in self._apart else self._description(root)
            known = self._known[root] = self._kinds.setdefault(kind, len(self._kinds))
        return known

    def _description(self, root: int) -> Hashable:
        forest = self._forest
        members = forest.members(root)
        parents = forest.parent[members[1:]] if len(members) > 1 else members[:0]
        tree = tuple(self._labels[members].tolist()), tuple(forest.place[parents].tolist())
        on_it = collections.Counter(self._holder(one, root) for one in self._holders.on([root]))
        return tree, frozenset(on_it.items())

    def _holder(self, one: HostHolder, root: int) -> Hashable:
        if one.trees != {root} or one.consumer in self._named:
            return one.consumer
        root_of, place = self._root_of, self._place
        rows = [
            (place[slot] if root_of[slot] == root else -1 - slot, name, amount)
            for slot, name, amount in one.rows
        ]
        return one.fixed, tuple(sorted(rows)), self._given.get(one.consumer)


def _labels(cloud: Snapshot) -> Numbers:
    """Return a number for each provider, by slot: equal if a search reads the same of them."""
    labels = _Labels(cloud.size)
    for column in cloud.columns.values():
        labels.part(column.slots, column.kinds)
        labels.part(column.slots, column.used)
    everybody = np.arange(cloud.size, dtype=np.int32)
    for sets in (cloud.traits_of, cloud.aggregates_of):
        codes: dict[Hashable, int] = {}
        numbers = [codes.setdefault(ids, len(codes)) for ids in sets.take(everybody)]
        labels.part(everybody, np.array(numbers, np.int64))
    strays = np.array(sorted({slot for slot, _ in cloud.stray_usage}), np.int32)
    labels.part(strays, strays)
    return labels.numbers


class _Labels:
    def __init__(self, size: int) -> None:
        self.numbers: Numbers = np.zeros(size, np.int64)
        self._next = 1

    def part(self, slots: Slots, codes: Numbers) -> None:
        """Give other labels to those providers that differ in a code."""
        if not len(slots):
            return
        _, code = np.unique(codes, return_inverse=True)
        pairs = self.numbers[slots] * (int(code.max()) + 1) + code
        distinct, which = np.unique(pairs, return_inverse=True)
        self.numbers[slots] = self._next + which
        self._next += len(distinct)
