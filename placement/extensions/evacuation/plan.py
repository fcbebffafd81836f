"""Finds a new home for each consumer of trees that are to be emptied, one after the other.

Consumers that are alike are placed together: one search finds a candidate in each tree, and a
division says how many such consumers each candidate has room for. A `Ledger` keeps what is used
meanwhile.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from placement.candidates.budget import Budget, OutOfMemory, OutOfTime
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest
from placement.candidates.search import Search
from placement.candidates.slots import WholeSlot
from placement.candidates.tree_problem import RequestShape, Solution
from placement.candidates.trees.tree_solutions import ProblemFamily
from placement.extensions.claims.choice import of_scarcest
from placement.extensions.evacuation.movers import Demand, SlotClass, Taken, TreeDemand

#: what is used by slot, by class id
Usage = dict[int, dict[int, int]]


@dataclasses.dataclass(frozen=True)
class NewHome:
    """What a consumer gets.

    :param roots: the slots of the roots of its new trees, one for each part of its demand
    :param taken: all that it holds then
    """

    roots: tuple[int, ...]
    taken: Taken


class Ledger:
    """What is used of each inventory while consumers are moved.

    :param cloud: the cloud at the beginning
    :param begin: (used, capacity) by (slot, class id) at the beginning, as far as they are known;
        ledgers of one cloud may share it, and add to it
    """

    def __init__(
        self, cloud: Snapshot, begin: dict[tuple[int, int], tuple[int, int]] | None = None
    ) -> None:
        self._cloud = cloud
        self._begin = {} if begin is None else begin
        #: the same as `_begin`, of the inventories of which something was moved
        self._known: dict[tuple[int, int], tuple[int, int]] = {}
        #: what is used otherwise than in `_cloud`
        self._used: Usage = {}

    def snapshot(self) -> Snapshot:
        """Return the cloud as it is now."""
        if self._used:
            self._cloud, self._used = self._cloud.using(self._used), {}
        return self._cloud

    def seen_by(self, own: Taken) -> Snapshot:
        """Return the cloud for a search of a consumer that holds something of it already.

        What the consumer holds is free in it, even of a provider that is over its capacity: the
        consumer may keep that.
        """
        free: Usage = {}
        for (slot, class_id), amount in own.items():
            used, capacity = self.of(slot, class_id)
            free.setdefault(class_id, {})[slot] = min(used, capacity) - amount
        return self.snapshot().using(free)

    def of(self, slot: int, class_id: int) -> tuple[int, int]:
        """Return (used, capacity) of an inventory; (0, 0) if there is none."""
        key = slot, class_id
        known = self._known.get(key) or self._begin.get(key)
        if known is None:
            column = self._cloud.column(class_id)
            is_there, positions = column.find(np.array([slot]))
            position = int(positions[0])
            known = self._begin[key] = (
                (column.used_at(position), column.capacity(position)) if is_there[0] else (0, 0)
            )
        return known

    def times(self, taken: Taken, own: Taken, most: int) -> int:
        """Return how many consumers can take this, one after the other, and give up their own.

        :param own: what each of them holds
        :param most: the maximum
        """
        for key, amount in taken.items():
            more = amount - own.get(key, 0)
            if more > 0:
                used, capacity = self.of(*key)
                most = min(most, max((capacity - used) // more, 0))
        return most

    def move(self, taken: Taken, own: Taken, times: int) -> None:
        """Note that so many consumers take this, and give up their own."""
        for key in {**taken, **own}:
            slot, class_id = key
            used, capacity = self.of(slot, class_id)
            used += times * (taken.get(key, 0) - own.get(key, 0))
            self._known[key] = used, capacity
            self._used.setdefault(class_id, {})[slot] = used


@dataclasses.dataclass(frozen=True)
class TreeCandidate:
    """One candidate of a tree.

    :param root: the slot of the tree's root
    :param serving: the slot of the provider that serves each variable of the request
    """

    root: int
    taken: Taken
    serving: tuple[int, ...]


def taken_by(shape: RequestShape, slots: Sequence[int], solution: Solution) -> dict[SlotClass, int]:
    """Return what a candidate takes.

    :param slots: the slots of the locals that the solution names
    """
    taken: dict[SlotClass, int] = {}
    for variable, local in zip(shape.variables, solution, strict=True):
        for class_id, amount in variable.demand:
            key = slots[local], class_id
            taken[key] = taken.get(key, 0) + amount
    return taken


def one_of_each_tree(
    cloud: Snapshot, request: CandidateRequest, budget: Budget, fullest: bool = False
) -> Iterator[TreeCandidate]:
    """Yield the first candidate of each tree that has any. Raises SearchEnded if it is ended early.

    :param fullest: whether trees with the least left of the scarcest class come first
    """
    prepared = Search(cloud, request, budget).anchors()
    if prepared is None:
        return
    trees, simple, others = prepared

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
        slots = family.slots(number)
        serving = tuple(slots[local] for local in solution)
        yield TreeCandidate(root, taken_by(trees.shape, slots, solution), serving)


#: from a demand, and the new homes of those that were moved before it: what says whether a root may
#: be its new home
Rules = Callable[[Demand, Mapping[str, NewHome]], Callable[[int], bool]]


def _anywhere(demand: Demand, homes: Mapping[str, NewHome]) -> Callable[[int], bool]:
    return lambda root: True


class Sizes:
    """Compares demands by the share of a class's free amount that each asks for."""

    def __init__(self, cloud: Snapshot) -> None:
        self._free = {
            name: max(float((column.capacities - column.used).clip(0).sum()), 1.0)
            for class_id, column in cloud.columns.items()
            if (name := cloud.names.classes.get(class_id)) is not None
        }

    def largest_first(self, wanted: Iterable[Demand]) -> list[Demand]:
        """Return the demands, those first that ask for the largest share of a class."""
        return sorted(wanted, key=self._key)

    def _key(self, demand: Demand) -> tuple[float, float, tuple[TreeDemand, ...]]:
        shares = [amount / self._free.get(name, 1.0) for name, amount in demand.amounts().items()]
        return -max(shares, default=0.0), -sum(shares), demand.parts


