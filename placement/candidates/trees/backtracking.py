"""Every way to serve a request within one tree, one at a time.

A depth-first search: it gives one variable after the other a local, and keeps account of what is
left, so it never extends an invalid beginning. It looks ahead once before it begins. Then it may
come to a solution without any dead end, and looking ahead at each step would be in vain. So it does
that from the first dead end on: bounds must allow a solution (`Lookahead`), and of beginnings that
differ in nothing but which of several equal providers they use, one is tried (`symmetry.py`).
"""

import bisect
import collections
import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from placement.candidates.budget import Budget
from placement.candidates.tree_problem import Local, RequestShape, Solution, bits, options_of
from placement.candidates.trees.assignment import Assignment, SearchPlan, plan
from placement.candidates.trees.bounds import can_supply
from placement.candidates.trees.same_subtree import Solve, Subproblems, Top
from placement.candidates.trees.symmetry import Symmetry

T = TypeVar("T")
#: what a step of the search with a look ahead costs, in steps of the budget
_LOOKING = 20
#: steps of the search that the budget notes together
_STRIDE = 64
#: sums up to this many units are told apart, one bit each
_MOST_SUMS = 1 << 16
#: for how many different rooms it is remembered what fits into them: bounds the memory
_MOST_ROOMS = 2_000


class WholeProblem:
    """The one subproblem where nothing is asked of subtrees, with the methods of `Subproblems`."""

    def __init__(self, shape: RequestShape, locals_: Sequence[Local], budget: Budget) -> None:
        self.shape, self.locals, self.budget = shape, locals_, budget
        self.options = options_of(shape, locals_)

    def each(self, solve: Solve[T], source: random.Random | None = None) -> Iterator[T]:
        """Yield what `solve` finds."""
        if all(self.options):
            yield from solve(self.options, [])


def subproblems_of(
    shape: RequestShape, locals_: Sequence[Local], budget: Budget
) -> Subproblems | WholeProblem:
    """Return what goes through the subproblems of a search within one tree."""
    return (Subproblems if shape.subtrees else WholeProblem)(shape, locals_, budget)


def solutions_of(
    subproblems: Subproblems | WholeProblem, source: random.Random | None = None
) -> Iterator[Solution]:
    """Yield all valid choices of a local for each variable (allocation-candidates.md 2.6).

    Raises SearchEnded when the budget is used up.

    :param source: tries all in a random order; None: in their own
    """

    def assigned(options: list[int], tops: list[Top]) -> Iterator[Solution]:
        planned = plan(subproblems.shape, subproblems.locals, options, tops)
        return _solutions(planned, subproblems.budget, source)

    return subproblems.each(assigned, source)


def _solutions(
    planned: SearchPlan, budget: Budget, source: random.Random | None
) -> Iterator[Solution]:
    assignment, lookahead = Assignment(planned), Lookahead(planned)
    if source is None:
        # a random choice makes many searches of one problem, which mostly has solutions
        budget.spend(planned.width)
        if not lookahead.is_hopeful(0, assignment):
            return
    dead_ends = _DeadEnds(planned, assignment, lookahead, budget)
    try:
        yield from _walk(planned, assignment, budget, dead_ends, source)
    finally:
        dead_ends.forget()


def _walk(
    planned: SearchPlan,
    assignment: Assignment,
    budget: Budget,
    dead_ends: "_DeadEnds",
    source: random.Random | None,
) -> Iterator[Solution]:
    last = planned.size - 1
    left = [0] * planned.size
    found_before = [0] * planned.size
    missing = [0] * (planned.size + 1)
    missing[0] = planned.nothing_hit
    found, depth, steps = 0, 0, 0
    may_take, still_missing, take = assignment.may_take, assignment.still_missing, assignment.take
    left[0] = assignment.open(0)
    while depth >= 0:
        steps += 1
        if steps == _STRIDE:
            budget.spend(steps)
            steps = 0
        if not left[depth]:
            if found == found_before[depth]:
                dead_ends.note(depth, missing[depth])
            depth -= 1
            if depth >= 0:
                assignment.give_back(depth)
            continue
        low = left[depth] & -left[depth] if source is None else _any_bit(left[depth], source)
        left[depth] ^= low
        local = low.bit_length() - 1
        if not may_take(depth, local):
            continue
        hit = still_missing(depth, local, missing[depth])
        if hit is None:
            continue
        if depth == last:
            found += 1
            assignment.chosen[depth] = local
            yield assignment.solution()
            continue
        take(depth, local)
        depth += 1
        missing[depth] = hit
        found_before[depth] = found
        left[depth] = assignment.open(depth) if dead_ends.is_hopeful(depth, hit) else 0


