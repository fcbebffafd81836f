"""Every way to serve a request within one tree, one at a time.

A depth-first search: it gives one variable after the other a local, and keeps account of what is
left, so it never extends an invalid beginning. It looks ahead once before it begins. Then it may
come to a solution without any dead end, and looking ahead at each step would be in vain. So it does
that from the first dead end on: bounds must allow a solution (`lookahead.py`), and of beginnings
that differ in nothing but which of several equal providers they use, one is tried (`symmetry.py`).
"""

import random
from collections.abc import Iterator

from placement.candidates.budget import Budget
from placement.candidates.tree_problem import Solution
from placement.candidates.trees.assignment import Assignment, SearchPlan, plan
from placement.candidates.trees.lookahead import Lookahead
from placement.candidates.trees.same_subtree import Subproblems, Top
from placement.candidates.trees.symmetry import Symmetry

#: what a step of the search with a look ahead costs, in steps of the budget
_LOOKING = 20
#: steps of the search that the budget notes together
_STRIDE = 64


def solutions_of(
    subproblems: Subproblems, source: random.Random | None = None
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
        self, planned: SearchPlan, assignment: Assignment, lookahead: Lookahead, budget: Budget
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
