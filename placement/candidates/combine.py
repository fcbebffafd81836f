"""Every way to serve a request within one tree, one at a time.

A depth-first search that counts what it takes, so that an invalid beginning is never extended.
As soon as it runs into a dead end it looks ahead: before a beginning is extended, bounds must allow
an end, and beginnings that differ only by which of several equal providers they use are tried once.
"""

import random
from collections.abc import Iterator, Sequence

from placement.candidates.board import Board, Solution
from placement.candidates.budget import Budget
from placement.candidates.problem import Local, Shape
from placement.candidates.subtrees import Parts, Top

#: what a step of the search with a look ahead costs, in steps of the budget
_LOOKING = 20
#: steps of the search that are noted together
_STRIDE = 64


def solutions(
    shape: Shape, locals_: Sequence[Local], budget: Budget | None = None
) -> Iterator[Solution]:
    """All valid choices of a local for each variable (allocation-candidates.md 2.6).

    Raises SearchEnded when the budget is used up.
    """
    return solutions_of(Parts(shape, locals_, budget or Budget()))


def solutions_of(parts: Parts, source: random.Random | None = None) -> Iterator[Solution]:
    """All solutions that a problem has in its parts. Raises SearchEnded.

    :param source: tries all in a random order; None: in their own
    """

    def assigned(options: list[int], tops: list[Top]) -> Iterator[Solution]:
        board = Board(parts.shape, parts.locals, options, tops)
        return assignments(board, parts.budget, source)

    return parts.each(assigned, source)


def assignments(
    board: Board, budget: Budget, source: random.Random | None = None
) -> Iterator[Solution]:
    """The valid choices that begin on an empty board."""
    if source is None:
        # a look at all; searches in a random order are many, and of what has solutions
        budget.spend(board.width)
        if not board.is_hopeful(0):
            return
    dead_ends = _DeadEnds(board, budget)
    try:
        yield from _walk(board, budget, dead_ends, source)
    finally:
        dead_ends.forget()


def _walk(
    board: Board, budget: Budget, dead_ends: "_DeadEnds", source: random.Random | None
) -> Iterator[Solution]:
    last = board.size - 1
    left = [0] * board.size
    found_before = [0] * board.size
    missing = [0] * (board.size + 1)
    missing[0] = board.nothing_hit
    found, depth, steps = 0, 0, 0
    may_take, still_missing, take = board.may_take, board.still_missing, board.take
    left[0] = board.open(0)
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
                board.give_back(depth)
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
            board.chosen[depth] = local
            yield board.solution()
            continue
        take(depth, local)
        depth += 1
        missing[depth] = hit
        found_before[depth] = found
        left[depth] = board.open(depth) if dead_ends.is_hopeful(depth, hit) else 0


def _any_bit(mask: int, source: random.Random) -> int:
    """One of the bits that are set."""
    for _ in range(source.randrange(mask.bit_count())):
        mask &= mask - 1
    return mask & -mask


class _DeadEnds:
    """Where one search found nothing; from the first dead end on it looks ahead."""

    def __init__(self, board: Board, budget: Budget) -> None:
        self._board, self._budget = board, budget
        self._careful = False
        self._states: set[object] = set()

    def note(self, depth: int, missing: int) -> None:
        """Nothing is behind what is taken now."""
        self._careful = True
        if depth:
            state = self._board.state(depth, missing)
            if state not in self._states and self._budget.remember():
                self._states.add(state)

    def is_hopeful(self, depth: int, missing: int) -> bool:
        """Whether something may be behind what is taken now."""
        if not self._careful:
            return True
        self._budget.spend(_LOOKING + self._board.width)
        if self._states and self._board.state(depth, missing) in self._states:
            return False
        return self._board.is_hopeful(depth)

    def forget(self) -> None:
        """The search is over."""
        self._budget.forget(len(self._states))
        self._states.clear()
