"""How much is free in the rest of a cloud: what proves that consumers have no room there."""

import collections
import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from placement.candidates.cloud.columns import Numbers, Slots
from placement.candidates.cloud.snapshot import Snapshot
from placement.extensions.evacuation.movers import Demand

#: the consumers' uuids by their demand
Wanted = Mapping[Demand, Sequence[str]]

#: more than all consumers of a class hold. A ratio may make capacities that 64 bits can't hold
_ENDLESS = 2.0**43


@dataclasses.dataclass(frozen=True)
class _Free:
    """What is free of one class.

    :param by_root: the sum of each tree, by the root's slot
    :param roots: the roots of the trees of all inventories, those with the most free first
    :param amounts: how much is free of each of these inventories
    """

    total: int
    by_root: Numbers
    roots: Slots
    amounts: Numbers

    def most(self, leaving: frozenset[int]) -> int:
        """Return the most that one inventory has, of trees that stay."""
        for root, amount in zip(self.roots, self.amounts, strict=True):
            if int(root) not in leaving:
                return int(amount)
        return 0


class FreeSums:
    """What is free of each class, all in all."""

    def __init__(self, cloud: Snapshot) -> None:
        self._cloud = cloud
        self._known: dict[str, _Free] = {}

    def missing(self, wanted: Wanted, leaving: frozenset[int]) -> dict[str, int]:
        """Return how much at least must be added so that consumers fit that leave some trees.

        If that is anything, it is proven that not all fit. What the consumers hold of providers
        that stay counts as free.

        :param leaving: the slots of the roots of the trees
        """
        total: collections.Counter[str] = collections.Counter()
        largest: dict[str, int] = {}
        own: collections.Counter[str] = collections.Counter()
        names = self._cloud.names.classes
        for demand, consumers in wanted.items():
            for name, amount in demand.amounts().items():
                total[name] += amount * len(consumers)
            for (_, class_id), amount in demand.own:
                own[names[class_id]] += amount * len(consumers)
            for part in demand.parts:
                for name, amount in (pair for one in (part.main, *part.groups) for pair in one):
                    largest[name] = max(largest.get(name, 0), amount)
        found = {}
        for name, amount in total.items():
            free = self._free(name)
            gone = sum(int(free.by_root[root]) for root in leaving)
            short = amount - own[name] - (free.total - gone)
            if not own[name]:
                # one provider has to give as much: what it has at most is not enough
                short = max(short, largest[name] - free.most(leaving))
            if short > 0:
                found[name] = short
        return dict(sorted(found.items()))

    def _free(self, name: str) -> _Free:
        if name not in self._known:
            cloud, forest = self._cloud, self._cloud.forest
            column = cloud.column(cloud.names.class_ids[name])
            free = np.clip(np.floor(column.capacities) - column.used, 0, _ENDLESS).astype(np.int64)
            free = np.where(forest.alive[column.slots], free, 0)
            roots = forest.root[column.slots]
            sums = np.zeros(cloud.size, np.int64)
            np.add.at(sums, roots, free)
            order = np.argsort(-free, kind="stable")
            self._known[name] = _Free(int(free.sum()), sums, roots[order], free[order])
        return self._known[name]
