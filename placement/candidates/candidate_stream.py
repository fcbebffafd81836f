"""The candidates of a request's trees in their order, and the first of them."""

import itertools
from collections.abc import Iterable, Iterator

from placement.candidates.budget import Allowance, Budget, OutOfMemory, TooManyToCount
from placement.candidates.tree_problem import RequestShape
from placement.candidates.trees.tree_problems import Anchors
from placement.candidates.trees.tree_solutions import CandidateBatch, ProblemFamily

#: bytes of a candidate's text: of each, of each group, of each class; UUIDs included
_TEXT, _GROUP_TEXT, _CLASS_TEXT = 40, 105, 25
#: bytes that a batch takes
_BATCH = 200
#: how many states of the search a count may visit, to find out whether an answer is too large
_COUNTED = 2_000


class CandidateStream:
    """The candidates of some trees, each candidate once.

    A candidate that takes nothing but sharing providers may be found in several trees. The first of
    these trees keeps it.
    """

    def __init__(self, anchors: Anchors, budget: Budget) -> None:
        self._anchors, self._budget = anchors, budget
        self.shape = anchors.trees.shape
        #: the providers of candidates that several trees may have
        self._seen: set[tuple[int, ...]] = set()

    def interleaved(self) -> Iterator[CandidateBatch]:
        """Yield one candidate of each tree, then a second of each, and so on."""
        more: list[ProblemFamily] = []
        for family in self.families():
            solution = family.solutions.at(0)
            if solution is not None:
                more.append(family)
                yield from self._new(CandidateBatch(family, solution))
        for number in itertools.count(1):
            found = [(family, family.solutions.at(number)) for family in more]
            more = [family for family, solution in found if solution is not None]
            if not more:
                return
            for family, solution in found:
                if solution is not None:
                    yield from self._new(CandidateBatch(family, solution))

    def one_by_one(self) -> Iterator[CandidateBatch]:
        """Yield all candidates of a tree, then those of the next."""
        for family in self.families():
            alike = range(len(family))
            if family.solutions.at(1) is None:
                trees = [family] if family.solutions.at(0) is not None else []
            else:
                trees = [family.chosen([number]) for number in alike]
            for tree in trees:
                for number in itertools.count():
                    solution = tree.solutions.at(number)
                    if solution is None:
                        break
                    yield from self._new(CandidateBatch(tree, solution))

    @property
    def repeats(self) -> bool:
        """Say whether several trees may have the same candidate."""
        return bool(self._anchors.trees.lenders)

    def families(self) -> Iterator[ProblemFamily]:
        """Return the trees, those with the same problem together."""
        return self._anchors.families()

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
        self._stream, self._most = batches, most
        self._budget, self._size = budget, size
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
