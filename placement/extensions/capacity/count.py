"""Counts how many more of a request fit into a snapshot (extensions.md 6).

So many can be claimed one after the other, if nobody else writes and each takes the best of its
candidates. The first half is that of a search: `Search.anchors` finds the trees. For trees of one
provider the rest is a division. `trees.py` counts for other trees: a tree has room for as many
requests as each *block* of the request (`blocks.py`, `subtrees.py`), trees that share providers are
a flow (`pools.py`), and where arithmetic gives bounds only, requests are served one after the other
(`filling.py`).
"""

import dataclasses
from collections.abc import Mapping

import numpy as np

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Mask, Numbers, Slots
from placement.candidates.cloud.free_amounts import MOST, FreeAmounts
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.masks import mask_steps
from placement.candidates.masks.mask_steps import MaskStep, Remaining, StepListener
from placement.candidates.request import CandidateRequest, Group
from placement.candidates.search import Search
from placement.candidates.slots import WholeSlot
from placement.extensions.capacity.trees import Limits, Total, TreesRoom


@dataclasses.dataclass(frozen=True)
class Fits:
    """How many requests fit into some trees together.

    :param count: at least so many fit
    :param upper: at most so many fit
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

    @property
    def verdict(self) -> str:
        """Return `some` if one fits, `none` if none does, `unknown` if that wasn't found out."""
        if self.count:
            return "some"
        return "unknown" if self.upper else "none"


class Capacity:
    """How many more of a request fit into a snapshot.

    The constructor raises what a search raises. It is no error if `filling` or `refining` is used
    up: the bounds are then farther apart.

    :param budget: what finding the trees may cost
    :param filling: what it may cost to serve one request after the other in trees
    :param refining: what it may cost to look for better ways of serving them
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
        prepared = Search(snapshot, request, budget, self._suitable).anchors()
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
        has_room = low > 0
        limits = total.limits[chosen][has_room]
        return Fits(total.low, total.high, int(has_room.sum()), self._named(limits))

    @property
    def upper(self) -> Numbers:
        """How many fit at most into each tree if it is alone, by the slot of its root"""
        return self._high

    def of_tree(self, root: int) -> Fits:
        """Return how many fit into one tree if no other tree uses what they share."""
        low, high = int(self._low[root]), int(self._high[root])
        limits = self._limits.classes[root : root + 1] if low else np.zeros(0, np.int64)
        return Fits(low, high, int(low > 0), self._named(limits))

    def largest(self, most: int) -> list[WholeSlot]:
        """Return the roots of the trees into which most requests fit, at most `most` of them."""
        roots = np.flatnonzero(self._high > 0)
        order = np.lexsort((roots, -self._low[roots]))[:most]
        return [WholeSlot(int(root)) for root in roots[order]]

    def stranded(self, count: int) -> dict[str, int]:
        """Return how much of each class stays free after `count` more requests.

        Only providers count that meet all conditions but the amounts.
        """
        stranded = {}
        for name, amount in self._request.demand.items():
            suffixes = [group.suffix for group in self._request.groups if name in group.resources]
            mask = np.logical_or.reduce([self._suitable.of_group(suffix) for suffix in suffixes])
            class_id = self._snapshot.names.class_ids.get(name)
            if class_id is None:
                # the search ended before it came to this name, which doesn't exist
                continue
            free = int(self._free.by_slot(class_id)[mask].sum())
            if free > count * amount:
                stranded[name] = free - count * amount
        return stranded

    def _named(self, classes: Numbers) -> dict[str, int]:
        """Return how often each class occurs, by name, the most frequent first."""
        names = self._snapshot.names.classes
        ids, counts = np.unique(classes[classes >= 0], return_counts=True)
        by_name = {names[key]: n for key, n in zip(ids.tolist(), counts.tolist(), strict=True)}
        return dict(sorted(by_name.items(), key=lambda item: (-item[1], item[0])))


class Suitable(StepListener):
    """Notes, while a search runs, which providers meet all conditions of each group but amounts."""

    complete = True

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._roots = snapshot.forest.is_root
        self._own: dict[str, Mask] = {}
        self._shared: dict[str, Mask] = {}

    def root_step(self, name: str, passing: Mask) -> None:
        """Note a condition of the whole request, and the roots that meet it."""
        self._roots = self._roots & passing

    def unmatched(self, group: Group, step: str) -> None:
        """Note a group whose aggregates or tree nobody can be in."""
        nobody = np.zeros(self._snapshot.size, np.bool_)
        self._own[group.suffix] = self._shared[group.suffix] = nobody

    def step(self, suffix: str, step: MaskStep, before: Remaining, after: Remaining) -> None:
        """Note a condition that each provider of a group has to meet."""
        if step.name != mask_steps.RESOURCES:
            alive = self._snapshot.forest.alive
            self._own[suffix] = self._own.get(suffix, alive) & step.own
            self._shared[suffix] = self._shared.get(suffix, alive) & step.shared
            if step.roots is not None:
                self._own[suffix] = self._own[suffix] & step.roots[self._snapshot.forest.root]

    def alike(self, suffix: str, first: str) -> None:
        """Note a group with the conditions of another before it."""
        for masks in (self._own, self._shared):
            if first in masks:
                masks[suffix] = masks[first]

    def of_group(self, suffix: str) -> Mask:
        """Return the providers that could serve a group."""
        forest, sharing = self._snapshot.forest, self._snapshot.sharing
        own = self._own.get(suffix, forest.alive) & self._roots[forest.root]
        if len(sharing):
            lent = np.zeros(len(own), np.bool_)
            lent[sharing] = self._shared.get(suffix, forest.alive)[sharing]
            own = own | lent
        return own


def at_most(snapshot: Snapshot, request: CandidateRequest, free: FreeAmounts) -> int:
    """Return a number of requests that can't be exceeded: what is free in all, divided.

    It is a bound for a request whose trees weren't looked at.
    """
    ids, most = snapshot.names.class_ids, MOST
    for name, amount in request.demand.items():
        most = min(most, int(free.by_slot(ids[name]).sum()) // amount if name in ids else 0)
    return most
