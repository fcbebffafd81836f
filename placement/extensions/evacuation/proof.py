"""Whether consumers can't be moved in any order, or only weren't in the orders that were tried."""

import collections
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from placement.candidates.budget import Budget, OutOfMemory, OutOfTime
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.search import search
from placement.errors import SearchUnfinished
from placement.extensions.evacuation.movers import Demand, TreeDemand
from placement.extensions.evacuation.plan import Ledger, NewHome, Usage, one_of_each_tree

Budgets = Callable[[], Budget | None]
Wanted = Mapping[Demand, Sequence[str]]

#: of how few consumers and trees all distributions are tried, and how many steps that may take
_FEW_CONSUMERS, _FEW_TREES, _STEPS = 8, 12, 1_000
#: of how many kinds of consumers it is found out whether they fit anywhere at all
_MOST_PROVED = 50


def hopeless(
    cloud: Snapshot, wanted: Wanted, left: Iterable[Demand], avoid: frozenset[str], budgets: Budgets
) -> set[Demand]:
    """Return those of `left` who have no place even if all others were gone. Raise Abandoned.

    Not all of them are found: a search may take too long, or there may be too many of them.

    :param cloud: without the trees that are to be emptied, before the first move
    :param left: those for whom no place was found
    :param avoid: uuids of the roots of the trees that are to be emptied
    """
    found: set[Demand] = set()
    base = _left_by(cloud, wanted)
    for wish in itertools.islice(left, _MOST_PROVED):
        try:
            if _fits_nowhere(cloud, base, wish, avoid, budgets):
                found.add(wish)
        except (OutOfTime, OutOfMemory):
            continue
    return found


def greedy_is_best(cloud: Snapshot, wanted: Wanted) -> bool:
    """Say whether the first order found room for as many as there is room for.

    Where all ask for the same and each tree is one provider, it doesn't matter who goes where.
    """
    if len(wanted) > 1 or cloud.forest.nested or len(cloud.sharing):
        return False
    (wish,) = wanted
    return len(wish.parts) == 1 and not wish.own


def asks_for_too_much(cloud: Snapshot, wanted: Wanted) -> bool:
    """Say whether all together ask for more of a class than there is room for."""
    demand: collections.Counter[str] = collections.Counter()
    least: dict[str, int] = {}
    for wish, consumers in wanted.items():
        for name, amount in wish.demand().items():
            demand[name] += amount * len(consumers)
        for part in wish.parts:
            for amounts in (part.main, *part.groups):
                for name, amount in amounts:
                    least[name] = min(least.get(name, amount), amount)
    base = _left_by(cloud, wanted)
    for name, amount in demand.items():
        class_id = cloud.names.class_ids[name]
        column = cloud.column(class_id)
        used = column.used.copy()
        slots = base.get(class_id, {})
        there, at = column.find(np.fromiter(slots, np.int32, len(slots)))
        for place, has, others in zip(at.tolist(), there.tolist(), slots.values(), strict=True):
            if has:
                used[place] = others
        # what is over the capacity may stay there, and may not grow
        most = np.maximum(np.floor(column.capacities), column.used) - used
        if float(most[most >= least[name]].sum()) < amount:
            return True
    return False


def _left_by(cloud: Snapshot, wanted: Wanted) -> Usage:
    """Return what others use of the providers of which the consumers hold something."""
    ledger = Ledger(cloud)
    found: Usage = {}
    for wish, consumers in wanted.items():
        for (slot, class_id), amount in wish.own:
            amounts = found.setdefault(class_id, {})
            used = amounts.get(slot, ledger.of(slot, class_id)[0])
            amounts[slot] = max(used - amount * len(consumers), 0)
    return found


def _fits_nowhere(
    cloud: Snapshot, base: Usage, wish: Demand, avoid: frozenset[str], budgets: Budgets
) -> bool:
    """Say whether such a consumer has no place even if all others were gone.

    :param base: what is used then
    """
    ledger, used = Ledger(cloud), {class_id: dict(slots) for class_id, slots in base.items()}
    for (slot, class_id), amount in wish.own:
        capacity = ledger.of(slot, class_id)[1]
        used[class_id][slot] = min(used[class_id][slot], capacity - amount)
    empty = cloud.using(used)
    return any(_has_none(empty, part, avoid, budgets()) for part in wish.cores or wish.parts)


