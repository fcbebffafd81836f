"""Find a place for each consumer of hosts that are to be emptied, one after the other.

Consumers that are alike are placed together: one search finds a candidate in each tree, and
arithmetic says how many of them each has room for.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from placement.candidates.budget import Budget, OutOfMemory, OutOfTime
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest
from placement.candidates.search import prepare
from placement.candidates.tree_problem import Solution
from placement.candidates.trees.tree_problems import ProblemFamily
from placement.extensions.claims.choice import of_scarcest
from placement.extensions.evacuation.movers import Demand, Taken, TreeDemand

Usage = dict[int, dict[int, int]]


@dataclasses.dataclass(frozen=True)
class NewHome:
    """What a consumer gets.

    :param roots: of the trees, one for each part
    :param taken: all that it holds then
    """

    roots: tuple[int, ...]
    taken: Taken


class Ledger:
    """What is used of each inventory while consumers are moved.

    :param cloud: the cloud at the beginning
    """

    def __init__(self, cloud: Snapshot) -> None:
        self._cloud = cloud
        #: (used, capacity) by (slot, class id), of what was looked at
        self._known: dict[tuple[int, int], tuple[int, int]] = {}
        self._used: Usage = {}

    def snapshot(self) -> Snapshot:
        """Return the cloud as it is now."""
        if self._used:
            self._cloud, self._used = self._cloud.using(self._used), {}
        return self._cloud

    def seen_by(self, own: Taken) -> Snapshot:
        """Return the cloud as a consumer sees it that holds something of it already.

        A consumer may keep what it holds, even of a provider that is over its capacity.
        """
        free: Usage = {}
        for (slot, class_id), amount in own.items():
            used, capacity = self.of(slot, class_id)
            free.setdefault(class_id, {})[slot] = min(used, capacity) - amount
        return self.snapshot().using(free)

    def of(self, slot: int, class_id: int) -> tuple[int, int]:
        """Return (used, capacity) of an inventory; (0, 0) if there is none."""
        key = slot, class_id
        if key not in self._known:
            column = self._cloud.column(class_id)
            there, at = column.find(np.array([slot]))
            place = int(at[0])
            found = (column.used_at(place), column.capacity(place)) if there[0] else (0, 0)
            self._known[key] = found
        return self._known[key]

    def times(self, taken: Taken, own: Taken, most: int) -> int:
        """Return how many consumers may take this, one after the other, and leave their own."""
        for key, amount in taken.items():
            more = amount - own.get(key, 0)
            if more > 0:
                used, capacity = self.of(*key)
                most = min(most, max((capacity - used) // more, 0))
        return most

    def move(self, taken: Taken, own: Taken, times: int) -> None:
        """Note that so many consumers take this, and leave their own."""
        for key in {**taken, **own}:
            slot, class_id = key
            used, capacity = self.of(slot, class_id)
            used += times * (taken.get(key, 0) - own.get(key, 0))
            self._known[key] = used, capacity
            self._used.setdefault(class_id, {})[slot] = used


@dataclasses.dataclass(frozen=True)
class TreeCandidate:
    """One candidate of a tree."""

    root: int
    taken: Taken


def one_of_each_tree(
    cloud: Snapshot, request: CandidateRequest, budget: Budget, fullest: bool = False
) -> Iterator[TreeCandidate]:
    """Yield the first candidate of each tree that has any. Raise SearchEnded.

    :param fullest: whether trees with the least left of the scarcest class come first
    """
    prepared = prepare(cloud, request, budget)
    if prepared is None:
        return
    trees, simple, others = prepared
    demands = [variable.demand for variable in trees.shape.variables]
    found: Iterator[tuple[int, ProblemFamily, int, Solution]] = (
        (int(root), family, number, solution)
        for family in trees.families(simple, others)
        if (solution := family.solutions.at(0)) is not None
        for number, root in enumerate(family.roots)
    )
    if fullest:
        roots = np.concatenate([simple, others])
        if not len(roots):
            return
        free, _ = of_scarcest(cloud, request, roots)
        found = iter(sorted(found, key=lambda one: (free[one[0]], one[0])))
    for root, family, number, solution in found:
        slots, taken = family.slots(number), dict[tuple[int, int], int]()
        for local, demand in zip(solution, demands, strict=True):
            for class_id, amount in demand:
                key = slots[local], class_id
                taken[key] = taken.get(key, 0) + amount
        yield TreeCandidate(root, taken)


class Planner:
    """Places consumers in one order.

    :param cloud: the cloud, without the trees that are to be emptied
    :param avoid: uuids of the roots of these
    :param budgets: returns what the next search may cost; None: the time is over
    :param fullest: see `one_of_each_tree`
    """

    def __init__(
        self,
        cloud: Snapshot,
        avoid: frozenset[str],
        budgets: Callable[[], Budget | None],
        fullest: bool = False,
    ) -> None:
        self.ledger = Ledger(cloud)
        #: the consumers in the order of their moves
        self.places: dict[str, NewHome] = {}
        #: those for whom there was no place
        self.left: dict[Demand, list[str]] = {}
        #: those of `left` for whom a search wasn't finished
        self.unsearched: set[Demand] = set()
        self._avoid = avoid
        self._budgets = budgets
        self._fullest = fullest

    def place_all(self, wanted: Mapping[Demand, Sequence[str]]) -> None:
        """Place consumers in the order given. Raise Abandoned."""
        self.left = {wish: list(consumers) for wish, consumers in wanted.items()}
        placed = -1
        # whoever leaves a sharing provider makes room there for those before
        while self.left and placed < len(self.places):
            placed = len(self.places)
            for wish in list(self.left):
                self._place(wish)
            if not any(wish.own for wish in wanted):
                break

    def _place(self, wish: Demand) -> None:
        waiting, own = self.left.pop(wish), dict(wish.own)
        self.unsearched.discard(wish)
        try:
            if len(wish.parts) > 1 or wish.kept:
                while waiting and (place := self._of_parts(wish)) is not None:
                    self.ledger.move(place.taken, own, 1)
                    self.places[waiting.pop(0)] = place
            else:
                self._alike(wish.parts[0], own, waiting)
        except (OutOfTime, OutOfMemory):
            self.unsearched.add(wish)
        if waiting:
            self.left[wish] = waiting

    def _alike(self, part: TreeDemand, own: Taken, waiting: list[str]) -> None:
        """Place consumers of one tree each, and take them out of the list."""
        request, before = part.request(self._avoid), -1
        while waiting and len(waiting) != before:
            before = len(waiting)
            cloud = self.ledger.seen_by(own)
            for found in self._candidates(cloud, request):
                times = self.ledger.times(found.taken, own, len(waiting))
                if not times:
                    continue
                self.ledger.move(found.taken, own, times)
                place = NewHome((found.root,), found.taken)
                self.places |= dict.fromkeys(waiting[:times], place)
                del waiting[:times]
                if not waiting:
                    return

    def _of_parts(self, wish: Demand) -> NewHome | None:
        """Return a place for a consumer of several trees: each part gets a tree of its own."""
        cloud, own = self.ledger.snapshot(), dict(wish.own)
        if any(not _may_stay(cloud, key, amount) for key, amount in wish.kept):
            return None
        taken, roots = dict(wish.kept), list[int]()
        forest, uuids = cloud.forest, cloud.register.uuids
        for part in wish.parts:
            # a sum of two parts may be more than max_unit: no inventory serves both
            busy = dict.fromkeys(taken, 0)
            seen = _without(self.ledger.seen_by(own), busy)
            avoid = {uuids[int(forest.root[slot])] for (slot, _), _ in wish.kept}
            avoid |= {uuids[root] for root in roots} | self._avoid
            candidates = self._candidates(seen, part.request(frozenset(avoid)))
            found = next((one for one in candidates if self.ledger.times(one.taken, own, 1)), None)
            if found is None:
                return None
            roots.append(found.root)
            taken |= found.taken
        return NewHome(tuple(roots), taken)

    def _candidates(self, cloud: Snapshot, request: CandidateRequest) -> Iterator[TreeCandidate]:
        budget = self._budgets()
        if budget is None:
            raise OutOfTime
        return one_of_each_tree(cloud, request, budget, self._fullest)


def _may_stay(cloud: Snapshot, key: tuple[int, int], amount: int) -> bool:
    """Say whether a write may repeat an amount: units are checked again, room isn't."""
    slot, class_id = key
    column = cloud.column(class_id)
    there, at = column.find(np.array([slot]))
    if not there[0]:
        return False
    stock = column.stock(int(at[0]))
    step = max(stock.step_size, 1)
    return stock.min_unit <= amount <= stock.max_unit and amount % step == 0


def _without(cloud: Snapshot, keys: Mapping[tuple[int, int], int]) -> Snapshot:
    """Return the cloud without some inventories."""
    columns = dict(cloud.columns)
    for slot, class_id in keys:
        column = columns.get(class_id)
        if column is not None:
            columns[class_id] = column.changed({slot: None})
    return dataclasses.replace(cloud, columns=columns)
