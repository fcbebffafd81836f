"""One problem and its solutions, shared by all trees that have it.

A cloud has many equal hosts. Their trees are one `ProblemFamily`, whose problem is solved once. A
solution of the problem is a candidate in each of these trees: together they are a `CandidateBatch`.
"""

import dataclasses
import math
import random
from collections.abc import Iterator

from placement.candidates.budget import Allowance, Budget, SearchEnded
from placement.candidates.slots import WholeSlot, WholeSlots
from placement.candidates.tree_problem import RequestShape, Solution, TreeProblem
from placement.candidates.trees.backtracking import solutions_of, subproblems_of
from placement.candidates.trees.counting import CountedSolutions
from placement.candidates.trees.rejection_sampling import BlindDraws

#: bytes that a solution takes while the search lasts: so many, and so many for each variable
_SOLUTION, _CHOICE = 120, 8


class TreeSolutions:
    """The solutions of one problem, found as they are asked for and then remembered.

    Each method may raise SearchEnded, which then names the problem.
    """

    def __init__(self, problem: TreeProblem, budget: Budget) -> None:
        self.problem, self._budget = problem, budget
        self._subproblems = subproblems_of(problem.shape, problem.locals, budget)
        self._stream: Iterator[Solution] = solutions_of(self._subproblems)
        self._size = _SOLUTION + _CHOICE * len(problem.shape.variables)
        self._found: list[Solution] = []
        self._ended: SearchEnded | None = None
        self._counted: CountedSolutions | None = None
        self._draws: BlindDraws | None = None
        #: where in its tree each of its own locals stands; lent locals come behind these
        self.places = problem.places
        #: the slots in the whole cloud of the sharing providers from other trees
        self.lent = problem.lent
        #: the slot in the whole cloud of the root of one tree that has the problem
        self.root: WholeSlot | None = problem.root
        #: whether there are sharing providers among the locals
        self.lends = any(problem.sharing)

    def at(self, number: int) -> Solution | None:
        """Return the solution of that number, or None if there are not as many."""
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

    def options(self) -> list[tuple[str, int]]:
        """Return the suffix of each variable, and how many providers can serve it by themselves."""
        variables = self.problem.shape.variables
        return [
            (variable.suffix, mask.bit_count())
            for variable, mask in zip(variables, self._subproblems.options, strict=True)
        ]

    def combinations(self) -> int:
        """Return in how many ways each variable can have an option, valid or not."""
        return math.prod(count for _, count in self.options())

    def count(self, allowance: Allowance | None = None) -> int:
        """Return how many solutions there are, without finding them. Raises TooManyToCount."""
        if self._counted is None:
            problem = self.problem
            try:
                self._counted = CountedSolutions(
                    problem.shape, problem.locals, self._budget, allowance
                )
            except SearchEnded as ended:
                ended.problem = self
                raise
        return self._counted.count

    def ranked(self, rank: int) -> Solution:
        """Return one of the `count` solutions without finding those before it."""
        self.count()
        assert self._counted is not None
        return self._counted.solution(rank)

    def draws(self) -> BlindDraws:
        """Return what draws one provider for each variable, whether they fit together or not."""
        if self._draws is None:
            self._draws = BlindDraws(self.problem.shape, self.problem.locals, self._budget)
        return self._draws

    def any_one(self, source: random.Random) -> Solution | None:
        """Return a random solution, some more probable than others; None if there is none."""
        return next(solutions_of(self._subproblems, source), None)

    def most_sparing(self, most: int) -> Solution | None:
        """Return a solution whose providers have the fewest uses; None if there is none.

        A provider has a use for each kind of variable that it can serve.

        :param most: how many of the first solutions are compared
        """
        uses = [local.options.bit_count() for local in self.problem.locals]
        found: list[Solution] = []
        while len(found) < most and (solution := self.at(len(found))) is not None:
            found.append(solution)
        return min(found, key=lambda solution: sum(uses[one] for one in solution), default=None)

    def only_shared(self, solution: Solution) -> bool:
        """Say whether a solution uses sharing providers only, so that other trees may have it."""
        return self.lends and all(self.problem.sharing[local] for local in solution)


class SingleProviderSolution:
    """The one solution where a tree is one provider that serves all variables.

    It needs no search. Its methods are those of `TreeSolutions`.
    """

    lends = False
    root: WholeSlot | None = None
    places: tuple[int, ...] = (0,)
    lent: tuple[WholeSlot, ...] = ()

    def __init__(self, shape: RequestShape, budget: Budget) -> None:
        self._shape, self._budget = shape, budget
        self._solution: Solution = (0,) * len(shape.variables)

    def at(self, number: int) -> Solution | None:
        """Return the only solution, or None for another number than 0."""
        return self._solution if number == 0 else None

    def options(self) -> list[tuple[str, int]]:
        """Return one provider for each variable."""
        return [(variable.suffix, 1) for variable in self._shape.variables]

    def combinations(self) -> int:
        """Return one."""
        return 1

    def count(self, allowance: Allowance | None = None) -> int:
        """Return one."""
        return 1

    def ranked(self, rank: int) -> Solution:
        """Return the only solution."""
        return self._solution

    def draws(self) -> BlindDraws:
        """Return nothing to draw from: one solution can always be counted."""
        return BlindDraws(self._shape, (), self._budget)

    def any_one(self, source: random.Random) -> Solution | None:
        """Return the only solution."""
        return self._solution

    def most_sparing(self, most: int) -> Solution | None:
        """Return the only solution."""
        return self._solution

    def only_shared(self, solution: Solution) -> bool:
        """Say that the provider is the tree's own."""
        return False


@dataclasses.dataclass(frozen=True, eq=False)
class ProblemFamily:
    """Anchors whose trees have one and the same problem.

    :param roots: their slots in the whole cloud
    :param members: anchors × providers: the slots of each tree in the whole cloud
    """

    solutions: TreeSolutions | SingleProviderSolution
    roots: WholeSlots
    members: WholeSlots

    def __len__(self) -> int:
        return len(self.roots)

    def chosen(self, which: slice | list[int]) -> "ProblemFamily":
        """Return some of the trees."""
        roots, members = self.roots[which], self.members[which]
        return ProblemFamily(self.solutions, WholeSlots(roots), WholeSlots(members))

    def slots(self, number: int) -> list[WholeSlot]:
        """Return the provider behind each local in the tree of that number."""
        members, solutions = self.members[number].tolist(), self.solutions
        return [*(members[place] for place in solutions.places), *solutions.lent]


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class CandidateBatch:
    """Candidates that differ in their tree alone: one solution of trees with the same problem.

    :param solution: the number of the local that serves each variable
    """

    family: ProblemFamily
    solution: Solution

    def __len__(self) -> int:
        return len(self.family)

    def chosen(self, which: slice | list[int]) -> "CandidateBatch":
        """Return some of the candidates."""
        return CandidateBatch(self.family.chosen(which), self.solution)
