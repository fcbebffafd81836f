"""The chain: groups to masks, masks to roots, roots to combinations, the limit (DESIGN D5)."""

import bisect
import dataclasses
import itertools
import random
import sys
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from placement.candidates.columns import Slots
from placement.candidates.explain import Account
from placement.candidates.filter import FilteredGroup, GroupFilter, root_filter
from placement.candidates.problem import Shape
from placement.candidates.request import CandidateRequest, Generation
from placement.candidates.snapshot import Snapshot
from placement.candidates.trees import Tree, Trees
from placement.errors import BadRequest

#: a tree and the number of one of its solutions
Candidate = tuple[Tree, int]


@dataclasses.dataclass(frozen=True, eq=False)
class Found:
    """The candidates of a request.

    :param shape: None if nothing was found before trees were looked at
    :param simple: roots that are candidates by themselves
    :param others: all other candidates
    :param shuffle: makes the order random; None: leaves it
    """

    snapshot: Snapshot
    request: CandidateRequest
    shape: Shape | None = None
    simple: Slots = dataclasses.field(default_factory=lambda: np.zeros(0, np.int32))
    others: Sequence[Candidate] = ()
    shuffle: random.Random | None = None

    def __len__(self) -> int:
        return len(self.simple) + len(self.others)


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
    prepared = prepare(snapshot, request, account)
    if prepared is None:
        return Found(snapshot, request)
    trees, simple, others = prepared
    return _limited(snapshot, request, generation, trees.shape, simple, _Stream(trees, others))


def prepare(
    snapshot: Snapshot, request: CandidateRequest, account: Account
) -> tuple[Trees, Slots, Slots] | None:
    """The cheap half of a search: the roots that can serve every group by itself.

    Those that are candidates by themselves, and those whose trees need a search; None if the search
    ends before it comes to trees. Raises BadRequest.
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
    return (trees, *trees.split(roots))


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
    simple, others = trees.split(group.roots)
    return len(simple) > 0 or any(tree.solved.at(0) is not None for tree in trees.problems(others))


class _Stream:
    """The candidates of trees that need a search, without repetitions."""

    def __init__(self, trees: Trees, roots: Slots) -> None:
        self._trees = trees
        self._roots = roots
        self._seen: set[tuple[int, ...]] = set()

    def interleaved(self) -> Iterator[Candidate]:
        """One candidate of each tree, then a second of each, and so on."""
        more: list[Tree] = []
        for tree in self.problems():
            if tree.solved.at(0) is not None:
                more.append(tree)
                if not tree.solved.lends or self._is_new(tree, 0):
                    yield tree, 0
        for number in itertools.count(1):
            this_round, more = more, []
            for tree in this_round:
                if tree.solved.at(number) is not None:
                    more.append(tree)
                    if self._is_new(tree, number):
                        yield tree, number
            if not more:
                return

    def one_by_one(self) -> Iterator[Candidate]:
        """All candidates of a tree, then those of the next."""
        for tree in self.problems():
            for number in itertools.count():
                if tree.solved.at(number) is None:
                    break
                if self._is_new(tree, number):
                    yield tree, number

    @property
    def repeats(self) -> bool:
        """Whether several trees may have the same candidate."""
        return bool(self._trees.lenders)

    def problems(self) -> Iterator[Tree]:
        """The trees that need a search."""
        return self._trees.problems(self._roots)

    def _is_new(self, tree: Tree, number: int) -> bool:
        solution = tree.solved.at(number)
        assert solution is not None
        if not tree.solved.only_shared(solution):
            # its own provider ties the candidate to this tree
            return True
        slots = tree.slots()
        used = tuple(slots[local] for local in solution)
        if used in self._seen:
            return False
        self._seen.add(used)
        return True


def _limited(
    snapshot: Snapshot,
    request: CandidateRequest,
    generation: Generation,
    shape: Shape,
    simple: Slots,
    stream: _Stream,
) -> Found:
    """As many candidates as are wanted, of those that may be generated."""
    cap, limit = generation.cap, request.limit
    depth_first = cap is not None and generation.depth_first
    candidates = stream.one_by_one() if depth_first else stream.interleaved()
    if generation.seed is None:
        most = min((bound for bound in (cap, limit) if bound is not None), default=None)
        taken, others = _first(simple, candidates, most)
        return Found(snapshot, request, shape, taken, others)
    source = random.Random(generation.seed)
    countable = not stream.repeats and len(shape.variables) <= _MOST_COUNTED
    if limit is not None and cap is None and countable:
        taken, others = _drawn(simple, list(stream.problems()), limit, source)
        return Found(snapshot, request, shape, taken, others, source)
    taken, others = _first(simple, candidates, cap)
    if limit is not None:
        taken, others = _sampled(taken, others, limit, source)
    return Found(snapshot, request, shape, taken, others, source)


def _drawn(
    simple: Slots, trees: list[Tree], limit: int, source: random.Random
) -> tuple[Slots, list[Candidate]]:
    """A uniform sample of all candidates, which are counted but not listed."""
    ends = list(itertools.accumulate((tree.solved.count() for tree in trees), initial=len(simple)))
    numbers = sorted(_distinct(source, ends[-1], limit))
    split = bisect.bisect_left(numbers, len(simple))
    others = []
    for number in numbers[split:]:
        place = bisect.bisect_right(ends, number) - 1
        tree = trees[place]
        others.append((tree, tree.solved.pick(number - ends[place])))
    return simple[numbers[:split]], others


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


def _first(
    simple: Slots, candidates: Iterable[Candidate], most: int | None
) -> tuple[Slots, list[Candidate]]:
    if most is None:
        return simple, list(candidates)
    taken = simple[:most]
    return taken, list(itertools.islice(candidates, most - len(taken)))


def _sampled(
    simple: Slots, others: list[Candidate], limit: int, source: random.Random
) -> tuple[Slots, list[Candidate]]:
    count = len(simple) + len(others)
    if limit >= count:
        return simple, others
    numbers = sorted(source.sample(range(count), limit))
    split = bisect.bisect_left(numbers, len(simple))
    return simple[numbers[:split]], [others[n - len(simple)] for n in numbers[split:]]
