"""One problem and its solutions, shared by all trees that have it."""

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

from placement.candidates.board import Solution
from placement.candidates.budget import Budget, SearchEnded
from placement.candidates.combine import solutions_of
from placement.candidates.lottery import Allowance, Lottery, RawDraws
from placement.candidates.problem import Local, Shape
from placement.candidates.subtrees import Parts

#: bytes that a solution takes while the search lasts: so many, and so many for each variable
_SOLUTION, _CHOICE = 120, 8


class Solved:
    """The solutions of one problem, found as they are asked for and then remembered.

    All of it may raise SearchEnded, which then names the problem.

    :param places: where in its tree each local stands; behind them come the locals that are lent
    :param lent: the sharing providers from other trees
    :param sharing: which locals are sharing providers
    :param root: the slot of the root of one tree that has the problem
    """

    def __init__(
        self,
        shape: Shape,
        locals_: Sequence[Local],
        places: Sequence[int],
        lent: tuple[int, ...],
        sharing: Sequence[bool],
        budget: Budget,
        root: int,
    ) -> None:
        self._shape, self._locals, self._budget = shape, locals_, budget
        self._parts = Parts(shape, locals_, budget)
        self._stream: Iterator[Solution] = solutions_of(self._parts)
        self._size = _SOLUTION + _CHOICE * len(shape.variables)
        self._picked: list[Solution] = []
        self._lottery: Lottery | None = None
        self._raw: RawDraws | None = None
        self._found: list[Solution] = []
        self._ended: SearchEnded | None = None
        self._sharing = sharing
        #: whether there are sharing providers among the locals
        self.lends = any(sharing)
        self.places = places
        self.lent = lent
        self.root = root
        #: what rendering computes once for all trees with this problem, by number of the solution
        self.templates: dict[int, Any] = {}

    def at(self, number: int) -> Solution | None:
        """The solution of that number, or None if there are not as many."""
        if number < 0:
            return self._picked[-1 - number]
        while len(self._found) <= number:
            if self._ended is not None:
                raise self._ended
            try:
                found = next(self._stream, None)
                if found is None:
                    return None
                self._budget.keep(self._size)
            except SearchEnded as ended:
                ended.problem, self._ended = self, ended
                raise
            self._found.append(found)
        return self._found[number]

    def known(self, number: int) -> Solution:
        """The solution of a number that there is."""
        solution = self.at(number)
        assert solution is not None
        return solution

    def options(self) -> list[tuple[str, int]]:
        """The suffix of each variable, and how many providers can serve it by themselves."""
        return [
            (variable.suffix, mask.bit_count())
            for variable, mask in zip(self._shape.variables, self._parts.options, strict=True)
        ]

    def combinations(self) -> int:
        """How many ways there are to choose an option for each variable, valid or not."""
        return math.prod(count for _, count in self.options())

    def count(self, allowance: Allowance | None = None) -> int:
        """How many solutions there are; they needn't be found for that. Raises TooManyToCount."""
        if self._lottery is None:
            try:
                self._lottery = Lottery(self._shape, self._locals, self._budget, allowance)
            except SearchEnded as ended:
                ended.problem = self
                raise
        return self._lottery.count

    def ranked(self, rank: int) -> Solution:
        """One of the `count` solutions, without those before it."""
        self.count()
        assert self._lottery is not None
        return self._lottery.solution(rank)

    def raw(self) -> RawDraws:
        """Choices of options to draw from, valid or not."""
        if self._raw is None:
            self._raw = RawDraws(self._shape, self._locals, self._budget)
        return self._raw

    def any_one(self, source: random.Random) -> Solution | None:
        """Some solution; which, is left to chance, but not evenly. None if there is none."""
        return next(solutions_of(self._parts, source), None)

    def keep(self, solution: Solution) -> int:
        """Keep a solution that wasn't found in order; answers a number for `at`."""
        self._picked.append(solution)
        return -len(self._picked)

    def only_shared(self, solution: Solution) -> bool:
        """Whether the solution uses sharing providers only, so that other trees may have it."""
        return self.lends and all(self._sharing[local] for local in solution)


class Alone(Solved):
    """One provider that is a tree by itself and serves all: one solution, known beforehand."""

    def __init__(self, shape: Shape, budget: Budget) -> None:
        super().__init__(shape, (), (0,), (), (False,), budget, -1)
        self._stream = iter([(0,) * len(shape.variables)])

    def options(self) -> list[tuple[str, int]]:
        """One for each variable."""
        return [(variable.suffix, 1) for variable in self._shape.variables]

    def count(self, allowance: Allowance | None = None) -> int:
        """One."""
        return 1

    def ranked(self, rank: int) -> Solution:
        """The only one."""
        return self.known(0)
