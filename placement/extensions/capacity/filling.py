"""How many requests fit into one tree, found by serving one after the other (extensions.md 6).

For trees where parts of a request compete in a way that arithmetic gives only bounds for.
"""

import collections
import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence

from placement.candidates.budget import Budget, OutOfMemory, OutOfTime
from placement.candidates.tree_problem import Demand, Local, RequestShape, Solution, TreeProblem
from placement.candidates.trees.backtracking import solutions_of
from placement.candidates.trees.same_subtree import Subproblems

#: what is free of each class, by local; classes as in `Filling.classes`
State = tuple[tuple[int, ...], ...]
#: what one request takes
_Taken = State

#: how many ways to serve one request are compared
_WAYS = 8
#: how many ways to serve one request are tried where the best result is looked for
_MOST_WAYS = 64
#: how many states are looked at for that, at most
_STATES = 200


@dataclasses.dataclass(frozen=True)
class Filled:
    """How many requests were served.

    :param best: whether it is sure that no more can be
    :param left: what is free then
    """

    count: int
    best: bool
    left: State


class Filling:
    """Serves requests in trees that have one problem in common.

    :param classes: the ids of the resource classes that states tell of
    :param refining: what looking for better results may cost
    """

    def __init__(
        self, problem: TreeProblem, classes: Sequence[int], budget: Budget, refining: Budget
    ) -> None:
        self._shape: RequestShape = problem.shape
        self._locals = problem.locals
        self._classes = {class_id: number for number, class_id in enumerate(classes)}
        self._budget, self._refining = budget, refining
        self._demands: dict[int, Demand] = {
            variable.kind: variable.demand for variable in problem.shape.variables
        }
        self._totals = self._sums()
        self._known: dict[tuple[State, State], Filled] = {}

    def _sums(self) -> list[tuple[int, int, int, tuple[int, ...]]]:
        """Return of each class its number, what a request takes, the common unit, the kinds."""
        found = []
        for class_id, number in self._classes.items():
            amounts = [
                (variable.kind, dict(variable.demand)[class_id])
                for variable in self._shape.variables
                if class_id in dict(variable.demand)
            ]
            if amounts:
                total = sum(amount for _, amount in amounts)
                unit = math.gcd(*(amount for _, amount in amounts))
                found.append((number, total, unit, tuple({kind for kind, _ in amounts})))
        return found

    def fill(self, state: State, units: State, most: int) -> Filled:
        """Serve as many requests as is possible or as a bounded search finds.

        When the time is over, what is served by then counts. Raise Abandoned.

        :param units: the max_unit of each class, by local
        :param most: it is known that no more can be served
        """
        known = self._known.get((state, units))
        if known is None:
            known = self._quickly(state, units)
            if known.count < most and not known.best:
                known = _Search(self, units, known, most, self._refining).found(state)
            best = known.best or known.count >= most
            known = self._known[state, units] = dataclasses.replace(known, best=best)
        return known

    def _quickly(self, state: State, units: State) -> Filled:
        """Serve requests one after the other, each in the way that leaves most room."""
        count = 0
        while True:
            try:
                best = self._best_way(state, units)
            except (OutOfTime, OutOfMemory):
                return Filled(count, False, state)
            if best is None:
                return Filled(count, count == 0, state)
            count, state = count + best[0], best[1]

    def _best_way(self, state: State, units: State) -> tuple[int, State] | None:
        """Return how often to serve a request in one way, and what is free then."""
        bound = self.bound(state)
        best: tuple[int, int, State] | None = None
        for taken in itertools.islice(self.ways(state, units), _WAYS):
            times = _times(state, taken)
            while times > 1 and self.bound(after(state, taken, times)) < bound - times:
                times //= 2
            offer = self._offer(after(state, taken, times), times)
            places = self._places(state, units, taken)
            copies = min(len(alike) // len(used) for alike, used in places)
            while copies > 1 and offer[0] >= bound:
                more = _after_copies(state, taken, places, times, copies)
                offer = max(offer, self._offer(more, times * copies), key=lambda one: one[:2])
                copies //= 2
            if best is None or offer[:2] > best[:2]:
                best = offer
            if offer[0] >= bound:
                break
        return None if best is None else best[1:]

    def _offer(self, rest: State, count: int) -> tuple[int, int, State]:
        """Return how many can be served at most after so many, the latter, and what is left."""
        return self.bound(rest) + count, count, rest

    def _places(
        self, state: State, units: State, taken: _Taken
    ) -> list[tuple[list[int], list[int]]]:
        """Return sets of locals that can stand for each other: all of them, and those in use."""
        kinds: dict[object, list[int]] = collections.defaultdict(list)
        for number, local in enumerate(self._locals):
            # where a local stands in its tree matters for same_subtree
            below = local.below if self._shape.subtrees else 0
            key = (local.options, local.hits, local.tree, below, state[number], units[number])
            kinds[key].append(number)
        used = {number for number, amounts in enumerate(taken) if any(amounts)}
        found = [(alike, [one for one in alike if one in used]) for alike in kinds.values()]
        return [(alike, mine) for alike, mine in found if mine]

    def bound(self, state: State) -> int:
        """Return how many requests can be served at most, as sums tell."""
        bound = None
        for number, total, unit, kinds in self._totals:
            wanted = sum(1 << kind for kind in kinds)
            room = sum(
                have[number] // unit * unit
                for local, have in zip(self._locals, state, strict=True)
                if local.options & wanted
            )
            bound = room // total if bound is None else min(bound, room // total)
        return 0 if bound is None else bound

    def ways(self, state: State, units: State) -> Iterator[_Taken]:
        """Yield what a request may take, without repetitions."""
        self._budget.spend(20 + 5 * len(state))
        seen: set[_Taken] = set()
        subproblems = Subproblems(self._shape, self._now(state, units), self._budget)
        for solution in solutions_of(subproblems):
            taken = self._taken(solution)
            if taken not in seen:
                seen.add(taken)
                yield taken

    def _now(self, state: State, units: State) -> list[Local]:
        """Return the locals with what is free now."""
        found = []
        for local, have, most in zip(self._locals, state, units, strict=True):
            options = local.options
            for kind, demand in self._demands.items():
                if any(have[self._classes[key]] < amount for key, amount in demand):
                    options &= ~(1 << kind)
            rooms = tuple(
                min(have[self._classes[key]], most[self._classes[key]])
                for key in self._shape.contested
            )
            found.append(dataclasses.replace(local, options=options, rooms=rooms))
        return found

    def _taken(self, solution: Solution) -> _Taken:
        amounts = [[0] * len(self._classes) for _ in self._locals]
        for variable, local in zip(self._shape.variables, solution, strict=True):
            for class_id, amount in variable.demand:
                amounts[local][self._classes[class_id]] += amount
        return tuple(map(tuple, amounts))


class _Search:
    """Tries the orders of serving requests, up to a bound."""

    def __init__(
        self, filling: Filling, units: State, known: Filled, most: int, refining: Budget
    ) -> None:
        self._filling, self._units, self._most = filling, units, most
        self._best = known
        self._refining = refining
        self._states = _STATES
        self._seen: dict[State, int] = {}

    def found(self, state: State) -> Filled:
        """Return the best result; it is the best there is if all orders were tried."""
        try:
            finished = self._run(state, 0)
        except (OutOfTime, OutOfMemory):
            # the budget of the filling itself raises this again when it is used up
            finished = False
        return dataclasses.replace(self._best, best=finished)

    def _run(self, state: State, served: int) -> bool:
        """Serve more in each way there is; say whether no way is better than the best known."""
        if served > self._best.count:
            self._best = Filled(served, False, state)
        if self._best.count >= min(self._most, served + self._filling.bound(state)):
            return True
        if self._seen.get(state, -1) >= served:
            return True
        self._states -= 1
        if self._states < 0:
            return False
        self._refining.look()
        self._seen[state] = served
        ways = list(itertools.islice(self._filling.ways(state, self._units), _MOST_WAYS + 1))
        finished = len(ways) <= _MOST_WAYS
        rests = [after(state, taken, 1) for taken in ways[:_MOST_WAYS]]
        rests.sort(key=self._filling.bound, reverse=True)
        for rest in rests:
            finished = self._run(rest, served + 1) and finished
        return finished


def _times(state: State, taken: _Taken) -> int:
    """Return how often the same can be taken."""
    return min(
        have // amount
        for mine, wanted in zip(state, taken, strict=True)
        for have, amount in zip(mine, wanted, strict=True)
        if amount
    )


def _after_copies(
    state: State,
    taken: _Taken,
    places: Sequence[tuple[list[int], list[int]]],
    times: int,
    copies: int,
) -> State:
    """Return what is free after the same was taken from several sets of equal locals."""
    rest = list(state)
    for alike, used in places:
        others = [one for one in alike if one not in set(used)]
        for number, local in enumerate([*used, *others][: len(used) * copies]):
            amounts = taken[used[number % len(used)]]
            rest[local] = tuple(
                have - amount * times for have, amount in zip(state[local], amounts, strict=True)
            )
    return tuple(rest)


def after(state: State, taken: _Taken, times: int) -> State:
    return tuple(
        tuple(have - amount * times for have, amount in zip(mine, wanted, strict=True))
        for mine, wanted in zip(state, taken, strict=True)
    )
