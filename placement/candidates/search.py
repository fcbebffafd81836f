"""The chain from a request to its candidates (architecture.rst D5), and answers known from before.

Each step narrows what the next one looks at, so that the costly steps see little::

    Search.candidates    a few trees, more trees, all trees: until there are enough candidates
      Search.anchors
        root_filter      conditions on roots        → roots
        GroupFilter      conditions of each group   → masks of providers, fewer roots
        AnchorTrees      roots and masks            → a small problem for each tree
      CandidateStream    problems                   → their solutions: the candidates, in order
      Search._limited    as many as are wanted, or a random choice

doc/candidate_search.rst follows an example. A scheduler repeats the queries of a few flavors, while
claims change the usage of other trees: so answers are kept, and given again for as long as nothing
changes that they depend on.
"""

import contextlib
import dataclasses
import logging
import random
import weakref
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from placement.candidates.budget import Budget, OutOfMemory, OutOfTime, SearchEnded
from placement.candidates.cloud.columns import Numbers
from placement.candidates.cloud.snapshot import AllTrees, SearchedTrees, Snapshot
from placement.candidates.ended_search import error_of, what_ended
from placement.candidates.masks.filter import FilteredGroup, GroupFilter, root_filter
from placement.candidates.masks.mask_steps import StepListener
from placement.candidates.request import CandidateRequest, Generation, Group
from placement.candidates.sampling import Draw, Reservoir
from placement.candidates.slots import SearchedSlots
from placement.candidates.subset_choice import subsets
from placement.candidates.tree_problem import RequestShape
from placement.candidates.trees.tree_problems import Anchors, AnchorTrees, SubsetTooSmall
from placement.candidates.trees.tree_solutions import (
    CandidateBatch,
    CandidateStream,
    FirstCandidates,
    check_size,
    first,
    text_size,
)
from placement.errors import BadRequest

LOG = logging.getLogger(__name__)
#: in clouds of fewer slots, a search looks at the whole cloud at once
_SMALL = 4_000
#: how many answers are kept, and the largest ones: bytes of text, providers whose usage is compared
_MOST, _LONGEST, _WIDEST = 64, 65_536, 4_096
_NOBODY, _ALL_IN_ORDER = StepListener(), Generation()


@dataclasses.dataclass(frozen=True, eq=False)
class FoundCandidates:
    """The candidates of a request.

    :param shape: None if nothing was found before trees were looked at
    :param shuffle: makes the order random; None: leaves it
    :param trees: where they were found
    :param finished: whether these are as many as were asked for or as there are; if not, the search
        ran into a bound
    """

    snapshot: Snapshot
    request: CandidateRequest
    shape: RequestShape | None = None
    batches: Sequence[CandidateBatch] = ()
    shuffle: random.Random | None = None
    finished: bool = True
    trees: SearchedTrees | None = None

    def __len__(self) -> int:
        return sum(len(batch) for batch in self.batches)


def search(
    snapshot: Snapshot,
    request: CandidateRequest,
    budget: Budget,
    generation: Generation | None = None,
) -> FoundCandidates:
    """Find the candidates in `snapshot` for `request` (allocation-candidates.md 2, 4).

    If the budget is used up, the search returns what it found by then, provided that the request
    has a limit and something was found.

    Raises BadRequest for names that don't exist, unless a search in the order of
    allocation-candidates.md 1.9 ends before it comes to them; else SearchUnfinished or
    SearchAbandoned when the budget is used up.
    """
    generation = generation or _ALL_IN_ORDER
    return Search(snapshot, request, budget, generation=generation).candidates()


