"""Proves that consumers have no new home in any order of moves, where that can be proved."""

import collections
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from placement.candidates.budget import Budget, OutOfMemory, OutOfTime
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.search import search
from placement.errors import SearchUnfinished
from placement.extensions.evacuation.movers import Demand, SlotClass, Taken, TakenItems, TreeDemand
from placement.extensions.evacuation.plan import (
    Ledger,
    NewHome,
    Usage,
    one_of_each_tree,
    taken_by,
)

Budgets = Callable[[], Budget | None]
#: consumers by their demand
Wanted = Mapping[Demand, Sequence[str]]

#: all distributions are tried of at most so many consumers, over so many trees, in so many steps
_FEW_CONSUMERS, _FEW_TREES, _STEPS = 8, 12, 1_000
#: of how many demands it is found out whether they fit anywhere at all
_MOST_PROVED = 50


def hopeless(
    cloud: Snapshot, wanted: Wanted, left: Iterable[Demand], avoid: frozenset[str], budgets: Budgets
) -> set[Demand]:
    """Return those of `left` that would not fit anywhere even if all other consumers were gone.

    Some of them may be missing: a search may take too long, or there may be too many of them.
    Raises Abandoned if the client left.

    :param cloud: without the trees that are to be emptied, before the first move
    :param left: the demands without a new home
    :param avoid: uuids of the roots of the trees that are to be emptied
    """
    found: set[Demand] = set()
    base = _left_by(cloud, wanted)
    for demand in itertools.islice(left, _MOST_PROVED):
        try:
            if _fits_nowhere(cloud, base, demand, avoid, budgets):
                found.add(demand)
        except (OutOfTime, OutOfMemory):
            continue
    return found


def greedy_is_best(cloud: Snapshot, wanted: Wanted) -> bool:
    """Say whether no other order can be better than the first one.

    That is so if all ask for the same and each tree is one provider: who goes where doesn't matter.
    """
    if len(wanted) > 1 or cloud.forest.nested or len(cloud.sharing):
        return False
    (demand,) = wanted
    return len(demand.parts) == 1 and not demand.own


def asks_for_too_much(cloud: Snapshot, wanted: Wanted) -> bool:
    """Say whether all together ask for more of a class than there is room for."""
    total: collections.Counter[str] = collections.Counter()
    #: the smallest amount that comes from one inventory: less than that left of one is of no use
    least: dict[str, int] = {}
    for demand, consumers in wanted.items():
        for name, amount in demand.amounts().items():
            total[name] += amount * len(consumers)
        for part in demand.parts:
            for amounts in (part.main, *part.groups):
                for name, amount in amounts:
                    least[name] = min(least.get(name, amount), amount)
    base = _left_by(cloud, wanted)
    for name, amount in total.items():
        class_id = cloud.names.class_ids[name]
        column = cloud.column(class_id)
        used = column.used.copy()
        slots = base.get(class_id, {})
        is_there, positions = column.find(np.fromiter(slots, np.int32, len(slots)))
        used[positions[is_there]] = np.fromiter(slots.values(), np.int64, len(slots))[is_there]
        # what is over the capacity may stay, and may not grow
        most = np.maximum(np.floor(column.capacities), column.used) - used
        if float(most[most >= least[name]].sum()) < amount:
            return True
    return False


def _left_by(cloud: Snapshot, wanted: Wanted) -> Usage:
    """Return what others use of the providers of which the consumers hold something."""
    ledger = Ledger(cloud)
    found: Usage = {}
    for demand, consumers in wanted.items():
        for (slot, class_id), amount in demand.own:
            amounts = found.setdefault(class_id, {})
            used = amounts.get(slot, ledger.of(slot, class_id)[0])
            amounts[slot] = max(used - amount * len(consumers), 0)
    return found


def _fits_nowhere(
    cloud: Snapshot, base: Usage, demand: Demand, avoid: frozenset[str], budgets: Budgets
) -> bool:
    """Say whether such a consumer would not fit anywhere even if all others were gone.

    :param base: what is used then
    """
    ledger, used = Ledger(cloud), {class_id: dict(slots) for class_id, slots in base.items()}
    for (slot, class_id), amount in demand.own:
        capacity = ledger.of(slot, class_id)[1]
        used[class_id][slot] = min(used[class_id][slot], capacity - amount)
    empty = cloud.using(used)
    return any(_has_none(empty, part, avoid, budgets()) for part in demand.cores or demand.parts)


