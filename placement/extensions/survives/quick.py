"""Finds homes with candidates that were found once, for all sets of hosts.

The candidates of the whole cloud, one of each tree, are also candidates after a set of hosts is
lost, but for those that take something of these hosts. So whoever finds a home among them has one.
Who finds none may still have one.
"""

from collections import OrderedDict
from collections.abc import Iterator

from placement.candidates.budget import Budget
from placement.candidates.cloud.snapshot import Snapshot
from placement.extensions.evacuation.movers import Taken, TreeDemand
from placement.extensions.evacuation.plan import (
    Ledger,
    Planner,
    Rules,
    TreeCandidate,
    one_of_each_tree,
)

#: of how many demands the candidates are kept
_MOST_KEPT = 200


class SharedCandidates:
    """Candidates of a cloud, searched as far as somebody needs them, and kept.

    :param budget: what all searches may cost
    """

    def __init__(self, cloud: Snapshot, budget: Budget) -> None:
        self.cloud, self._budget = cloud, budget
        self._of: OrderedDict[TreeDemand, _SharedSearch] = OrderedDict()
        #: what is used of each inventory, and its capacity: see `Ledger`
        self.begin: dict[tuple[int, int], tuple[int, int]] = {}
        self.root_of: list[int] = cloud.forest.root.tolist()

    def of(self, part: TreeDemand) -> Iterator[TreeCandidate]:
        """Yield the first candidate of each tree that has any. Raises SearchEnded."""
        kept = self._of.get(part)
        if kept is None:
            request = part.request(frozenset())
            kept = self._of[part] = _SharedSearch(
                one_of_each_tree(self.cloud, request, self._budget)
            )
            if len(self._of) > _MOST_KEPT:
                self._of.popitem(last=False)
        else:
            self._of.move_to_end(part)
        return iter(kept)


class _SharedSearch:
    def __init__(self, source: Iterator[TreeCandidate]) -> None:
        self._found: list[TreeCandidate] = []
        self._source = source

    def __iter__(self) -> Iterator[TreeCandidate]:
        number = 0
        while True:
            if number == len(self._found):
                found = next(self._source, None)
                if found is None:
                    return
                self._found.append(found)
            yield self._found[number]
            number += 1


class QuickPlanner(Planner):
    """Finds homes among the candidates that were found already.

    :param leaving: the slots of the roots of the trees that are lost
    """

    def __init__(
        self, candidates: SharedCandidates, leaving: frozenset[int], rules: Rules | None
    ) -> None:
        super().__init__(candidates.cloud, frozenset(), lambda: None, rules=rules)
        self.ledger = Ledger(candidates.cloud, candidates.begin)
        self._found, self._leaving = candidates, leaving

    def _offers(self, part: TreeDemand, own: Taken) -> Iterator[TreeCandidate]:
        root_of, leaving = self._found.root_of, self._leaving
        for one in self._found.of(part):
            if one.root in leaving or any(root_of[slot] in leaving for slot, _ in one.taken):
                continue
            yield one