@dataclasses.dataclass(frozen=True, eq=False)
class Search:
    """A request on its way through a cloud.

    :param budget: what the search may cost
    :param listener: hears what each step leaves
    """

    snapshot: Snapshot
    request: CandidateRequest
    budget: Budget
    listener: StepListener = _NOBODY
    generation: Generation = _ALL_IN_ORDER

    def candidates(self) -> FoundCandidates:
        """Find the candidates; return and raise what `search` does."""
        # who wants to hear of every tree can't be content with a few
        at_once = self.snapshot.size < _SMALL or self.listener.complete
        few = () if at_once else subsets(self.snapshot, self.request, self._most)
        try:
            for subset in few:
                with contextlib.suppress(SubsetTooSmall):
                    found = self._among(subset)
                    if len(found):
                        return found
            return self._among(AllTrees(self.snapshot))
        except SearchEnded as ended:
            why = what_ended(ended, self.budget)
            LOG.info("A search for allocation candidates was ended %s.", why)
            raise error_of(ended, self.snapshot, self.budget) from ended

    def _among(self, trees: SearchedTrees) -> FoundCandidates:
        """Find the candidates of some trees. Raises SubsetTooSmall if that takes more trees."""
        anchors = self.anchors(trees, self._most)
        if anchors is None:
            return FoundCandidates(self.snapshot, self.request)
        if trees.lacks_singles and len(anchors.simple) < (self._most or 0):
            raise SubsetTooSmall
        shape, repeats = anchors.trees.shape, bool(anchors.trees.lenders)
        stream = CandidateStream(shape, anchors.families, repeats, self.budget)
        return self._limited(stream, trees)

    def anchors(
        self, trees: SearchedTrees | None = None, most: int | None = None
    ) -> Anchors | None:
        """Do the cheap half of the search: find the roots that can serve every group by itself.

        None if the search ends before it comes to trees. Raises BadRequest, or SearchEnded.

        :param trees: where to look; None: everywhere
        :param most: how many roots that are candidates by themselves are enough; None: all
        """
        request, listener = self.request, self.listener
        trees = trees or AllTrees(self.snapshot)
        roots = root_filter(trees, request, listener)
        group_filter = GroupFilter(trees, roots, listener)
        narrowed = request.root_required or request.root_forbidden or request.avoid
        if narrowed and not roots.any():
            self._tell_of(request.groups, group_filter)
            return None
        groups = self._filtered(trees, group_filter)
        if groups is None:
            return None
        for group in groups:
            roots = roots & group.roots
        problems = AnchorTrees(trees, request, groups, self.budget)
        return Anchors(problems, *problems.split(roots, most))

    def _limited(self, stream: CandidateStream, trees: SearchedTrees) -> FoundCandidates:
        """Take as many candidates as are wanted, of those that may be generated.

        :param trees: where the stream finds them
        """
        limit, seed = self.request.limit, self.generation.seed
        source = None if seed is None else random.Random(seed)
        size = text_size(stream.shape)
        taking = self._taking(stream, source, size)
        finished = True
        try:
            if self._most is None and limit is None:
                check_size(stream, self.budget, size)
            taking.run()
        except (OutOfTime, OutOfMemory) as ended:
            if limit is None or not len(taking):
                raise
            finished = False
            LOG.warning(
                "A search for allocation candidates was ended %s; it answers %d that it had found, "
                "and %d were asked for.",
                what_ended(ended, self.budget),
                len(taking),
                limit,
            )
        return FoundCandidates(
            self.snapshot, self.request, stream.shape, taking.batches(), source, finished, trees
        )

    def _taking(
        self, stream: CandidateStream, source: random.Random | None, size: int
    ) -> FirstCandidates | Draw | Reservoir:
        """Return how to take candidates from the stream.

        :param source: makes the choice random; None: the first ones are taken
        :param size: bytes that each candidate takes
        """
        cap, limit, budget = self.generation.cap, self.request.limit, self.budget
        if source is not None and limit is not None and cap is None and not stream.repeats:
            return Draw(stream.families(), limit, source, budget, size)
        depth_first = cap is not None and self.generation.depth_first
        batches = stream.one_by_one() if depth_first else stream.interleaved()
        if source is not None and limit is not None:
            return Reservoir(first(batches, self._most), limit, source, budget, size)
        return FirstCandidates(batches, self._most, budget, size)

    @property
    def _most(self) -> int | None:
        """Return how many candidates must be listed at most; None: all.

        A random choice is one of all that may be generated, so the limit doesn't bound the list.
        """
        cap, limit = self.generation.cap, self.request.limit
        if self.generation.seed is not None:
            return cap
        return min((bound for bound in (cap, limit) if bound is not None), default=None)

    def _filtered(
        self, trees: SearchedTrees, group_filter: GroupFilter
    ) -> list[FilteredGroup] | None:
        """Return the groups with their masks; None if one of them can't be served at all."""
        found: list[FilteredGroup] = []
        for number, group in enumerate(self.request.groups):
            self.budget.look()
            try:
                filtered = group_filter.apply(group)
            except BadRequest:
                # a group before this one may have no option though its masks left some; the search
                # would have ended there, and an unknown name behind it would be no error
                if all(self._has_option(trees, earlier) for earlier in found):
                    raise
                return None
            if filtered is None:
                self._tell_of(self.request.groups[number + 1 :], group_filter)
                return None
            found.append(filtered)
        return found

    def _tell_of(self, groups: Iterable[Group], group_filter: GroupFilter) -> None:
        """Let the listener hear of groups that the search doesn't come to, if it wants to know.

        Names that don't exist are no error there.
        """
        if not self.listener.complete:
            return
        for group in groups:
            self.budget.look()
            with contextlib.suppress(BadRequest):
                group_filter.apply(group)

    def _has_option(self, trees: SearchedTrees, group: FilteredGroup) -> bool:
        """Say whether the group by itself can be served somewhere."""
        if group.decided:
            return True
        alone = dataclasses.replace(self.request, same_subtree=(), isolate=False, nested=True)
        problems = AnchorTrees(trees, alone, [group], self.budget)
        families = problems.families(*problems.split(group.roots))
        return any(family.solutions.at(0) is not None for family in families)


