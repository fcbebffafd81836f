"""Finds homes with candidates that were found once, for all sets of hosts.

The candidates of the whole cloud, one of each tree, are also candidates after a set of hosts is
lost, but for those that take something of these hosts. So whoever finds a home among them has one.
Who finds none may still have one.

The providers of a candidate also serve who asks for other amounts of the same, if these fit there.
So where hardly two consumers hold the same, most need no search of their own.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np

from placement.candidates.budget import Budget
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest
from placement.extensions.evacuation.movers import SlotClass, Taken, TreeDemand
from placement.extensions.evacuation.plan import (
    Ledger,
    Planner,
    Rules,
    TreeCandidate,
    one_of_each_tree,
)

#: of how many demands the candidates are kept
_MOST_KEPT = 200
#: how many places of demands of one pattern are kept: the first look for others
_MOST_PLACES = 32
#: (class id, amount)
ClassAmounts = Sequence[tuple[int, int]]


class SharedCandidates:
    """Candidates of a cloud, searched as far as somebody needs them, and kept.

    :param budget: what all searches may cost
    """

    def __init__(self, cloud: Snapshot, budget: Budget) -> None:
        self.cloud, self._budget = cloud, budget
        self._of: OrderedDict[TreeDemand, _SharedSearch] = OrderedDict()
        #: by pattern of demands: the root of the tree by the providers that served one of them
        self._places: dict[Hashable, dict[tuple[int, ...], int]] = {}
        #: (min_unit, max_unit, step_size) by (slot, class id)
        self._units: dict[SlotClass, tuple[int, int, int]] = {}
        #: what is used of each inventory, and its capacity: see `Ledger`
        self.begin: dict[tuple[int, int], tuple[int, int]] = {}
        self.root_of: list[int] = cloud.forest.root.tolist()

    def of(self, part: TreeDemand) -> Iterator[TreeCandidate]:
        """Yield candidates that fit if the ledger has the room: at last the first of each tree.

        Some may come twice. Raises SearchEnded.
        """
        request = part.request(frozenset())
        places = self._places.setdefault(part.pattern, {})
        asked = _asked(request, self.cloud.names.class_ids)
        for serving, root in reversed(tuple(places.items())):
            self._budget.spend()
            taken = self._taken(asked, serving)
            if taken is not None:
                yield TreeCandidate(root, taken, serving)
        for found in self._searched(part, request):
            if found.serving not in places:
                if len(places) >= _MOST_PLACES:
                    del places[next(iter(places))]
                places[found.serving] = found.root
            yield found

    def _taken(self, asked: Sequence[ClassAmounts], serving: Sequence[int]) -> Taken | None:
        """Return what these providers give; None if their units don't allow it."""
        taken: dict[SlotClass, int] = {}
        for amounts, slot in zip(asked, serving, strict=True):
            for class_id, amount in amounts:
                key = slot, class_id
                least, most, step = self._units.get(key) or self._units_of(key)
                taken[key] = taken.get(key, 0) + amount
                if amount < least or amount % step or taken[key] > most:
                    return None
        return taken

    def _units_of(self, key: SlotClass) -> tuple[int, int, int]:
        slot, class_id = key
        column = self.cloud.column(class_id)
        _, positions = column.find(np.array([slot]))
        stock = column.stock(int(positions[0]))
        units = self._units[key] = stock.min_unit, stock.max_unit, max(stock.step_size, 1)
        return units

    def _searched(self, part: TreeDemand, request: CandidateRequest) -> Iterator[TreeCandidate]:
        kept = self._of.get(part)
        if kept is None:
            kept = self._of[part] = _SharedSearch(
                one_of_each_tree(self.cloud, request, self._budget)
            )
            if len(self._of) > _MOST_KEPT:
                self._of.popitem(last=False)
        else:
            self._of.move_to_end(part)
        return iter(kept)


def _asked(request: CandidateRequest, ids: Mapping[str, int]) -> list[ClassAmounts]:
    """Return what each variable of a request asks for, in their order (see `Variable`)."""
    found: list[ClassAmounts] = []
    for group in request.groups:
        amounts = [(ids[name], amount) for name, amount in group.resources.items()]
        found += [amounts] if group.suffix else [[one] for one in amounts]
    return found


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
