"""Looks for places in a cloud: the candidate search, tree by tree, as the planner wants it."""

from collections.abc import Callable, Iterator

import numpy as np

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Slots
from placement.candidates.cloud.sharing_providers import Lenders
from placement.candidates.cloud.snapshot import AllTrees, SearchedTrees, Snapshot
from placement.candidates.cloud.tree_subset import subset_of
from placement.candidates.request import CandidateRequest
from placement.candidates.search import Search
from placement.candidates.slots import WholeSlots
from placement.extensions.evacuation.plan import taken_by
from placement.extensions.plans.draft_plan import Place

#: of how many candidates of one tree a place is chosen
MOST_OF_TREE = 8


class Places:
    """Places for a request.

    :param budgets: returns what a search may cost
    :ivar complete: whether no tree had more candidates than were looked at
    """

    def __init__(self, budgets: Callable[[], Budget]) -> None:
        self._budgets = budgets
        self.complete = True

    def anywhere(self, cloud: Snapshot, request: CandidateRequest) -> Iterator[Place]:
        """Yield places in all trees. Raises SearchEnded and BadRequest."""
        return self._of(AllTrees(cloud), cloud, request)

    def in_tree(self, cloud: Snapshot, request: CandidateRequest, root: int) -> Iterator[Place]:
        """Yield places in one tree, and of the sharing providers that serve it."""
        anchors = np.array([root], np.int32)
        lending = np.unique(cloud.forest.root[cloud.sharing]).astype(np.int32)
        trees = subset_of(
            cloud,
            WholeSlots(anchors),
            WholeSlots(lending[lending != root]),
            None,
            lacks_singles=False,
        )
        return iter(()) if trees is None else self._of(trees, cloud, request)

    def _of(
        self, trees: SearchedTrees, cloud: Snapshot, request: CandidateRequest
    ) -> Iterator[Place]:
        prepared = Search(cloud, request, self._budgets()).anchors(trees)
        if prepared is None:
            return
        anchors, simple, others = prepared
        for family in anchors.families(simple, others):
            for number in range(MOST_OF_TREE + 1):
                solution = family.solutions.at(number)
                if solution is None:
                    break
                if number == MOST_OF_TREE:
                    self.complete = False
                    break
                for place, root in enumerate(family.roots.tolist()):
                    taken = taken_by(anchors.shape, family.slots(place), solution)
                    yield Place(int(root), taken)

    def trees(self, cloud: Snapshot, request: CandidateRequest) -> Slots:
        """Return the roots of the trees that have candidates."""
        prepared = Search(cloud, request, self._budgets()).anchors()
        if prepared is None:
            return np.zeros(0, np.int32)
        anchors, simple, others = prepared
        if not len(others):
            return np.asarray(simple, np.int32)
        found = [
            family.roots
            for family in anchors.families(simple, others)
            if family.solutions.at(0) is not None
        ]
        return np.sort(np.concatenate([np.zeros(0, np.int32), *found])).astype(np.int32)


def is_simple(cloud: Snapshot, root: int) -> bool:
    """Say whether a tree is one provider, which no sharing provider serves."""
    return not len(cloud.sharing) and int(cloud.forest.count[root]) == 1


def lenders_of(cloud: Snapshot, root: int) -> tuple[int, ...]:
    """Return the sharing providers that serve a tree without belonging to it."""
    if not len(cloud.sharing):
        return ()
    lenders = Lenders(AllTrees(cloud), cloud.sharing.tolist())
    return lenders.of_tree(root, cloud.forest.members(root).tolist())