def _any_bit(mask: int, source: random.Random) -> int:
    """Return one of the bits that are set."""
    for _ in range(source.randrange(mask.bit_count())):
        mask &= mask - 1
    return mask & -mask


class _DeadEnds:
    """Remembers where one search found nothing; from the first dead end on it looks ahead."""

    def __init__(
        self, planned: SearchPlan, assignment: Assignment, lookahead: "Lookahead", budget: Budget
    ) -> None:
        self._plan, self._assignment = planned, assignment
        self._lookahead, self._budget = lookahead, budget
        #: made at the first dead end
        self._symmetry: Symmetry | None = None
        self._states: set[object] = set()

    def note(self, depth: int, missing: int) -> None:
        """Remember that nothing is behind what is assigned now."""
        if self._symmetry is None:
            self._symmetry = Symmetry(self._plan)
        if depth:
            state = self._symmetry.state(self._assignment, depth, missing)
            if state not in self._states and self._budget.remember():
                self._states.add(state)

    def is_hopeful(self, depth: int, missing: int) -> bool:
        """Say whether a solution may be behind what is assigned now."""
        if self._symmetry is None:
            return True
        self._budget.spend(_LOOKING + self._plan.width)
        if self._states:
            state = self._symmetry.state(self._assignment, depth, missing)
            if state in self._states:
                return False
        return self._lookahead.is_hopeful(depth, self._assignment)

    def forget(self) -> None:
        """Give back what is remembered: the search is over."""
        self._budget.forget(len(self._states))
        self._states.clear()


class Lookahead:
    """Bounds: whether what is left can still serve the variables from a depth of a search on.

    When a bound says no, there is no solution. The bounds are exact where all variables ask for
    one unit, or for equal amounts. Unequal amounts are bin packing, which no bound decides in every
    case.

    Three variables want 3, 4 and 4 units of a class. Each of two providers can serve all of them.
    For each amount the bounds count how many of the wants of at least that amount fit, and in the
    end how much of the sum::

        left of the class          7    5               6    5
        at least 3: 3 wanted       2 +  1   enough      1 +  1   too few: hopeless
        at least 4: 2 wanted       1 +  1   enough
        sum:       11 wanted       7 +  4   enough

    The provider with 5 units can give 4 of the sum, as no wants add up to 5. In both cases there
    are 11 units or more, so a comparison of plain sums wouldn't tell them apart.

    What the variables ask for is the same whenever the search comes to this depth, so it is
    computed once.
    """

    def __init__(self, plan: SearchPlan) -> None:
        self._variables, self._count = plan.variables, len(plan.locals)
        #: by depth
        self._ahead: dict[int, _Ahead] = {}

    def is_hopeful(self, depth: int, assignment: Assignment) -> bool:
        """Say whether bounds allow that the variables from `depth` on are all served."""
        ahead = self._ahead.get(depth)
        if ahead is None:
            ahead = self._ahead[depth] = self._look(depth)
        rooms, taken = assignment.rooms, assignment.taken
        if ahead.exclusive:
            free = ((able, 1 - (taken >> n & 1)) for n, able in enumerate(ahead.able))
            if not can_supply(ahead.exclusive, free):
                return False
        return all(wants.may_fit(ahead.able, rooms, taken) for wants in ahead.classes)

    def _look(self, depth: int) -> "_Ahead":
        # a bit for each set of options: variables with the same options are of one kind
        kinds: dict[int, int] = {}
        able = [0] * self._count
        exclusive: dict[int, int] = collections.Counter()
        wants: dict[int, list[tuple[int, int]]] = {}
        alone: dict[int, bool] = {}
        for variable in self._variables[depth:]:
            mask = variable.options
            if mask not in kinds:
                kinds[mask] = 1 << len(kinds)
                for number in bits(mask):
                    able[number] |= kinds[mask]
            if variable.exclusive:
                exclusive[kinds[mask]] += 1
            for column, amount in variable.takes:
                wants.setdefault(column, []).append((amount, kinds[mask]))
                alone[column] = alone.get(column, True) and variable.exclusive
        classes = [_Wants(column, asked, alone[column]) for column, asked in wants.items()]
        return _Ahead(able, exclusive, classes)


