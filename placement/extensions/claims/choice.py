"""Chooses one candidate for a claim, by its strategy (extensions.md 4).

A search finds the roots of all trees that may have candidates, as arrays. `Chooser` puts the trees
into the order of the strategy, looks for candidates in some of them at a time, and takes the first
one. Most trees have a candidate, so the first few trees are found without sorting all.
"""

import dataclasses
import enum
import random
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from placement.candidates.budget import Budget, SearchEnded
from placement.candidates.cloud.columns import Mask, Numbers, Slots
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.ended_search import error_of
from placement.candidates.request import CandidateRequest
from placement.candidates.search import Search, search
from placement.candidates.tree_problem import RequestShape, Solution
from placement.candidates.trees.tree_problems import AnchorTrees
from placement.candidates.trees.tree_solutions import CandidateBatch, ProblemFamily
from placement.errors import BadRequest

#: positions in the array of the roots
Positions = npt.NDArray[np.intp]

#: in how many trees a candidate is looked for together: few at first, as most trees have one
_FIRST_CHUNK, _LAST_CHUNK = 16, 4096
#: of how many candidates of a tree the most sparing one is taken
_COMPARED = 64
#: how many trees are drawn by lot before all others are shuffled. That is done if there are at
#: least so many times as many trees: else shuffling all of them is as cheap
_DRAWN, _WORTH_DRAWING = 64, 4


class Strategy(enum.Enum):
    """Which of the candidates is chosen.

    FIRST: the first in the order of the search. RANDOM: any tree that has candidates is as likely
    as any other. SPREAD and PACK: a tree with the largest, or smallest, free share of a class.
    """

    FIRST = "first"
    RANDOM = "random"
    SPREAD = "spread"
    PACK = "pack"


class Within(enum.Enum):
    """Which of the candidates of the chosen tree is taken.

    SPARING: one whose providers can serve few of the request's groups, so that it leaves those that
    can serve many.
    """

    FIRST = enum.auto()
    SPARING = enum.auto()
    CHANCE = enum.auto()


@dataclasses.dataclass(frozen=True)
class Choice:
    """One candidate.

    :param allocations: amounts by class, by provider uuid
    :param mappings: the uuids of the providers that serve each group, by its suffix
    :param slots: the slots of these providers
    :param anchor: the slot of the root of the tree that was searched. If sharing providers serve
        all groups, the candidate takes nothing of this tree
    """

    allocations: Mapping[str, Mapping[str, int]]
    mappings: Mapping[str, list[str]]
    slots: tuple[int, ...]
    anchor: int


