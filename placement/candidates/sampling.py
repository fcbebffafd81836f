"""Random choices among the candidates of a request (allocation-candidates.md 4)."""

import bisect
import itertools
import random
import sys
from collections.abc import Iterable, Iterator

from placement.candidates.budget import Allowance, Budget, TooManyToCount
from placement.candidates.tree_problem import Solution
from placement.candidates.trees.rejection_sampling import BlindDraws
from placement.candidates.trees.tree_solutions import CandidateBatch, ProblemFamily

#: after how many states counting ends, and candidates are drawn blindly; per family, and at least
_STATES_EACH, _STATES = 100, 3_000
#: how many draws may miss before searches in a random order begin: so many, and so many more for
#: each candidate that was drawn
_MISSES, _MISSES_EACH = 2_000, 20
#: so many numbers are drawn at once
_MOST_AT_ONCE = 20_000
#: how many searches in a random order are tried before all are listed, per candidate
_DESCENTS_EACH = 3


class Reservoir:
    """A uniform sample of candidates that come one after the other.

    :param limit: how many are kept
    :param size: bytes that each of them takes
    """

    def __init__(
        self,
        batches: Iterable[CandidateBatch],
        limit: int,
        source: random.Random,
        budget: Budget,
        size: int,
    ) -> None:
        self._stream = batches
        self._limit, self._source = limit, source
        self._budget, self._size = budget, size
        self._seen = 0
        self._kept: list[tuple[CandidateBatch, int]] = []

    def __len__(self) -> int:
        return len(self._kept)

    def run(self) -> None:
        """Take the sample. What is kept stays, even if the budget ends the search."""
        for batch in self._stream:
            for number in range(len(batch)):
                self._seen += 1
                if len(self._kept) < self._limit:
                    self._budget.keep(self._size)
                    self._kept.append((batch, number))
                    continue
                at = self._source.randrange(self._seen)
                if at < self._limit:
                    self._kept[at] = (batch, number)

    def batches(self) -> list[CandidateBatch]:
        """Return what is kept."""
        numbers: dict[int, tuple[CandidateBatch, list[int]]] = {}
        for batch, number in self._kept:
            numbers.setdefault(id(batch), (batch, []))[1].append(number)
        return [batch.chosen(sorted(chosen)) for batch, chosen in numbers.values()]


