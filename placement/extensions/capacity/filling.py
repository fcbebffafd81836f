"""Finds how many requests fit into one tree by serving one after the other (extensions.md 6).

This is for trees where parts of a request compete so that arithmetic gives bounds only. A *state*
is what is free in a tree, and a *way* is what one request takes. With the classes (VCPU, VGPU), a
root with 6 VCPU free and a device with 2 VGPU free are the state ((6, 0), (0, 2)). A request for 2
VCPU and 1 VGPU takes ((2, 0), (0, 1)), and can do that twice.
"""

import collections
import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence

from placement.candidates.budget import Budget, OutOfMemory, OutOfTime
from placement.candidates.tree_problem import Demand, Local, RequestShape, Solution, TreeProblem
from placement.candidates.trees.backtracking import solutions_of, subproblems_of

#: amounts of each class, by local
State = tuple[tuple[int, ...], ...]
#: what one request takes
_Way = State

#: how many ways to serve one request the quick filling compares
_WAYS = 8
#: how many ways to serve one request, and how many states, the search for the best filling tries
_MOST_WAYS, _STATES = 64, 200


@dataclasses.dataclass(frozen=True)
class Filled:
    """How many requests were served.

    :param best: whether it is certain that no more can be served
    :param left: what is free afterwards
    """

    count: int
    best: bool
    left: State


