"""The solutions of problems, and the candidates that they are in all trees with these problems.

A cloud has many equal hosts. Their trees are one `ProblemFamily`, whose problem is solved once. A
solution of the problem is a candidate in each of these trees: together they are a `CandidateBatch`.
A `CandidateStream` has the candidates of all trees in their order.
"""

import dataclasses
import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator

from placement.candidates.budget import (
    Allowance,
    Budget,
    OutOfMemory,
    SearchEnded,
    TooManyToCount,
)
from placement.candidates.slots import WholeSlot, WholeSlots
from placement.candidates.tree_problem import RequestShape, Solution, TreeProblem
from placement.candidates.trees.backtracking import solutions_of, subproblems_of
from placement.candidates.trees.counting import CountedSolutions
from placement.candidates.trees.rejection_sampling import BlindDraws

#: bytes that a solution takes while the search lasts: so many, and so many for each variable
_SOLUTION, _CHOICE = 120, 8
#: bytes of a candidate's text: of each, of each group, of each class; UUIDs included
_TEXT, _GROUP_TEXT, _CLASS_TEXT = 40, 105, 25
#: bytes that a batch takes
_BATCH = 200
#: how many states of the search a count may visit, to find out whether an answer is too large
_COUNTED = 2_000


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
            shape, locals_ = self.problem.shape, self.problem.locals
            try:
                self._counted = CountedSolutions(shape, locals_, self._budget, allowance)
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
        return BlindDraws(self.problem.shape, self.problem.locals, self._budget)

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
    """`TreeSolutions` without a search: the tree is one provider, which serves all variables."""

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

    def count(self, allowance: Allowance | None = None) -> int:
        """Return one."""
        return 1

    def ranked(self, _: object) -> Solution:
        """Return the only solution."""
        return self._solution

    combinations, any_one, most_sparing = count, ranked, ranked

    def draws(self) -> BlindDraws:
        """Return nothing to draw from: one solution can always be counted."""
        return BlindDraws(self._shape, (), self._budget)

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


class CandidateStream:
    """The candidates of some trees, each candidate once.

    A candidate that takes nothing but sharing providers may be found in several trees. The first of
    these trees keeps it.

    :param families: returns the trees, those with the same problem together
    :param repeats: whether several trees may have the same candidate
    """

    def __init__(
        self,
        shape: RequestShape,
        families: Callable[[], Iterator[ProblemFamily]],
        repeats: bool,
        budget: Budget,
    ) -> None:
        self.shape, self.families, self.repeats = shape, families, repeats
        self._budget = budget
        #: the providers of candidates that several trees may have
        self._seen: set[tuple[int, ...]] = set()

    def interleaved(self) -> Iterator[CandidateBatch]:
        """Yield one candidate of each tree, then a second of each, and so on."""
        families: Iterable[ProblemFamily] = self.families()
        for number in itertools.count():
            more = []
            for family in families:
                solution = family.solutions.at(number)
                if solution is not None:
                    more.append(family)
                    yield from self._new(CandidateBatch(family, solution))
            if not more:
                return
            families = more

    def one_by_one(self) -> Iterator[CandidateBatch]:
        """Yield all candidates of a tree, then those of the next."""
        for family in self.families():
            trees = [family]
            if family.solutions.at(1) is not None:
                trees = [family.chosen([number]) for number in range(len(family))]
            for tree in trees:
                number = 0
                while (solution := tree.solutions.at(number)) is not None:
                    yield from self._new(CandidateBatch(tree, solution))
                    number += 1

    def _new(self, batch: CandidateBatch) -> Iterator[CandidateBatch]:
        """Yield the candidates of the batch that no tree before had."""
        family, solution = batch.family, batch.solution
        if not family.solutions.only_shared(solution):
            # it has a provider of this very tree, so no other tree has the same candidate
            yield batch
            return
        new = []
        for number in range(len(family)):
            slots = family.slots(number)
            used = tuple(slots[local] for local in solution)
            self._budget.spend()
            if used not in self._seen:
                self._budget.keep(_BATCH, family.solutions)
                self._seen.add(used)
                new.append(number)
        if new:
            yield batch.chosen(new)


def text_size(shape: RequestShape) -> int:
    """Return about how many bytes a candidate takes in the answer."""
    classes = sum(len(variable.demand) for variable in shape.variables)
    return _TEXT + _GROUP_TEXT * len(shape.variables) + _CLASS_TEXT * classes


def check_size(stream: CandidateStream, budget: Budget, size: int) -> None:
    """Raise OutOfMemory if a count shows that there are more candidates than can be kept.

    Without a limit the answer has all candidates. So a search that can't keep them should end
    before it finds them one by one.

    :param size: bytes that each of them takes
    """
    total, allowance = 0, Allowance(_COUNTED)
    for family in stream.families():
        solutions = family.solutions
        # with sharing providers, several trees may have the same candidates. A tree has none twice,
        # so there are at least the candidates of one tree
        trees = 1 if stream.repeats else len(family)
        if budget.has_room_for(solutions.combinations() * trees * size):
            continue
        try:
            count = solutions.count(allowance) * trees
        except TooManyToCount:
            return
        total = max(total, count) if stream.repeats else total + count
        if not budget.has_room_for(total * size):
            raise OutOfMemory(solutions, total)


def first(batches: Iterable[CandidateBatch], most: int | None) -> Iterator[CandidateBatch]:
    """Yield the first so many candidates; None: all."""
    for batch in batches:
        if most is not None and len(batch) >= most:
            yield batch.chosen(slice(most))
            return
        yield batch
        if most is not None:
            most -= len(batch)


class FirstCandidates:
    """The first candidates of a stream.

    :param most: how many are wanted; None: all
    :param size: bytes that each of them takes
    """

    def __init__(
        self, batches: Iterable[CandidateBatch], most: int | None, budget: Budget, size: int
    ) -> None:
        self._stream, self._most, self._budget, self._size = batches, most, budget, size
        self._batches: list[CandidateBatch] = []

    def __len__(self) -> int:
        return sum(len(batch) for batch in self._batches)

    def run(self) -> None:
        """Take them. What is taken stays, even if the budget ends the search."""
        for batch in first(self._stream, self._most):
            self._budget.keep(_BATCH + self._size * len(batch), batch.family.solutions)
            self._batches.append(batch)

    def batches(self) -> list[CandidateBatch]:
        """Return what was taken."""
        return self._batches