@dataclasses.dataclass(frozen=True)
class Chooser:
    """Chooses candidates of one request.

    :param by: name of the class whose free share SPREAD and PACK compare; None: the scarcest class
        of the request (see `of_scarcest`)
    :param source: decides by chance where the strategy doesn't: among trees for RANDOM, and among
        trees with equal shares for SPREAD
    :param within: for RANDOM, FIRST means CHANCE
    """

    request: CandidateRequest
    strategy: Strategy
    by: str | None
    source: random.Random
    within: Within = Within.FIRST

    @classmethod
    def first(cls, request: CandidateRequest) -> "Chooser":
        """Return a chooser of the first candidate."""
        return cls(request, Strategy.FIRST, None, random.Random())

    def choose(self, snapshot: Snapshot, budget: Budget) -> Choice | None:
        """Return a candidate, or None if there is none.

        Raises BadRequest if a name doesn't exist, SearchUnfinished or SearchAbandoned if the budget
        is used up before a candidate was found.
        """
        class_id = None if self.by is None else self._class_id(snapshot, self.by)
        if self.strategy is Strategy.FIRST and self.within is Within.FIRST:
            return _first(snapshot, self.request, budget)
        try:
            prepared = Search(snapshot, self.request, budget).anchors()
            if prepared is None:
                return None
            trees, simple, others = prepared
            roots = np.concatenate([simple, others])
            ordered = (roots[some] for some in self._order(snapshot, roots, class_id))
            is_simple = np.zeros(snapshot.size, np.bool_)
            is_simple[simple] = True
            batches = _first_candidates(trees, ordered, is_simple, budget)
            return next((self._choice(snapshot, trees.shape, batch) for batch in batches), None)
        except SearchEnded as ended:
            raise error_of(ended, snapshot, budget) from ended

    def _class_id(self, snapshot: Snapshot, name: str) -> int:
        class_id = snapshot.names.class_ids.get(name)
        if class_id is None:
            raise BadRequest(f"Invalid resource class in by: No such resource class {name}.")
        return class_id

    def _order(self, snapshot: Snapshot, roots: Slots, class_id: int | None) -> Iterator[Positions]:
        """Yield positions in `roots`, some at a time, in the order in which the trees are tried."""
        if self.strategy is Strategy.FIRST or not len(roots):
            return iter([np.arange(len(roots))])
        chance = None
        if self.strategy is not Strategy.PACK:
            chance = np.random.default_rng(self.source.getrandbits(64))
        if self.strategy is Strategy.RANDOM and chance is not None:
            return in_random_order(len(roots), chance)
        if class_id is None:
            free, capacity = of_scarcest(snapshot, self.request, roots)
        else:
            free, capacity = free_and_capacity(snapshot, class_id)
        free, capacity = free[roots], capacity[roots]
        missing = capacity <= 0
        share = free / np.where(missing, 1, capacity)
        if self.strategy is Strategy.SPREAD:
            share = -share
        # trees that have nothing of the class come last, whatever the strategy
        return in_order_of(np.where(missing, np.inf, share), chance)

    def _choice(self, snapshot: Snapshot, shape: RequestShape, batch: CandidateBatch) -> Choice:
        """Return the candidate of a tree that `within` asks for; the batch has its first one."""
        solutions, solution = batch.family.solutions, None
        if self.within is Within.SPARING:
            solution = solutions.most_sparing(_COMPARED)
        elif self.within is Within.CHANCE or self.strategy is Strategy.RANDOM:
            solution = solutions.any_one(self.source)
        batch = batch if solution is None else CandidateBatch(batch.family, solution)
        return _choice_of(snapshot, shape, batch)


def in_order_of(
    keys: npt.NDArray[np.float64], chance: np.random.Generator | None
) -> Iterator[Positions]:
    """Yield the positions of all keys, from the smallest key to the largest, some at a time.

    The keys 3, 1, 2, 1 give [1, 3] and then [2, 0]: those of the smallest key come without sorting.

    :param chance: orders equal keys; None: they stay in their order
    """
    if not len(keys):
        return
    least = keys == keys.min()
    yield _shuffled(np.flatnonzero(least), chance)
    rest = _shuffled(np.flatnonzero(~least), chance)
    yield rest[np.argsort(keys[rest], kind="stable")]


def in_random_order(count: int, chance: np.random.Generator) -> Iterator[Positions]:
    """Yield the positions below `count` in an order by chance, some at a time."""
    rest: Positions = np.arange(count)
    if count > _WORTH_DRAWING * _DRAWN:
        drawn = chance.choice(count, _DRAWN, replace=False)
        yield drawn
        rest = np.delete(rest, drawn)
    yield chance.permutation(rest)


def _shuffled(positions: Positions, chance: np.random.Generator | None) -> Positions:
    return positions if chance is None else chance.permutation(positions)


def of_scarcest(
    snapshot: Snapshot, request: CandidateRequest, roots: Slots
) -> tuple[Numbers, Numbers]:
    """Return what `free_and_capacity` returns for the scarcest class of the request.

    That is the class that runs out first if the same request is claimed again and again. With 100
    VCPU free in all trees together, and 300 MEMORY_MB, a request for 2 VCPU and 10 MEMORY_MB runs
    out of MEMORY_MB: 30 times that is less than 50 times. A class doesn't count if only sharing
    providers of other trees have it, unless all classes are such. Of equally scarce classes it is
    the first in the query.

    :param roots: the roots of the trees; at least one
    """
    best: tuple[float, tuple[Numbers, Numbers]] | None = None
    ids = snapshot.names.class_ids
    for name, amount in request.demand.items():
        found = free_and_capacity(snapshot, ids[name])
        free, capacity = found[0][roots], found[1][roots]
        if not capacity.any():
            continue
        multiple = float(free.sum()) / amount
        if best is None or multiple < best[0]:
            best = multiple, found
    if best is None:
        return free_and_capacity(snapshot, ids[next(iter(request.demand))])
    return best[1]