class Filling:
    """Serves requests in trees that have one problem in common.

    :param classes: the ids of the resource classes whose amounts states have, in their order
    :param budget: what the quick filling may cost
    :param refining: what the search for the best filling may cost
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
        """Return for each class its number in states, and what bounds its requests.

        That is what a request takes of it, the greatest common divisor of the single amounts, and
        the kinds of variables that take of it.
        """
        sums = []
        for class_id, number in self._classes.items():
            amounts = [
                (variable.kind, dict(variable.demand)[class_id])
                for variable in self._shape.variables
                if class_id in dict(variable.demand)
            ]
            if amounts:
                total = sum(amount for _, amount in amounts)
                unit = math.gcd(*(amount for _, amount in amounts))
                sums.append((number, total, unit, tuple({kind for kind, _ in amounts})))
        return sums

    def fill(self, state: State, units: State, most: int) -> Filled:
        """Serve requests: as many as are possible, or as many as a bounded search manages.

        If a budget is used up, those count that are served by then. Raises Abandoned if the client
        left.

        :param units: the max_unit of each class, by local
        :param most: an upper bound that is known already
        """
        known = self._known.get((state, units))
        if known is None:
            known = self._quickly(state, units)
            if known.count < most and not known.best:
                known = _BestFilling(self, units, known, most, self._refining).search(state)
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
        """Return how often to serve a request in the best way, and what is free then; None: not.

        A way is best if most requests can be served in all after it. It is repeated as long as that
        number doesn't fall: many times, and on several providers that are alike. So a tree with
        room for thousands takes few steps.
        """
        bound = self.bound(state)
        best: tuple[int, int, State] | None = None
        for way in itertools.islice(self.ways(state, units), _WAYS):
            times = _times(state, way)
            while times > 1 and self.bound(after(state, way, times)) < bound - times:
                times //= 2
            result = self._result(after(state, way, times), times)
            places = self._interchangeable(state, units, way)
            copies = min(len(alike) // len(used) for alike, used in places)
            while copies > 1 and result[0] >= bound:
                rest = _after_copies(state, way, places, times, copies)
                result = max(result, self._result(rest, times * copies), key=lambda one: one[:2])
                copies //= 2
            if best is None or result[:2] > best[:2]:
                best = result
            if result[0] >= bound:
                break
        return None if best is None else best[1:]

    def _result(self, rest: State, count: int) -> tuple[int, int, State]:
        """Return how many can be served at most in all, how many are served, and what is left."""
        return self.bound(rest) + count, count, rest

    def _interchangeable(
        self, state: State, units: State, way: _Way
    ) -> list[tuple[list[int], list[int]]]:
        """Return sets of locals that can stand for each other: all of a set, and those in use."""
        kinds: dict[object, list[int]] = collections.defaultdict(list)
        for number, local in enumerate(self._locals):
            # where a local stands in its tree matters for same_subtree
            below = local.below if self._shape.subtrees else 0
            key = (local.options, local.hits, local.tree, below, state[number], units[number])
            kinds[key].append(number)
        used = {number for number, amounts in enumerate(way) if any(amounts)}
        sets = [(alike, [one for one in alike if one in used]) for alike in kinds.values()]
        return [(alike, in_use) for alike, in_use in sets if in_use]

    def bound(self, state: State) -> int:
        """Return how many requests can be served at most, by what is free of each class in all.

        Of 5 VCPU, parts that take 2 VCPU each can use 4: amounts are cut to whole units.
        """
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

    def ways(self, state: State, units: State) -> Iterator[_Way]:
        """Yield the ways to serve a request, without repetitions."""
        self._budget.spend(20 + 5 * len(state))
        seen: set[_Way] = set()
        subproblems = subproblems_of(self._shape, self._locals_in(state, units), self._budget)
        for solution in solutions_of(subproblems):
            way = self._way(solution)
            if way not in seen:
                seen.add(way)
                yield way

    def _locals_in(self, state: State, units: State) -> list[Local]:
        """Return the locals as they are in a state: what they can serve, and their room."""
        changed = []
        for local, have, most in zip(self._locals, state, units, strict=True):
            options = local.options
            for kind, demand in self._demands.items():
                if any(have[self._classes[key]] < amount for key, amount in demand):
                    options &= ~(1 << kind)
            rooms = tuple(
                min(have[self._classes[key]], most[self._classes[key]])
                for key in self._shape.contested
            )
            changed.append(dataclasses.replace(local, options=options, rooms=rooms))
        return changed

    def _way(self, solution: Solution) -> _Way:
        amounts = [[0] * len(self._classes) for _ in self._locals]
        for variable, local in zip(self._shape.variables, solution, strict=True):
            for class_id, amount in variable.demand:
                amounts[local][self._classes[class_id]] += amount
        return tuple(map(tuple, amounts))


class _BestFilling:
    """Searches for the best filling: tries all ways for one request after the other.

    A branch ends where its bound shows that it isn't better than the best known filling.
    """

    def __init__(
        self, filling: Filling, units: State, known: Filled, most: int, refining: Budget
    ) -> None:
        self._filling, self._units, self._most = filling, units, most
        self._best = known
        self._refining = refining
        self._states = _STATES
        self._seen: dict[State, int] = {}

    def search(self, state: State) -> Filled:
        """Return the best known filling; it is the best there is if all branches were tried."""
        try:
            finished = self._try(state, 0)
        except (OutOfTime, OutOfMemory):
            # if it is the filling's own budget that is used up, its next use raises this again
            finished = False
        return dataclasses.replace(self._best, best=finished)

    def _try(self, state: State, served: int) -> bool:
        """Try all ways for the next request; return whether no branch from here was left out."""
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
        rests = [after(state, way, 1) for way in ways[:_MOST_WAYS]]
        rests.sort(key=self._filling.bound, reverse=True)
        for rest in rests:
            finished = self._try(rest, served + 1) and finished
        return finished


def _times(state: State, way: _Way) -> int:
    """Return how many requests can take the same."""
    return min(
        free // amount
        for amounts, taken in zip(state, way, strict=True)
        for free, amount in zip(amounts, taken, strict=True)
        if amount
    )


def _after_copies(
    state: State,
    way: _Way,
    places: Sequence[tuple[list[int], list[int]]],
    times: int,
    copies: int,
) -> State:
    """Return what is free after requests took the same, also of locals that are alike.

    :param places: what `_interchangeable` returns
    :param copies: of how many of the locals that are alike each local in use stands for one
    """
    rest = list(state)
    for alike, used in places:
        others = [one for one in alike if one not in set(used)]
        for number, local in enumerate([*used, *others][: len(used) * copies]):
            taken = way[used[number % len(used)]]
            rest[local] = tuple(
                free - amount * times for free, amount in zip(state[local], taken, strict=True)
            )
    return tuple(rest)


def after(state: State, way: _Way, times: int) -> State:
    """Return what is free after `times` requests took the same."""
    return tuple(
        tuple(free - amount * times for free, amount in zip(amounts, taken, strict=True))
        for amounts, taken in zip(state, way, strict=True)
    )