@dataclasses.dataclass(eq=False, slots=True)
class _KnownAnswer:
    """An answer, which is right if the usage of a few hundred providers is as it was.

    :param usage: by class id, places in its column, and the usage of these inventories
    :param last: the snapshot for which the answer was found, or found right, at last
    """

    count: int
    pieces: list[bytes]
    usage: list[tuple[int, Numbers, Numbers]]
    last: "weakref.ref[Snapshot]"

    def is_right(self, snapshot: Snapshot) -> bool:
        """Say whether a search of the snapshot, which has the same memo, would give the answer."""
        if self.last() is snapshot:
            return True
        columns = snapshot.columns
        for class_id, places, used in self.usage:
            if not np.array_equal(columns[class_id].usage.take(places), used):
                return False
        self.last = weakref.ref(snapshot)
        return True


def known_answer(snapshot: Snapshot, question: Hashable) -> tuple[int, list[bytes]] | None:
    """Return the number of candidates and the body, in pieces, if they are known."""
    found = _answers(snapshot).get(question)
    return (found.count, found.pieces) if found and found.is_right(snapshot) else None


def keep_answer(question: Hashable, found: FoundCandidates, pieces: list[bytes]) -> None:
    """Keep an answer, if that can be.

    It depends on the usage of the trees in which the search ended, and on names, forest,
    inventories, traits and aggregates. It is kept in the snapshot's memo, which a change of
    anything but usage empties.

    :param question: all that the answer depends on beside the cloud
    """
    trees = found.trees
    if trees is None or trees.by_usage or trees.cloud.size > _WIDEST:
        return
    if not len(found) or not found.finished or sum(map(len, pieces)) > _LONGEST:
        return
    slots = trees.in_whole(SearchedSlots(np.arange(trees.cloud.size, dtype=np.int32)))
    answers = _answers(found.snapshot)
    if len(answers) >= _MOST:
        answers.clear()
    usage = []
    for class_id, column in found.snapshot.columns.items():
        there, at = column.find(slots)
        if there.any():
            usage.append((class_id, at[there], column.usage.take(at[there])))
    answers[question] = _KnownAnswer(len(found), pieces, usage, weakref.ref(found.snapshot))


def _answers(snapshot: Snapshot) -> dict[Hashable, _KnownAnswer]:
    answers: dict[Hashable, _KnownAnswer] = snapshot.remembered("answers", dict)
    return answers
