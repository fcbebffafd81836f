"""The chain: groups to masks, masks to roots, roots to combinations, the limit.

See architecture.rst D5.
"""

import contextlib
import dataclasses
import itertools
import logging
import random
from collections.abc import Iterable, Iterator, Sequence

from placement.candidates.budget import Budget, OutOfMemory, OutOfTime, SearchEnded
from placement.candidates.cloud.columns import Slots
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.cloud.tree_subset import TreeSubset
from placement.candidates.ended_search import refusal, what_ended
from placement.candidates.masks.filter import FilteredGroup, GroupFilter, root_filter
from placement.candidates.masks.step_listener import Account
from placement.candidates.request import CandidateRequest, Generation, Group
from placement.candidates.sampling import Draw, Reservoir
from placement.candidates.subset_choice import parts
from placement.candidates.tree_problem import RequestShape
from placement.candidates.trees.candidate_batch import CandidateBatch
from placement.candidates.trees.counting import Allowance, TooManyToCount
from placement.candidates.trees.tree_problems import AnchorTrees, PartTooSmall, ProblemFamily
from placement.errors import BadRequest

LOG = logging.getLogger(__name__)
#: bytes of a candidate's text: of each, of each group, of each class; UUIDs included
_TEXT, _GROUP_TEXT, _CLASS_TEXT = 40, 105, 25
#: bytes that a batch takes
_BATCH = 200
#: how many states are looked at to find out whether an answer would be too large
_COUNTED = 2_000


@dataclasses.dataclass(frozen=True, eq=False)
class FoundCandidates:
    """The candidates of a request.

    :param shape: None if nothing was found before trees were looked at
    :param shuffle: makes the order random; None: leaves it
    :param finished: whether these are as many as were asked for or as there are; if not, the search
        ran into a bound
    """

    snapshot: Snapshot
    request: CandidateRequest
    shape: RequestShape | None = None
    batches: Sequence[CandidateBatch] = ()
    shuffle: random.Random | None = None
    finished: bool = True

    def __len__(self) -> int:
        return sum(len(batch) for batch in self.batches)


_NO_ACCOUNT = Account()


def search(
    snapshot: Snapshot,
    request: CandidateRequest,
    budget: Budget,
    generation: Generation | None = None,
    account: Account = _NO_ACCOUNT,
) -> FoundCandidates:
    """Find the candidates in `snapshot` for `request` (allocation-candidates.md 2, 4).

    If the budget is used up, the search returns what it found by then, provided that the request
    has a limit and something was found.

    Raise BadRequest for names that don't exist, unless a search in the order of
    allocation-candidates.md 1.9 ends before it comes to them; else SearchUnfinished or
    SearchAbandoned when the budget is used up.
    """
    generation = generation or Generation()
    most = _most_listed(request, generation)
    try:
        for part in () if account.complete else parts(snapshot, request, most):
            with contextlib.suppress(PartTooSmall):
                found = _searched(part, request, generation, account, most, budget)
                if len(found):
                    return dataclasses.replace(found, snapshot=snapshot)
        return _searched(snapshot, request, generation, account, most, budget)
    except SearchEnded as ended:
        LOG.info("A search for allocation candidates was ended %s.", what_ended(ended, budget))
        raise refusal(ended, snapshot, budget) from ended


def _searched(
    snapshot: Snapshot,
    request: CandidateRequest,
    generation: Generation,
    account: Account,
    most: int | None,
    budget: Budget,
) -> FoundCandidates:
    """Find the candidates in a cloud, or in a part of it. Raise what `search` does."""
    prepared = prepare(snapshot, request, budget, account, most)
    if prepared is None:
        return FoundCandidates(snapshot, request)
    trees, simple, others = prepared
    if isinstance(snapshot, TreeSubset) and snapshot.lacks_singles and len(simple) < (most or 0):
        raise PartTooSmall
    stream = _Stream(trees, simple, others, budget)
    return _limited(snapshot, request, generation, trees.shape, stream, most, budget)


def _most_listed(request: CandidateRequest, generation: Generation) -> int | None:
    """Return how many candidates must be listed at most; None: all."""
    if generation.seed is not None:
        return generation.cap
    bounds = (generation.cap, request.limit)
    return min((bound for bound in bounds if bound is not None), default=None)


def prepare(
    snapshot: Snapshot,
    request: CandidateRequest,
    budget: Budget,
    account: Account = _NO_ACCOUNT,
    most: int | None = None,
) -> tuple[AnchorTrees, Slots, Slots] | None:
    """Do the cheap half of a search: find the roots that can serve every group by itself.

    Return the trees, the roots that are candidates by themselves, and the roots whose trees need a
    search; None if the search ends before it comes to trees. Raise BadRequest, or SearchEnded.

    :param most: how many roots that are candidates by themselves are enough; None: all
    """
    roots = root_filter(snapshot, request, account)
    narrowed = request.root_required or request.root_forbidden or request.avoid
    if narrowed and not roots.any():
        if account.complete:
            _account_for(request.groups, GroupFilter(snapshot, roots, account), budget)
        return None
    groups = _filtered(snapshot, request, GroupFilter(snapshot, roots, account), budget, account)
    if groups is None:
        return None
    for group in groups:
        roots = roots & group.roots
    trees = AnchorTrees(snapshot, request, groups, budget)
    return (trees, *trees.split(roots, most))