class Draw:
    """Draws candidates of trees that have none in common.

    Candidates are counted and then drawn by number, each equally often. Where a tree has too many
    to count, options are drawn blindly and invalid choices are dropped: valid ones still come
    equally often. Where nearly no choice is valid, searches in a random order find candidates, some
    of them more often than others.

    :param limit: how many are wanted; there will be as many if there are
    :param size: bytes that each of them takes
    """

    def __init__(
        self,
        families: Iterable[ProblemFamily],
        limit: int,
        source: random.Random,
        budget: Budget,
        size: int,
    ) -> None:
        self._stream, self._limit, self._source = families, limit, source
        self._families: list[ProblemFamily] = []
        self._budget, self._size = budget, size
        #: (family, tree, solution) of candidates drawn blindly or listed: they may come again
        self._drawn: set[tuple[int, int, Solution]] = set()
        #: the trees drawn with each (family, solution)
        self._trees: dict[tuple[int, Solution], list[int]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def run(self) -> None:
        """Draw. What is drawn stays, even if the budget ends the search."""
        self._families = list(self._stream)
        weights = self._weights()
        ends = self._ends(weights)
        counts = [weight for weight in weights if not isinstance(weight, BlindDraws)]
        if ends[-1] > self._limit:
            if len(counts) == len(weights):
                self._pick(counts, ends)
                return
            self._draw(weights, ends)
            self._descend(weights)
        if len(self) < self._limit:
            self._list()

    def batches(self) -> list[CandidateBatch]:
        """Return what is drawn, as new batches."""
        batches = []
        for (which, solution), trees in self._trees.items():
            family = self._families[which]
            batches.append(CandidateBatch(family.chosen(trees), solution))
        return batches

    def _weights(self) -> "list[int | BlindDraws]":
        """Return the count of each family's solutions, or a way to draw uncounted ones."""
        allowance = Allowance(max(_STATES, _STATES_EACH * len(self._families)))
        weights: list[int | BlindDraws] = []
        for family in self._families:
            try:
                weights.append(family.solutions.count(allowance))
            except TooManyToCount:
                weights.append(family.solutions.draws())
        return weights

    def _ends(self, weights: "list[int | BlindDraws]") -> list[int]:
        """Return where the numbers of each family's candidates begin and end; 0 comes first.

        Two families of 3 trees with 2 solutions and of 5 trees with 1: 0, 6, 11.
        """
        numbers = [w.count if isinstance(w, BlindDraws) else w for w in weights]
        totals = (n * len(family) for n, family in zip(numbers, self._families, strict=True))
        return list(itertools.accumulate(totals, initial=0))

    def _pick(self, counts: list[int], ends: list[int]) -> None:
        """Pick as many as are wanted, by number, where all are counted."""
        trees_of: dict[tuple[int, int], list[int]] = {}
        for number in _distinct(self._source, ends[-1], self._limit, self._budget):
            which = bisect.bisect_right(ends, number) - 1
            tree, rank = divmod(number - ends[which], counts[which])
            self._budget.keep(self._size)
            trees = trees_of.get((which, rank))
            if trees is None:
                solution = self._families[which].solutions.ranked(rank)
                trees = trees_of[which, rank] = self._trees[which, solution] = []
            trees.append(tree)
            self._count += 1

    def _draw(self, weights: "list[int | BlindDraws]", ends: list[int]) -> None:
        """Draw by number until too many draws miss: are invalid, or were drawn before."""
        misses = 0
        while len(self) < self._limit and misses < _MISSES + _MISSES_EACH * len(self):
            number = self._source.randrange(ends[-1])
            which = bisect.bisect_right(ends, number) - 1
            family, weight = self._families[which], weights[which]
            count = weight.count if isinstance(weight, BlindDraws) else weight
            tree, rank = divmod(number - ends[which], count)
            if isinstance(weight, BlindDraws):
                solution = weight.draw(self._source)
            else:
                solution = family.solutions.ranked(rank)
            if solution is None or not self._add(which, tree, solution):
                misses += 1

    def _descend(self, weights: "list[int | BlindDraws]") -> None:
        """Search with options in a random order."""
        alive = [which for which, weight in enumerate(weights) if weight != 0]
        for _ in range(_DESCENTS_EACH * self._limit):
            if len(self) >= self._limit or not alive:
                return
            which = self._source.choice(alive)
            family = self._families[which]
            solution = family.solutions.any_one(self._source)
            if solution is None:
                alive.remove(which)
            else:
                self._add(which, self._source.randrange(len(family)), solution)

    def _list(self) -> None:
        """List solutions one after the other, one of each family in turn."""
        more = list(range(len(self._families)))
        for number in itertools.count():
            found = [(which, self._families[which].solutions.at(number)) for which in more]
            more = [which for which, solution in found if solution is not None]
            if not more:
                return
            for which, solution in found:
                if solution is None:
                    continue
                for tree in range(len(self._families[which])):
                    if len(self) >= self._limit:
                        return
                    self._add(which, tree, solution)

    def _add(self, which: int, tree: int, solution: Solution) -> bool:
        key = (which, tree, solution)
        if key in self._drawn:
            return False
        self._budget.keep(self._size)
        self._drawn.add(key)
        self._trees.setdefault((which, solution), []).append(tree)
        self._count += 1
        return True


def _distinct(source: random.Random, count: int, wanted: int, budget: Budget) -> Iterator[int]:
    """Yield so many different numbers below `count`; there are more of them."""
    if wanted <= _MOST_AT_ONCE and count <= sys.maxsize:
        yield from source.sample(range(count), wanted)
        return
    drawn: set[int] = set()
    while len(drawn) < wanted:
        budget.spend()
        number = source.randrange(count)
        if number not in drawn:
            drawn.add(number)
            yield number
