"""How many more of a request fit into the cloud (extensions.md 6).

So many can be claimed one after the other, nothing else happening, if each takes the best of its
candidates. The first half is that of a search: `prepare` finds the trees. Trees of one provider are
arithmetic. Others are blocks of parts that don't compete (`capacity_blocks`), trees that share
providers are a flow (`capacity_pools`), and what is left is tried (`capacity_filling`).
"""

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Numbers, Slots
from placement.candidates.cloud.free_amounts import MOST, FreeAmounts
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest
from placement.candidates.search import prepare
from placement.extensions.capacity.limits import Limits
from placement.extensions.capacity.trees import Total, TreesRoom
from placement.extensions.capacity.usable_providers import Suitable


@dataclasses.dataclass(frozen=True)
class Fits:
    """How many requests fit into some trees together.

    :param count: so many surely fit
    :param upper: no more than so many fit
    :param trees: into how many of the trees at least one fits
    :param limited_by: how many of these trees run out of each resource class first
    """

    count: int
    upper: int
    trees: int
    limited_by: Mapping[str, int]

    @property
    def exact(self) -> bool:
        """Say whether the count is the largest there is."""
        return self.count == self.upper


class Capacity:
    """How many more of a request fit into a snapshot.

    Raise what a search raises. When the time to fill trees is over, that is no error: less is then
    known, and the bounds are farther apart.

    :param budget: what finding the trees may cost
    :param filling: what serving one request after the other in trees may cost
    :param refining: what looking for better fillings may cost
    :param free: what is free in the snapshot; several requests may use one
    """

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        budget: Budget,
        filling: Budget,
        refining: Budget,
        free: FreeAmounts | None = None,
    ) -> None:
        self._snapshot, self._request = snapshot, request
        self._free = free or FreeAmounts(snapshot)
        self._suitable = Suitable(snapshot)
        size = snapshot.size
        #: by slot of a root: how many fit if the tree is alone, at least and at most
        self._low: Numbers = np.zeros(size, np.int64)
        self._high: Numbers = np.zeros(size, np.int64)
        self._limits = Limits(size)
        self._several: TreesRoom | None = None
        prepared = prepare(snapshot, request, budget, self._suitable)
        if prepared is None:
            return
        trees, simple, others = prepared
        if len(simple):
            self._count_single(simple)
        if len(others):
            self._several = TreesRoom(
                snapshot,
                trees,
                others,
                self._free,
                self._limits,
                filling,
                refining,
            )
            self._low[others] = self._several.low[others]
            self._high[others] = self._several.high[others]

    def _count_single(self, simple: Slots) -> None:
        """Count for trees of a single provider."""
        ids = self._snapshot.names.class_ids
        times = np.full(len(simple), MOST, np.int64)
        for name, amount in self._request.demand.items():
            free = self._free.of(ids[name], simple)
            np.minimum(times, free // amount, out=times)
            self._limits.note(ids[name], simple, free // amount, free / amount)
        self._low[simple] = self._high[simple] = times

    def fits(self, roots: Slots | None = None) -> Fits:
        """Return how many fit into the trees of some roots together; None: into all trees."""
        chosen = slice(None) if roots is None else roots
        low, high = self._low[chosen], self._high[chosen]
        total = Total(int(low.sum()), int(high.sum()), self._limits.classes)
        if self._several is not None and self._several.shares:
            mask = np.zeros(self._snapshot.size, np.bool_)
            mask[chosen] = True
            total = self._several.total(mask, total)
        there = low > 0
        limits = total.limits[chosen][there]
        return Fits(total.low, total.high, int(there.sum()), self._named(limits))

    def of_tree(self, root: int) -> Fits:
        """Return how many fit into one tree, with all of what it shares with others."""
        low, high = int(self._low[root]), int(self._high[root])
        limits = self._limits.classes[root : root + 1] if low else np.zeros(0, np.int64)
        return Fits(low, high, int(low > 0), self._named(limits))

    def largest(self, most: int) -> list[int]:
        """Return the roots of the trees into which most fit, in that order."""
        roots = np.flatnonzero(self._high > 0)
        order = np.lexsort((roots, -self._low[roots]))[:most]
        return [int(root) for root in roots[order]]

    def stranded(self, count: int) -> dict[str, int]:
        """Return what stays free of each class when so many requests more are served.

        Counted are the providers that meet all conditions but the amounts.
        """
        found = {}
        for name, amount in self._request.demand.items():
            suffixes = [group.suffix for group in self._request.groups if name in group.resources]
            mask = np.logical_or.reduce([self._suitable.of_group(suffix) for suffix in suffixes])
            class_id = self._snapshot.names.class_ids.get(name)
            if class_id is None:
                # the search ended before it came to that name
                continue
            free = int(self._free.by_slot(class_id)[mask].sum())
            if free > count * amount:
                found[name] = free - count * amount
        return found

    def _named(self, classes: Numbers) -> dict[str, int]:
        """Return how often each class is there, by name, the most frequent first."""
        names = self._snapshot.names.classes
        ids, counts = np.unique(classes[classes >= 0], return_counts=True)
        found = {names[key]: n for key, n in zip(ids.tolist(), counts.tolist(), strict=True)}
        return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def without(snapshot: Snapshot, roots: Iterable[int]) -> Snapshot:
    """Return the cloud as if some trees were gone, with all their providers."""
    gone = np.zeros(snapshot.size, np.bool_)
    gone[list(roots)] = True
    forest = snapshot.forest
    there = dataclasses.replace(forest, alive=forest.alive & ~gone[forest.root])
    return dataclasses.replace(snapshot, forest=there)
