"""Trees that share providers: how many requests they have room for together (extensions.md 6).

A shared disk serves the trees of its aggregates. What each tree can do by itself says less than it
seems: together they can't take more of the disk than it has. That is a flow from trees to shared
providers.
"""

import collections
import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Numbers, Slots
from placement.candidates.cloud.free_amounts import FreeAmounts
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.masks.filter import RequestPart


@dataclasses.dataclass(frozen=True, eq=False)
class Pools:
    """The shared providers that can serve a part of a request, and the trees they serve.

    :param slots: the shared providers
    :param times: how often each of them can serve the part
    :param sets: sets of places in `slots` that a tree may use
    :param set_of: by slot of a root, which set its tree may use; -1: no shared provider
    """

    slots: Slots
    times: Numbers
    sets: Sequence[tuple[int, ...]]
    set_of: Numbers

    @property
    def room(self) -> Numbers:
        """Return by slot of a root how often the providers that its tree may use can serve."""
        times = self.times.tolist()
        sums = [sum(times[place] for place in places) for places in self.sets]
        return np.array([*sums, 0], np.int64)[self.set_of]

    def shared_out(self, wanted: Numbers, budget: Budget) -> tuple[Numbers, Numbers, Numbers]:
        """Share out what the providers have, so that as much as possible is used.

        Return by slot of a root how much its tree gets, and whether more would have been wanted by
        the trees that may use the same providers; and how much of each provider is left.

        :param wanted: by slot of a root, how often its tree wants to be served at most
        """
        at = np.flatnonzero((self.set_of >= 0) & (wanted > 0))
        sets = self.set_of[at]
        needs = np.bincount(sets, wanted[at], len(self.sets)).astype(np.int64)
        given, left = _flow(needs.tolist(), self.sets, self.times.tolist(), budget)
        got = np.zeros(len(wanted), np.int64)
        order = np.argsort(sets, kind="stable")
        at, sets = at[order], sets[order]
        before = np.cumsum(wanted[at]) - wanted[at]
        first = np.searchsorted(sets, np.arange(len(self.sets)))
        start = np.append(before, 0)[np.minimum(first, len(before))]
        rest = np.array(given, np.int64)[sets] - (before - start[sets])
        got[at] = np.clip(rest, 0, wanted[at])
        short = np.zeros(len(wanted), np.bool_)
        short[at] = (np.array(given, np.int64) < needs)[sets]
        return got, short, np.array(left, np.int64)


def pools_of(snapshot: Snapshot, part: RequestPart, free: FreeAmounts) -> Pools:
    """Return the shared providers that can serve a part in other trees than their own."""
    sharing = snapshot.sharing
    slots = sharing[part.shared[sharing]]
    roots, places = [], []
    for place, slot in enumerate(slots.tolist()):
        served = _served(snapshot, slot, bool(part.own[slot]))
        roots.append(served)
        places.append(np.full(len(served), place, np.int64))
    times = free.times(part.demand, slots)
    sets, set_of = _sets(np.concatenate(roots), np.concatenate(places), snapshot.size)
    return Pools(slots, times, sets, set_of)


def _served(snapshot: Snapshot, slot: int, own: bool) -> Slots:
    """Return the roots of the trees that a shared provider serves."""
    root = int(snapshot.forest.root[slot])
    aggregates = snapshot.aggregates_of[slot]
    found = [snapshot.roots_of_aggregate(aggregate_id) for aggregate_id in aggregates]
    others = np.unique(np.concatenate([*found, np.zeros(0, np.int32)]))
    others = others[others != root].astype(np.int32)
    return np.append(others, np.int32(root)) if own else others


def _sets(roots: Slots, places: Numbers, size: int) -> tuple[list[tuple[int, ...]], Numbers]:
    """Return the different sets of places that roots have, and by slot which set a root has."""
    order = np.lexsort((places, roots))
    roots, places = roots[order], places[order]
    changes = np.flatnonzero(roots[1:] != roots[:-1]) + 1
    begins = [0, *changes.tolist()] if len(roots) else []
    ends = [*begins[1:], len(roots)]
    numbers: dict[bytes, int] = {}
    set_of = np.full(size, -1, np.int64)
    for begin, end in zip(begins, ends, strict=False):
        key = places[begin:end].tobytes()
        set_of[roots[begin]] = numbers.setdefault(key, len(numbers))
    return [tuple(np.frombuffer(key, np.int64).tolist()) for key in numbers], set_of


def _flow(
    needs: Sequence[int], sets: Sequence[tuple[int, ...]], caps: Sequence[int], budget: Budget
) -> tuple[list[int], list[int]]:
    """Return how much of each need is met from the providers of its set, and what is left.

    The sum is the largest there is: what a provider gave is taken back where the same need can be
    met by another one.
    """
    left = list(caps)
    users: dict[int, list[int]] = collections.defaultdict(list)
    for number, places in enumerate(sets):
        for place in places:
            users[place].append(number)
    taken: list[dict[int, int]] = [collections.defaultdict(int) for _ in sets]
    given = [0] * len(sets)
    for number in sorted(range(len(sets)), key=lambda one: len(sets[one])):
        while given[number] < needs[number]:
            path = _path(number, sets, left, users, taken, budget)
            if path is None:
                break
            amount = min(needs[number] - given[number], left[path[-1][1]])
            for (_, place), (after, _) in itertools.pairwise(path):
                amount = min(amount, taken[after][place])
            for user, place in path:
                taken[user][place] += amount
            for (_, place), (after, _) in itertools.pairwise(path):
                taken[after][place] -= amount
            left[path[-1][1]] -= amount
            given[number] += amount
    return given, left


def _path(
    start: int,
    sets: Sequence[tuple[int, ...]],
    left: Sequence[int],
    users: dict[int, list[int]],
    taken: Sequence[dict[int, int]],
    budget: Budget,
) -> list[tuple[int, int]] | None:
    """Return the shortest way to a provider with something left: who takes from which.

    Each step but the first takes what the user before it gives up.
    """
    ways: dict[int, list[tuple[int, int]]] = {start: []}
    queue = collections.deque([start])
    seen: set[int] = set()
    while queue:
        user = queue.popleft()
        for place in sets[user]:
            if place in seen:
                continue
            seen.add(place)
            budget.spend()
            way = [*ways[user], (user, place)]
            if left[place] > 0:
                return way
            for other in users[place]:
                if other not in ways and taken[other][place] > 0:
                    ways[other] = way
                    queue.append(other)
    return None