def _has_none(
    cloud: Snapshot, part: TreeDemand, avoid: frozenset[str], budget: Budget | None
) -> bool:
    if budget is None:
        raise OutOfTime
    if not part.main and not part.groups:
        return False
    return next(one_of_each_tree(cloud, part.request(avoid), budget), None) is None


def is_small(cloud: Snapshot, wanted: Wanted) -> bool:
    """Say whether all distributions can be tried: few consumers of one tree each, few trees."""
    return (
        sum(len(consumers) for consumers in wanted.values()) <= _FEW_CONSUMERS
        and int(cloud.forest.is_root.sum()) <= _FEW_TREES
        and all(len(wish.parts) == 1 and not wish.kept for wish in wanted)
    )


class Exhaustive:
    """Tries all distributions of a few consumers, in all orders that can make a difference.

    :param finished: whether all were tried, unless one was found
    """

    def __init__(self, avoid: frozenset[str], budgets: Budgets) -> None:
        self.finished = True
        self._avoid, self._budgets = avoid, budgets
        self._steps = _STEPS
        self._hopeless: set[object] = set()

    def places(self, cloud: Snapshot, wanted: Wanted) -> dict[str, NewHome] | None:
        """Return a place for each consumer, in the order of the moves; None if none was found."""
        moves = self._moves(cloud, {wish: len(names) for wish, names in wanted.items()}, ())
        if moves is None:
            return None
        waiting = {wish: list(names) for wish, names in wanted.items()}
        return {waiting[wish].pop(0): place for wish, place in moves}

    def _moves(
        self, cloud: Snapshot, left: Mapping[Demand, int], changes: tuple[object, ...]
    ) -> list[tuple[Demand, NewHome]] | None:
        """Return the moves of those who are left; None if there are none."""
        waiting = [wish for wish, count in left.items() if count]
        if not waiting:
            return []
        state = (tuple(left[wish] for wish in left), changes)
        if state in self._hopeless:
            return None
        # who leaves nothing behind that others could take, can go in any order
        turn = waiting if any(wish.own for wish in waiting) else waiting[:1]
        for wish in turn:
            own = dict(wish.own)
            for place in self._candidates(cloud, wish):
                self._steps -= 1
                if self._steps < 0:
                    self.finished = False
                    return None
                ledger = Ledger(cloud)
                ledger.move(place.taken, own, 1)
                rest = self._moves(
                    ledger.snapshot(),
                    {**left, wish: left[wish] - 1},
                    _changed(changes, place, own),
                )
                if rest is not None:
                    return [(wish, place), *rest]
        if self.finished:
            self._hopeless.add(state)
        return None

    def _candidates(self, cloud: Snapshot, wish: Demand) -> list[NewHome]:
        budget = self._budgets()
        if budget is None or not self.finished:
            self.finished = False
            return []
        seen = Ledger(cloud).seen_by(dict(wish.own))
        try:
            found = search(seen, wish.parts[0].request(self._avoid), budget)
        except SearchUnfinished:
            self.finished = False
            return []
        places: dict[object, NewHome] = {}
        for batch in found.batches:
            assert found.shape is not None
            demands = [variable.demand for variable in found.shape.variables]
            for number, root in enumerate(batch.family.roots.tolist()):
                slots, taken = batch.family.slots(number), dict[tuple[int, int], int]()
                for local, demand in zip(batch.solution, demands, strict=True):
                    for class_id, amount in demand:
                        key = slots[local], class_id
                        taken[key] = taken.get(key, 0) + amount
                places.setdefault(tuple(sorted(taken.items())), NewHome((root,), taken))
        return list(places.values())


def _changed(
    changes: tuple[object, ...], place: NewHome, own: Mapping[tuple[int, int], int]
) -> tuple[object, ...]:
    """Return what is used more, or less, than before the first move, after one move more."""
    found: collections.Counter[tuple[int, int]] = collections.Counter(dict(changes))  # type: ignore[arg-type]
    for key, amount in place.taken.items():
        found[key] += amount
    for key, amount in own.items():
        found[key] -= amount
    return tuple(sorted((key, amount) for key, amount in found.items() if amount))
