"""The chain: groups to masks, masks to roots, roots to combinations, the limit (DESIGN D5)."""

import bisect
import dataclasses
import itertools
import random
import sys
from collections.abc import Iterable, Iterator, Sequence

from placement.candidates.columns import Slots
from placement.candidates.combine import Solution
from placement.candidates.explain import Account
from placement.candidates.filter import FilteredGroup, GroupFilter, root_filter
from placement.candidates.problem import Shape
from placement.candidates.request import CandidateRequest, Generation
from placement.candidates.snapshot import Snapshot
from placement.candidates.trees import Family, Trees
from placement.errors import BadRequest


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """Candidates that differ in their tree alone: one solution of trees with the same problem."""

    family: Family
    number: int

    def __len__(self) -> int:
        return len(self.family)

    @property
    def solution(self) -> Solution:
        """The local that serves each variable."""
        return self.family.solved.known(self.number)

    def chosen(self, which: slice | list[int]) -> "Batch":
        """Some of them."""
        return Batch(self.family.chosen(which), self.number)


@dataclasses.dataclass(frozen=True, eq=False)
class Found:
    """The candidates of a request.

    :param shape: None if nothing was found before trees were looked at
    :param shuffle: makes the order random; None: leaves it
    """

    snapshot: Snapshot
    request: CandidateRequest
    shape: Shape | None = None
    batches: Sequence[Batch] = ()
    shuffle: random.Random | None = None

    def __len__(self) -> int:
        return sum(len(batch) for batch in self.batches)


_NO_ACCOUNT = Account()
#: counting goes one call deeper with each variable
_MOST_COUNTED = 300


def search(
    snapshot: Snapshot,
    request: CandidateRequest,
    generation: Generation | None = None,
    account: Account = _NO_ACCOUNT,
) -> Found:
    """The candidates in `snapshot` for `request` (allocation-candidates.md 2, 4).

    Raises BadRequest for names that don't exist, unless a search in the order of section 1.9 ends
    before it comes to them.
    """
    generation = generation or Generation()
    most = _most_listed(request, generation)
    prepared = prepare(snapshot, request, account, most)
    if prepared is None:
        return Found(snapshot, request)
    trees, simple, others = prepared
    stream = _Stream(trees, simple, others)
    return _limited(snapshot, request, generation, trees.shape, stream, most)


def _most_listed(request: CandidateRequest, generation: Generation) -> int | None:
    """Of how many candidates at most there must be a list; None: of all."""
    if generation.seed is not None:
        return generation.cap
    bounds = (generation.cap, request.limit)
    return min((bound for bound in bounds if bound is not None), default=None)


def prepare(
    snapshot: Snapshot, request: CandidateRequest, account: Account, most: int | None = None
) -> tuple[Trees, Slots, Slots] | None:
    """The cheap half of a search: the roots that can serve every group by itself.

    Those that are candidates by themselves, and those whose trees need a search; None if the search
    ends before it comes to trees. Raises BadRequest.

    :param most: how many of the former are enough; None: all
    """
    roots = root_filter(snapshot, request, account)
    if (request.root_required or request.root_forbidden) and not roots.any():
        return None
    groups = _filtered(snapshot, request, GroupFilter(snapshot, roots, account))
    if groups is None:
        return None
    for group in groups:
        roots = roots & group.roots
        account.step("together", group.group.suffix, roots, roots)
    trees = Trees(snapshot, request, groups)
    return (trees, *trees.split(roots, most))


def _filtered(
    snapshot: Snapshot, request: CandidateRequest, group_filter: GroupFilter
) -> list[FilteredGroup] | None:
    """The groups with their masks; None if one of them can't be served at all."""
    found: list[FilteredGroup] = []
    for group in request.groups:
        try:
            filtered = group_filter.apply(group)
        except BadRequest:
            # a group before this one may have no option though its masks left some
            if all(_has_option(snapshot, request, earlier) for earlier in found):
                raise
            return None
        if filtered is None:
            return None
        found.append(filtered)
    return found


def _has_option(snapshot: Snapshot, request: CandidateRequest, group: FilteredGroup) -> bool:
    """Whether the group by itself can be served somewhere."""
    if group.decided:
        return True
    alone = dataclasses.replace(request, same_subtree=(), isolate=False, nested=True)
    trees = Trees(snapshot, alone, [group])
    families = trees.families(*trees.split(group.roots))
    return any(family.solved.at(0) is not None for family in families)