def _filtered(
    snapshot: Snapshot,
    request: CandidateRequest,
    group_filter: GroupFilter,
    budget: Budget,
    account: Account,
) -> list[FilteredGroup] | None:
    """Return the groups with their masks; None if one of them can't be served at all."""
    found: list[FilteredGroup] = []
    for number, group in enumerate(request.groups):
        budget.look()
        try:
            filtered = group_filter.apply(group)
        except BadRequest:
            # a group before this one may have no option though its masks left some
            if all(_has_option(snapshot, request, earlier, budget) for earlier in found):
                raise
            return None
        if filtered is None:
            if account.complete:
                _account_for(request.groups[number + 1 :], group_filter, budget)
            return None
        found.append(filtered)
    return found


def _account_for(groups: Iterable[Group], group_filter: GroupFilter, budget: Budget) -> None:
    """Account for groups that the search doesn't come to. Names that don't exist are left out."""
    for group in groups:
        budget.look()
        with contextlib.suppress(BadRequest):
            group_filter.apply(group)


def _has_option(
    snapshot: Snapshot, request: CandidateRequest, group: FilteredGroup, budget: Budget
) -> bool:
    """Say whether the group by itself can be served somewhere."""
    if group.decided:
        return True
    alone = dataclasses.replace(request, same_subtree=(), isolate=False, nested=True)
    trees = AnchorTrees(snapshot, alone, [group], budget)
    families = trees.families(*trees.split(group.roots))
    return any(family.solutions.at(0) is not None for family in families)


class _Stream:
    """The candidates of a request's trees, without repetitions."""

    def __init__(self, trees: AnchorTrees, simple: Slots, others: Slots, budget: Budget) -> None:
        self._trees = trees
        self._budget = budget
        self._simple, self._others = simple, others
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
        return bool(self._trees.lenders)

    def families(self) -> Iterator[ProblemFamily]:
        """Return the trees."""
        return self._trees.families(self._simple, self._others)

    def _new(self, batch: CandidateBatch) -> Iterator[CandidateBatch]:
        """Yield the candidates of the batch that no tree before had."""
        family, solution = batch.family, batch.solution
        if not family.solutions.only_shared(solution):
            # their own provider ties the candidates to their trees
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


def _limited(
    snapshot: Snapshot,
    request: CandidateRequest,
    generation: Generation,
    shape: RequestShape,
    stream: _Stream,
    most: int | None,
    budget: Budget,
) -> FoundCandidates:
    """Take as many candidates as are wanted, of those that may be generated."""
    source = None if generation.seed is None else random.Random(generation.seed)
    size = _text_size(shape)
    taking = _taking(request, generation, stream, most, source, budget, size)
    finished = True
    try:
        if most is None and request.limit is None:
            _check_size(stream, budget, size)
        taking.run()
    except (OutOfTime, OutOfMemory) as ended:
        if request.limit is None or not len(taking):
            raise
        finished = False
        LOG.warning(
            "A search for allocation candidates was ended %s; it answers %d that it had found, "
            "and %d were asked for.",
            what_ended(ended, budget),
            len(taking),
            request.limit,
        )
    return FoundCandidates(snapshot, request, shape, taking.batches(), source, finished)


def _taking(
    request: CandidateRequest,
    generation: Generation,
    stream: _Stream,
    most: int | None,
    source: random.Random | None,
    budget: Budget,
    size: int,
) -> "_First | Draw | Reservoir":
    """Return how to take candidates from the stream."""
    cap, limit = generation.cap, request.limit
    if source is not None and limit is not None and cap is None and not stream.repeats:
        return Draw(stream.families(), limit, source, budget, size)
    depth_first = cap is not None and generation.depth_first
    batches = stream.one_by_one() if depth_first else stream.interleaved()
    if source is not None and limit is not None:
        return Reservoir(_first(batches, most), limit, source, budget, size)
    return _First(batches, most, budget, size)


def _text_size(shape: RequestShape) -> int:
    """Return about how many bytes a candidate takes in the answer."""
    classes = sum(len(variable.demand) for variable in shape.variables)
    return _TEXT + _GROUP_TEXT * len(shape.variables) + _CLASS_TEXT * classes


def _check_size(stream: _Stream, budget: Budget, size: int) -> None:
    """Raise OutOfMemory if a count shows that there are more candidates than can be kept."""
    total, allowance = 0, Allowance(_COUNTED)
    for family in stream.families():
        solutions = family.solutions
        # what one tree has, another may have as well; but no tree has a candidate twice
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


def _first(batches: Iterable[CandidateBatch], most: int | None) -> Iterator[CandidateBatch]:
    """Yield the first so many candidates; None: all."""
    for batch in batches:
        if most is not None and len(batch) >= most:
            yield batch.chosen(slice(most))
            return
        yield batch
        if most is not None:
            most -= len(batch)


class _First:
    """The first candidates that come.

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
        for batch in _first(self._stream, self._most):
            self._budget.keep(_BATCH + self._size * len(batch), batch.family.solutions)
            self._batches.append(batch)

    def batches(self) -> list[CandidateBatch]:
        """Return what was taken."""
        return self._batches
