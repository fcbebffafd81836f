"""One candidate, chosen by a strategy, for a claim (extensions.md 4)."""

import dataclasses
import enum
import random
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from placement.candidates.budget import Budget, SearchEnded
from placement.candidates.cloud.columns import Mask, Numbers, Slots
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.ended_search import refusal
from placement.candidates.request import CandidateRequest
from placement.candidates.search import prepare, search
from placement.candidates.tree_problem import RequestShape, Solution
from placement.candidates.trees.candidate_batch import CandidateBatch
from placement.candidates.trees.tree_problems import AnchorTrees, ProblemFamily
from placement.errors import BadRequest
from placement.extensions.claims import tree_order

#: in how many trees a candidate is looked for together: few at first, as most trees have one
_FIRST_CHUNK, _LAST_CHUNK = 16, 4096
#: of how many candidates of a tree the most sparing one is taken
_COMPARED = 64


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
    :param slots: these providers
    :param anchor: the root of the tree it was found for, of which it may take nothing
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

        Raise BadRequest for names that don't exist; SearchUnfinished or SearchAbandoned when the
        budget is used up before a candidate was found.
        """
        class_id = None if self.by is None else self._class_id(snapshot, self.by)
        if self.strategy is Strategy.FIRST and self.within is Within.FIRST:
            return _first(snapshot, self.request, budget)
        try:
            prepared = prepare(snapshot, self.request, budget)
            if prepared is None:
                return None
            trees, simple, others = prepared
            roots = np.concatenate([simple, others])
            parts = (roots[places] for places in self._order(snapshot, roots, class_id))
            is_simple = np.zeros(snapshot.size, np.bool_)
            is_simple[simple] = True
            batches = _in_order(trees, parts, is_simple, budget)
            return next((self._choice(snapshot, trees.shape, batch) for batch in batches), None)
        except SearchEnded as ended:
            raise refusal(ended, snapshot, budget) from ended

    def _class_id(self, snapshot: Snapshot, name: str) -> int:
        class_id = snapshot.names.class_ids.get(name)
        if class_id is None:
            raise BadRequest(f"Invalid resource class in by: No such resource class {name}.")
        return class_id

    def _order(
        self, snapshot: Snapshot, roots: Slots, class_id: int | None
    ) -> Iterator[tree_order.Places]:
        """Yield places in `roots`, in parts, in the order in which the trees are tried."""
        if self.strategy is Strategy.FIRST or not len(roots):
            return iter([np.arange(len(roots))])
        chance = None
        if self.strategy is not Strategy.PACK:
            chance = np.random.default_rng(self.source.getrandbits(64))
        if self.strategy is Strategy.RANDOM and chance is not None:
            return tree_order.by_chance(len(roots), chance)
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
        return tree_order.by_key(np.where(missing, np.inf, share), chance)

    def _choice(self, snapshot: Snapshot, shape: RequestShape, batch: CandidateBatch) -> Choice:
        solutions, solution = batch.family.solutions, None
        if self.within is Within.SPARING:
            solution = solutions.most_sparing(_COMPARED)
        elif self.within is Within.CHANCE or self.strategy is Strategy.RANDOM:
            solution = solutions.any_one(self.source)
        batch = batch if solution is None else CandidateBatch(batch.family, solution)
        return _choice_of(snapshot, shape, batch)


def of_scarcest(
    snapshot: Snapshot, request: CandidateRequest, roots: Slots
) -> tuple[Numbers, Numbers]:
    """Return what `free_and_capacity` returns for the class that will run out first.

    That is if the request is made again and again: what is free of the class in all these trees
    together is the least multiple of the amount that the request takes. Classes that only sharing
    providers of other trees have don't count, unless all classes are such. Among equals, the first
    in the query.

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
    """Return what the tree of each root has of a class: free and in all, by the root's slot."""
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


def _in_order(
    trees: AnchorTrees, parts: Iterable[Slots], is_simple: Mask, budget: Budget
) -> Iterator[CandidateBatch]:
    """Yield one candidate of each tree that has any, in the order of the roots.

    :param parts: the roots
    :param is_simple: by slot, whether a root is a candidate by itself
    """
    length = _FIRST_CHUNK
    for part in parts:
        start = 0
        while start < len(part):
            yield from _chunk_in_order(trees, part[start : start + length], is_simple)
            budget.look()
            start += length
            length = min(length * 4, _LAST_CHUNK)


def _chunk_in_order(trees: AnchorTrees, chunk: Slots, is_simple: Mask) -> Iterator[CandidateBatch]:
    alone = is_simple[chunk]
    place = {root: number for number, root in enumerate(chunk.tolist())}
    found: list[tuple[int, int, ProblemFamily, Solution]] = []
    for family in trees.families(chunk[alone], chunk[~alone]):
        solution = family.solutions.at(0)
        if solution is not None:
            found += [
                (place[root], number, family, solution)
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