class _Stream:
    """The candidates of a request's trees, without repetitions."""

    def __init__(self, trees: Trees, simple: Slots, others: Slots) -> None:
        self._trees = trees
        self._simple, self._others = simple, others
        self._seen: set[tuple[int, ...]] = set()

    def interleaved(self) -> Iterator[Batch]:
        """One candidate of each tree, then a second of each, and so on."""
        more: list[Family] = []
        for family in self.families():
            if family.solved.at(0) is not None:
                more.append(family)
                yield from self._new(Batch(family, 0))
        for number in itertools.count(1):
            more = [family for family in more if family.solved.at(number) is not None]
            if not more:
                return
            for family in more:
                yield from self._new(Batch(family, number))

    def one_by_one(self) -> Iterator[Batch]:
        """All candidates of a tree, then those of the next."""
        for family in self.families():
            alike = range(len(family))
            if family.solved.at(1) is None:
                trees = [family] if family.solved.at(0) is not None else []
            else:
                trees = [family.chosen([number]) for number in alike]
            for tree in trees:
                for number in itertools.count():
                    if tree.solved.at(number) is None:
                        break
                    yield from self._new(Batch(tree, number))

    @property
    def repeats(self) -> bool:
        """Whether several trees may have the same candidate."""
        return bool(self._trees.lenders)

    def families(self) -> Iterator[Family]:
        """The trees."""
        return self._trees.families(self._simple, self._others)

    def _new(self, batch: Batch) -> Iterator[Batch]:
        """What of the batch no other tree has had."""
        family, solution = batch.family, batch.solution
        if not family.solved.only_shared(solution):
            # their own provider ties the candidates to their trees
            yield batch
            return
        new = []
        for number in range(len(family)):
            slots = family.slots(number)
            used = tuple(slots[local] for local in solution)
            if used not in self._seen:
                self._seen.add(used)
                new.append(number)
        if new:
            yield batch.chosen(new)


def _limited(
    snapshot: Snapshot,
    request: CandidateRequest,
    generation: Generation,
    shape: Shape,
    stream: _Stream,
    most: int | None,
) -> Found:
    """As many candidates as are wanted, of those that may be generated."""
    cap, limit = generation.cap, request.limit
    depth_first = cap is not None and generation.depth_first
    candidates = stream.one_by_one() if depth_first else stream.interleaved()
    if generation.seed is None:
        return Found(snapshot, request, shape, _first(candidates, most))
    source = random.Random(generation.seed)
    countable = not stream.repeats and len(shape.variables) <= _MOST_COUNTED
    if limit is not None and cap is None and countable:
        drawn = _drawn(list(stream.families()), limit, source)
        return Found(snapshot, request, shape, drawn, source)
    batches = _first(candidates, most)
    if limit is not None:
        batches = _sampled(batches, limit, source)
    return Found(snapshot, request, shape, batches, source)


def _drawn(families: list[Family], limit: int, source: random.Random) -> list[Batch]:
    """A uniform sample of all candidates, which are counted but not listed."""
    counts = [family.solved.count() for family in families]
    totals = (count * len(family) for count, family in zip(counts, families, strict=True))
    ends = list(itertools.accumulate(totals, initial=0))
    drawn: dict[tuple[int, int], list[int]] = {}
    for number in sorted(_distinct(source, ends[-1], limit)):
        which = bisect.bisect_right(ends, number) - 1
        tree, rank = divmod(number - ends[which], counts[which])
        drawn.setdefault((which, families[which].solved.pick(rank)), []).append(tree)
    return [
        Batch(families[which].chosen(trees), number) for (which, number), trees in drawn.items()
    ]


def _distinct(source: random.Random, count: int, limit: int) -> Iterable[int]:
    """`limit` of the numbers below `count`, which may be larger than any range can say."""
    if limit >= count:
        return range(count)
    if count <= sys.maxsize:
        return source.sample(range(count), limit)
    drawn: set[int] = set()
    while len(drawn) < limit:
        drawn.add(source.randrange(count))
    return drawn


def _first(batches: Iterable[Batch], most: int | None) -> list[Batch]:
    if most is None:
        return list(batches)
    taken: list[Batch] = []
    for batch in batches:
        if len(batch) >= most:
            taken.append(batch.chosen(slice(most)))
            break
        taken.append(batch)
        most -= len(batch)
    return taken


def _sampled(batches: list[Batch], limit: int, source: random.Random) -> list[Batch]:
    ends = list(itertools.accumulate((len(batch) for batch in batches), initial=0))
    if limit >= ends[-1]:
        return batches
    chosen: dict[int, list[int]] = {}
    for number in sorted(source.sample(range(ends[-1]), limit)):
        which = bisect.bisect_right(ends, number) - 1
        chosen.setdefault(which, []).append(number - ends[which])
    return [batches[which].chosen(numbers) for which, numbers in chosen.items()]
