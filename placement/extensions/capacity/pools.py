"""Shares out what sharing providers have among the trees that they serve (extensions.md 6).

A sharing disk serves the trees of its aggregates. Each tree alone may have room for 10 requests,
and all of them together have no more, if the disk is enough for 10. With several disks, each tree
may use some of them: the most that all trees can get together is a maximum flow, from the trees to
the sharing providers.
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
    """The sharing providers that can serve a part of a request, and the trees they serve.

    Trees of the same aggregates may use the same sharing providers. So the flow is from few sets of
    them, and not from each tree.

    :param slots: the sharing providers
    :param times: how often each of them can serve the part
    :param sets: for each set, the positions in `slots` of the providers in it
    :param set_of: by slot of a root, the number of the set that its tree may use; -1: none
    """

    slots: Slots
    times: Numbers
    sets: Sequence[tuple[int, ...]]
    set_of: Numbers

    @property
    def room(self) -> Numbers:
        """Return by slot of a root how often the providers that its tree may use can serve."""
        times = self.times.tolist()
        sums = [sum(times[position] for position in positions) for positions in self.sets]
        # the last element is for trees without a set, whose number is -1
        return np.array([*sums, 0], np.int64)[self.set_of]

    def shared_out(self, wanted: Numbers, budget: Budget) -> tuple[Numbers, Numbers, Numbers]:
        """Share out what the providers have, so that as much as possible is used.

        Return by slot of a root how much its tree gets, and whether the trees with the same set
        want more than they get together; and how much of each provider is left.

        :param wanted: by slot of a root, how often its tree wants to be served at most
        """
        roots = np.flatnonzero((self.set_of >= 0) & (wanted > 0))
        sets = self.set_of[roots]
        needs = np.bincount(sets, wanted[roots], len(self.sets)).astype(np.int64)
        given, left = _flow(needs.tolist(), self.sets, self.times.tolist(), budget)
        # Within a set, the first tree gets all it wants, then the next one, until nothing is left.
        # Three trees of a set that want 4 each, of 6 given: before each of them 0, 4 and 8 are
        # wanted, so 6, 2 and -2 are left for them, and they get 4, 2 and 0.
        got = np.zeros(len(wanted), np.int64)
        order = np.argsort(sets, kind="stable")
        roots, sets = roots[order], sets[order]
        before = np.cumsum(wanted[roots]) - wanted[roots]
        first = np.searchsorted(sets, np.arange(len(self.sets)))
        start = np.append(before, 0)[np.minimum(first, len(before))]
        rest = np.array(given, np.int64)[sets] - (before - start[sets])
        got[roots] = np.clip(rest, 0, wanted[roots])
        short = np.zeros(len(wanted), np.bool_)
        short[roots] = (np.array(given, np.int64) < needs)[sets]
        return got, short, np.array(left, np.int64)


def pools_of(snapshot: Snapshot, part: RequestPart, free: FreeAmounts) -> Pools:
    """Return the sharing providers that can serve a part in other trees than their own."""
    sharing = snapshot.sharing
    slots = sharing[part.shared[sharing]]
    roots, positions = [], []
    for position, slot in enumerate(slots.tolist()):
        served = _served(snapshot, slot, bool(part.own[slot]))
        roots.append(served)
        positions.append(np.full(len(served), position, np.int64))
    times = free.times(part.demand, slots)
    sets, set_of = _sets(np.concatenate(roots), np.concatenate(positions), snapshot.size)
    return Pools(slots, times, sets, set_of)


def _served(snapshot: Snapshot, slot: int, own: bool) -> Slots:
    """Return the roots of the trees that a sharing provider serves.

    :param own: whether its own tree is among them
    """
    root = int(snapshot.forest.root[slot])
    aggregates = snapshot.aggregates_of[slot]
    found = [snapshot.roots_of_aggregate(aggregate_id) for aggregate_id in aggregates]
    others = np.unique(np.concatenate([*found, np.zeros(0, np.int32)]))
    others = others[others != root].astype(np.int32)
    return np.append(others, np.int32(root)) if own else others


def _sets(roots: Slots, positions: Numbers, size: int) -> tuple[list[tuple[int, ...]], Numbers]:
    """Return the different sets of positions that roots have, and by slot the number of its set.

    The roots [5, 8, 5, 8, 9] with the positions [0, 0, 1, 1, 1] have two sets: (0, 1), which 5 and
    8 have, and (1,), which 9 has.
    """
    order = np.lexsort((positions, roots))
    roots, positions = roots[order], positions[order]
    changes = np.flatnonzero(roots[1:] != roots[:-1]) + 1
    begins = [0, *changes.tolist()] if len(roots) else []
    ends = [*begins[1:], len(roots)]
    numbers: dict[bytes, int] = {}
    set_of = np.full(size, -1, np.int64)
    for begin, end in zip(begins, ends, strict=False):
        key = positions[begin:end].tobytes()
        set_of[roots[begin]] = numbers.setdefault(key, len(numbers))
    return [tuple(np.frombuffer(key, np.int64).tolist()) for key in numbers], set_of


def _flow(
    needs: Sequence[int], sets: Sequence[tuple[int, ...]], caps: Sequence[int], budget: Budget
) -> tuple[list[int], list[int]]:
    """Return how much of each set's need its providers meet, and what is left of each provider.

    The sum is the largest there is (Edmonds-Karp): a set that finds its providers empty takes from
    another set what that one can get elsewhere.

    :param caps: how much each provider has
    """
    left = list(caps)
    users: dict[int, list[int]] = collections.defaultdict(list)
    for number, positions in enumerate(sets):
        for position in positions:
            users[position].append(number)
    taken: list[dict[int, int]] = [collections.defaultdict(int) for _ in sets]
    given = [0] * len(sets)
    for number in sorted(range(len(sets)), key=lambda one: len(sets[one])):
        while given[number] < needs[number]:
            path = _path(number, sets, left, users, taken, budget)
            if path is None:
                break
            amount = min(needs[number] - given[number], left[path[-1][1]])
            for (_, position), (after, _) in itertools.pairwise(path):
                amount = min(amount, taken[after][position])
            for user, position in path:
                taken[user][position] += amount
            for (_, position), (after, _) in itertools.pairwise(path):
                taken[after][position] -= amount
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
    """Return the shortest path to a provider with something left; None if there is none.

    A path [(0, 3), (1, 7)] means: set 0 takes of provider 3 what set 1 took of it, and set 1 takes
    as much of provider 7, which has something left.
    """
    ways: dict[int, list[tuple[int, int]]] = {start: []}
    queue = collections.deque([start])
    seen: set[int] = set()
    while queue:
        user = queue.popleft()
        for position in sets[user]:
            if position in seen:
                continue
            seen.add(position)
            budget.spend()
            way = [*ways[user], (user, position)]
            if left[position] > 0:
                return way
            for other in users[position]:
                if other not in ways and taken[other][position] > 0:
                    ways[other] = way
                    queue.append(other)
    return None