class _Ahead(NamedTuple):
    """What the variables from one depth on ask for.

    :param able: by local, the kinds of variables that it can serve, as bits
    :param exclusive: how many variables of each kind need a local of their own
    """

    able: list[int]
    exclusive: Mapping[int, int]
    classes: "list[_Wants]"


class _Wants:
    """What variables ask of one class. A variable gets all of its amount from one local.

    :param column: the number of the contested class
    :param asked: (amount, kind) of each variable
    :param alone: whether no local may serve two of them
    """

    def __init__(self, column: int, asked: list[tuple[int, int]], alone: bool) -> None:
        self._column, self._alone = column, alone
        self._amounts = sorted(amount for amount, _ in asked)
        self._sums: dict[int, int] = collections.Counter()
        for amount, kind in asked:
            self._sums[kind] += amount
        #: (amount, how many variables of each kind want at least that much), ascending
        self._counts: list[tuple[int, dict[int, int]]] = []
        for least in sorted(set(self._amounts)):
            counts = collections.Counter(kind for amount, kind in asked if amount >= least)
            self._counts.append((least, counts))
        #: in the same order, the sums of the smallest one, two, … of those amounts: as many fit
        #: into a room as sums are not larger than it
        self._smallest = [
            list(itertools.accumulate(amount for amount in self._amounts if amount >= least))
            for least, _ in self._counts
        ]
        #: all sums are multiples of this
        self._piece = math.gcd(*self._amounts)
        self._reached = self._reachable()
        self._known: dict[int, tuple[int, ...]] = {}

    def _reachable(self) -> int | None:
        """Return which sums some of the amounts have, as bits; None: they are too many.

        Bit n stands for the sum of n pieces. Amounts 3, 4, 4: bits 0, 3, 4, 7, 8 and 11.
        """
        if sum(self._amounts) // self._piece > _MOST_SUMS:
            return None
        reached = 1
        for amount in self._amounts:
            reached |= reached << amount // self._piece
        return reached

    def may_fit(self, able: Sequence[int], rooms: Sequence[Sequence[int]], taken: int) -> bool:
        """Say whether counts and sums allow that all wants are met.

        :param able: by local, the kinds of variables that it can serve, as bits
        :param rooms: by local, what is left of each contested class
        :param taken: the locals that exclusive variables have, as bits
        """
        column = self._column
        if self._alone:
            gives = [
                self._given(0 if taken >> n & 1 else room[column]) for n, room in enumerate(rooms)
            ]
        else:
            gives = [self._given(room[column]) for room in rooms]
        for at, (_, counts) in enumerate(self._counts):
            if not can_supply(counts, ((able[n], given[at]) for n, given in enumerate(gives))):
                return False
        if len(self._counts) == 1:
            # equal amounts: their number decides
            return True
        return can_supply(self._sums, ((able[n], given[-1]) for n, given in enumerate(gives)))

    def _given(self, room: int) -> tuple[int, ...]:
        """Return, for each amount, how many of the wants of at least that amount fit into the room.

        The last number is the largest sum of amounts that fits.
        """
        given = self._known.get(room)
        if given is None:
            given = self._give(room)
            if len(self._known) < _MOST_ROOMS:
                self._known[room] = given
        return given

    def _give(self, room: int) -> tuple[int, ...]:
        numbers = [bisect.bisect_right(sums, room) for sums in self._smallest]
        if self._alone:
            at = bisect.bisect_right(self._amounts, room)
            return (*(min(number, 1) for number in numbers), self._amounts[at - 1] if at else 0)
        if self._reached is None:
            return (*numbers, room // self._piece * self._piece)
        most = min(room // self._piece, self._reached.bit_length())
        reached = self._reached & (1 << most + 1) - 1
        return (*numbers, (reached.bit_length() - 1) * self._piece)