def free_and_capacity(snapshot: Snapshot, class_id: int) -> tuple[Numbers, Numbers]:
    """Return how much of a class is free in each tree, and its capacity, by the root's slot."""
    column = snapshot.column(class_id)
    capacity, size = column.capacities, snapshot.size
    free = np.maximum(capacity - column.used, 0)
    if not snapshot.forest.nested:
        return column.by_slot(free, size), column.by_slot(capacity, size)
    roots = snapshot.forest.root[column.slots]
    return (
        np.bincount(roots, free, minlength=size),
        np.bincount(roots, capacity, minlength=size),
    )


def _first(snapshot: Snapshot, request: CandidateRequest, budget: Budget) -> Choice | None:
    found = search(snapshot, dataclasses.replace(request, limit=1), budget)
    if found.shape is None or not len(found):
        return None
    return _choice_of(snapshot, found.shape, found.batches[0])


def _first_candidates(
    trees: AnchorTrees, ordered: Iterable[Slots], is_simple: Mask, budget: Budget
) -> Iterator[CandidateBatch]:
    """Yield the first candidate of each tree that has any, in the order of the roots.

    :param ordered: the roots, some at a time
    :param is_simple: by slot, whether a root is a candidate by itself
    """
    length = _FIRST_CHUNK
    for roots in ordered:
        start = 0
        while start < len(roots):
            yield from _of_chunk(trees, roots[start : start + length], is_simple)
            budget.look()
            start += length
            length = min(length * 4, _LAST_CHUNK)


def _of_chunk(trees: AnchorTrees, roots: Slots, is_simple: Mask) -> Iterator[CandidateBatch]:
    """Yield the first candidate of each tree that has any.

    Trees of one family are solved together, which mixes their order. It is restored at the end.
    """
    simple = is_simple[roots]
    rank = {root: number for number, root in enumerate(roots.tolist())}
    found: list[tuple[int, int, ProblemFamily, Solution]] = []
    for family in trees.families(roots[simple], roots[~simple]):
        solution = family.solutions.at(0)
        if solution is not None:
            found += [
                (rank[root], number, family, solution)
                for number, root in enumerate(family.roots.tolist())
            ]
    for _, number, family, solution in sorted(found, key=lambda one: one[0]):
        yield CandidateBatch(family.chosen([number]), solution)


def _choice_of(snapshot: Snapshot, shape: RequestShape, batch: CandidateBatch) -> Choice:
    """Return the first candidate of a batch, as the newest microversion shows it."""
    locals_ = batch.family.slots(0)
    slots = [locals_[local] for local in batch.solution]
    allocations: dict[str, dict[str, int]] = {}
    mappings: dict[str, dict[str, None]] = {}
    classes, uuids = snapshot.names.classes, snapshot.register.uuids
    for variable, slot in zip(shape.variables, slots, strict=True):
        mappings.setdefault(variable.suffix, {})[uuids[slot]] = None
        for class_id, amount in variable.demand:
            given = allocations.setdefault(uuids[slot], {})
            given[classes[class_id]] = given.get(classes[class_id], 0) + amount
    return Choice(
        allocations,
        {suffix: list(chosen) for suffix, chosen in sorted(mappings.items(), key=_is_suffixed)},
        tuple(dict.fromkeys(slots)),
        int(batch.family.roots[0]),
    )


def _is_suffixed(mapping: tuple[str, object]) -> bool:
    """Sort the group without a suffix before the others, which keep their order."""
    return bool(mapping[0])