def _has_none(
    cloud: Snapshot, part: TreeDemand, avoid: frozenset[str], budget: Budget | None
) -> bool:
    if budget is None:
        raise OutOfTime
    if not part.main and not part.groups:
        return False
    return next(one_of_each_tree(cloud, part.request(avoid), budget), None) is None


def is_small(cloud: Snapshot, wanted: Wanted) -> bool:
    """Say whether all distributions can be tried: there are few consumers, and few trees."""
    return (
        sum(len(consumers) for consumers in wanted.values()) <= _FEW_CONSUMERS
        and int(cloud.forest.is_root.sum()) <= _FEW_TREES
        and all(len(demand.parts) == 1 and not demand.kept for demand in wanted)
    )


class Exhaustive:
    """Tries all distributions of a few consumers, in all orders that can make a difference.

    :ivar finished: if no distribution was found, whether all were tried
    """

    def __init__(self, avoid: frozenset[str], budgets: Budgets) -> None:
        self.finished = True
        self._avoid, self._budgets = avoid, budgets
        self._steps = _STEPS
        #: the states (demands that are left, changes of usage) from which not all fit
        self._hopeless: set[object] = set()

    def homes(self, cloud: Snapshot, wanted: Wanted) -> dict[str, NewHome] | None:
        """Return a home for each consumer, in the order of the moves; None: not found for all."""
        moves = self._moves(cloud, {demand: len(names) for demand, names in wanted.items()}, ())
        if moves is None:
            return None
        waiting = {demand: list(names) for demand, names in wanted.items()}
        return {waiting[demand].pop(0): home for demand, home in moves}

    def _moves(
        self, cloud: Snapshot, left: Mapping[Demand, int], changes: TakenItems
    ) -> list[tuple[Demand, NewHome]] | None:
        """Return the moves of those that are left; None if not all of them fit.

        :param left: how many consumers of each demand are left
        :param changes: what the moves before changed of the usage, as a part of the state
        """
        waiting = [demand for demand, count in left.items() if count]
        if not waiting:
            return []
        state = (tuple(left[demand] for demand in left), changes)
        if state in self._hopeless:
            return None
        # the order matters only if somebody gives up something that others could take
        turn = waiting if any(demand.own for demand in waiting) else waiting[:1]
        for demand in turn:
            own = dict(demand.own)
            for home in self._candidates(cloud, demand):
                self._steps -= 1
                if self._steps < 0:
                    self.finished = False
                    return None
                ledger = Ledger(cloud)
                ledger.move(home.taken, own, 1)
                rest = self._moves(
                    ledger.snapshot(),
                    {**left, demand: left[demand] - 1},
                    _changed(changes, home, own),
                )
                if rest is not None:
                    return [(demand, home), *rest]
        if self.finished:
            self._hopeless.add(state)
        return None

    def _candidates(self, cloud: Snapshot, demand: Demand) -> list[NewHome]:
        budget = self._budgets()
        if budget is None or not self.finished:
            self.finished = False
            return []
        seen = Ledger(cloud).seen_by(dict(demand.own))
        try:
            found = search(seen, demand.parts[0].request(self._avoid), budget)
        except SearchUnfinished:
            self.finished = False
            return []
        homes: dict[object, NewHome] = {}
        for batch in found.batches:
            assert found.shape is not None
            for number, root in enumerate(batch.family.roots.tolist()):
                taken = taken_by(found.shape, batch.family.slots(number), batch.solution)
                homes.setdefault(tuple(sorted(taken.items())), NewHome((root,), taken))
        return list(homes.values())


def _changed(changes: TakenItems, home: NewHome, own: Taken) -> TakenItems:
    """Return what is used more, or less, than before the first move, after one move more."""
    amounts: collections.Counter[SlotClass] = collections.Counter(dict(changes))
    for key, amount in home.taken.items():
        amounts[key] += amount
    for key, amount in own.items():
        amounts[key] -= amount
    return tuple(sorted((key, amount) for key, amount in amounts.items() if amount))