class Planner:
    """Finds new homes for consumers in one order.

    :param cloud: the cloud, without the trees that are to be emptied
    :param avoid: uuids of the roots of these trees
    :param budgets: returns what the next search may cost; None: the time is over
    :param fullest: see `one_of_each_tree`
    :param rules: where consumers may go that others have a say in; None: nobody has
    """

    def __init__(
        self,
        cloud: Snapshot,
        avoid: frozenset[str],
        budgets: Callable[[], Budget | None],
        fullest: bool = False,
        rules: Rules | None = None,
    ) -> None:
        self.ledger = Ledger(cloud)
        #: by consumer uuid, in the order of the moves
        self.homes: dict[str, NewHome] = {}
        #: the consumers without a new home, by their demand
        self.left: dict[Demand, list[str]] = {}
        #: the demands of `left` for which a search didn't end in time
        self.unsearched: set[Demand] = set()
        self._avoid = avoid
        self._budgets = budgets
        self._fullest = fullest
        self._rules = rules or _anywhere

    def place_all(self, wanted: Mapping[Demand, Sequence[str]]) -> None:
        """Find homes in the order given. Raises Abandoned if the client left.

        :param wanted: the consumers' uuids by their demand
        """
        self.left = {demand: list(consumers) for demand, consumers in wanted.items()}
        placed = -1
        # a consumer that gives up something of a sharing provider makes room for consumers before
        # it: so all that are left are tried again, as long as some find a home
        while self.left and placed < len(self.homes):
            placed = len(self.homes)
            for demand in list(self.left):
                self._place(demand)
            if not any(demand.own for demand in wanted):
                break

    def _place(self, demand: Demand) -> None:
        waiting, own = self.left.pop(demand), dict(demand.own)
        self.unsearched.discard(demand)
        try:
            if len(demand.parts) > 1 or demand.kept:
                while waiting and (home := self._of_parts(demand)) is not None:
                    self.ledger.move(home.taken, own, 1)
                    self.homes[waiting.pop(0)] = home
            else:
                self._alike(demand, own, waiting)
        except (OutOfTime, OutOfMemory):
            self.unsearched.add(demand)
        if waiting:
            self.left[demand] = waiting

    def _alike(self, demand: Demand, own: Taken, waiting: list[str]) -> None:
        """Find homes for consumers of one tree each, and take these consumers out of `waiting`."""
        part, before = demand.parts[0], -1
        may_go = self._rules(demand, self.homes)
        while waiting and len(waiting) != before:
            before = len(waiting)
            for found in self._offers(part, own):
                times = self.ledger.times(found.taken, own, len(waiting))
                if not times or not may_go(found.root):
                    continue
                self.ledger.move(found.taken, own, times)
                home = NewHome((found.root,), found.taken)
                self.homes |= dict.fromkeys(waiting[:times], home)
                del waiting[:times]
                if not waiting:
                    return

    def _of_parts(self, demand: Demand) -> NewHome | None:
        """Return a home for a consumer of several trees: each part gets a tree of its own."""
        cloud, own = self.ledger.snapshot(), dict(demand.own)
        if any(not _may_stay(cloud, key, amount) for key, amount in demand.kept):
            return None
        taken, roots = dict(demand.kept), list[int]()
        forest, uuids = cloud.forest, cloud.register.uuids
        for part in demand.parts:
            # no inventory serves two parts: their sum may be more than max_unit
            busy = dict.fromkeys(taken, 0)
            seen = _without(self.ledger.seen_by(own), busy)
            avoid = {uuids[WholeSlot(int(forest.root[slot]))] for (slot, _), _ in demand.kept}
            avoid |= {uuids[WholeSlot(root)] for root in roots} | self._avoid
            candidates = self._candidates(seen, part.request(frozenset(avoid)))
            found = next((one for one in candidates if self.ledger.times(one.taken, own, 1)), None)
            if found is None:
                return None
            roots.append(found.root)
            taken |= found.taken
        return NewHome(tuple(roots), taken)

    def _offers(self, part: TreeDemand, own: Taken) -> Iterator[TreeCandidate]:
        """Yield candidates of trees for a consumer that holds something of the cloud already."""
        return self._candidates(self.ledger.seen_by(own), part.request(self._avoid))

    def _candidates(self, cloud: Snapshot, request: CandidateRequest) -> Iterator[TreeCandidate]:
        budget = self._budgets()
        if budget is None:
            raise OutOfTime
        return one_of_each_tree(cloud, request, budget, self._fullest)


def _may_stay(cloud: Snapshot, key: tuple[int, int], amount: int) -> bool:
    """Say whether a consumer may keep an amount: a write that repeats it checks its units again."""
    slot, class_id = key
    column = cloud.column(class_id)
    is_there, positions = column.find(np.array([slot]))
    if not is_there[0]:
        return False
    inventory = column.stock(int(positions[0]))
    step = max(inventory.step_size, 1)
    return inventory.min_unit <= amount <= inventory.max_unit and amount % step == 0


def _without(cloud: Snapshot, keys: Mapping[tuple[int, int], int]) -> Snapshot:
    """Return the cloud without some inventories."""
    columns = dict(cloud.columns)
    for slot, class_id in keys:
        column = columns.get(class_id)
        if column is not None:
            columns[class_id] = column.changed({slot: None})
    return dataclasses.replace(cloud, columns=columns)
