"""How many ways there are to serve a request within one tree, and the way of a given number."""

from collections.abc import Iterator, Sequence

from placement.candidates.budget import Allowance, Budget, TooManyToCount
from placement.candidates.tree_problem import Local, RequestShape, Solution, bits
from placement.candidates.trees.assignment import Assignment, SearchPlan, plan
from placement.candidates.trees.backtracking import Lookahead, subproblems_of
from placement.candidates.trees.same_subtree import Top
from placement.candidates.trees.symmetry import Symmetry

#: steps of the budget that one counted state costs
_COUNTING = 30
#: counting is recursive, one call for each variable, and Python limits the depth of calls
_MOST_VARIABLES = 300


class CountedSolutions:
    """Counts solutions without listing them, and finds the solution of a given number.

    Of beginnings that leave the same for the rest (`symmetry.py`), one is counted. So even problems
    can be counted that have more solutions than a search could list. Raises TooManyToCount, or
    SearchEnded when the budget is used up.

    :param allowance: None: as many states as it takes
    """

    def __init__(
        self,
        shape: RequestShape,
        locals_: Sequence[Local],
        budget: Budget,
        allowance: Allowance | None = None,
    ) -> None:
        if len(shape.variables) > _MOST_VARIABLES:
            raise TooManyToCount

        def counted(options: list[int], tops: list[Top]) -> "Iterator[_SubproblemCount]":
            part = _SubproblemCount(plan(shape, locals_, options, tops), budget, allowance)
            if part.count:
                yield part

        self._parts = list(subproblems_of(shape, locals_, budget).each(counted))
        #: how many solutions there are
        self.count = sum(part.count for part in self._parts)

    def solution(self, number: int) -> Solution:
        """Return one of the solutions; different numbers below `count` give different solutions.

        Raises IndexError for a number that isn't below `count`.
        """
        for part in self._parts:
            if number < part.count:
                return part.numbered(number)
            number -= part.count
        raise IndexError("there are not as many solutions")


class _SubproblemCount:
    """The solutions of one subproblem."""

    def __init__(self, planned: SearchPlan, budget: Budget, allowance: Allowance | None) -> None:
        self._plan, self._budget, self._allowance = planned, budget, allowance
        self._assignment, self._symmetry = Assignment(planned), Symmetry(planned)
        self._counted: dict[object, int] = {}
        hopeful = Lookahead(planned).is_hopeful(0, self._assignment)
        self.count = self._visit(0, planned.nothing_hit) if hopeful else 0

    def numbered(self, number: int) -> Solution:
        """Return the solution of that number, in an order that is always the same.

        At each depth it passes over locals until the solutions behind them are more than `number`.
        """
        assignment, missing = self._assignment, self._plan.nothing_hit
        for depth in range(self._plan.size):
            alike: dict[object, int] = {}
            for local in bits(assignment.open(depth)):
                count = self._as_behind(alike, depth, local, missing)
                if number < count:
                    break
                number -= count
            still = assignment.still_missing(depth, local, missing)
            assert still is not None
            missing = still
            assignment.take(depth, local)
        solution = assignment.solution()
        for depth in reversed(range(self._plan.size)):
            assignment.give_back(depth)
        return solution

    def _visit(self, depth: int, missing: int) -> int:
        """Return how many solutions begin with what is assigned."""
        if depth == self._plan.size:
            return 1
        self._budget.spend(_COUNTING + self._plan.width)
        key = self._symmetry.state(self._assignment, depth, missing)
        known = self._counted.get(key)
        if known is not None:
            return known
        if self._allowance is not None:
            self._allowance.use()
        total = 0
        alike: dict[object, int] = {}
        for local in bits(self._assignment.open(depth)):
            total += self._as_behind(alike, depth, local, missing)
        self._counted[key] = total
        return total

    def _as_behind(self, alike: dict[object, int], depth: int, local: int, missing: int) -> int:
        """Return what `_behind` does, which is the same for equal locals that have the same left.

        :param alike: the counts of locals at this depth that are known, by condition
        """
        condition = self._symmetry.condition(self._assignment, local)
        count = alike.get(condition) if condition is not None else None
        if count is None:
            count = alike[condition] = self._behind(depth, local, missing)
        return count

    def _behind(self, depth: int, local: int, missing: int) -> int:
        """Return how many begin with what is assigned and the local for the variable at `depth`."""
        assignment = self._assignment
        if not assignment.may_take(depth, local):
            return 0
        still = assignment.still_missing(depth, local, missing)
        if still is None:
            return 0
        before = assignment.chosen[depth]
        assignment.take(depth, local)
        count = self._visit(depth + 1, still)
        assignment.give_back(depth)
        assignment.chosen[depth] = before
        return count
