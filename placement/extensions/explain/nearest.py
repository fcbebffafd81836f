"""The trees that come nearest to having a candidate, and what each of them lacks (extensions.md 5).

A first look computes a cost for all trees at once, with arrays: one for each condition that fails,
and a fraction for how far it is from being met. The cheapest trees are then looked at closely.
"""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from placement.candidates.budget import Budget, OutOfTime
from placement.candidates.cloud.free_amounts import free_amounts
from placement.candidates.cloud.sharing_providers import Lenders
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.cloud.tree_subset import AllTrees
from placement.extensions.explain.conditions import Condition, Reason
from placement.extensions.explain.step_record import GroupNotes, Notes

#: how many trees are looked at closely, for each one that is wanted
_SHORTLIST = 5
#: steps of the budget that a look at one group costs
_LOOKING = 100
#: how far providers, or trees, are from serving a request
Costs = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Amounts:
    """An inventory beside an amount that was asked. `free` is below 0 where too much is used."""

    asked: int
    free: int
    total: int
    reserved: int
    used: int
    allocation_ratio: float
    min_unit: int
    max_unit: int
    step_size: int


@dataclasses.dataclass(frozen=True)
class Missing:
    """One condition that fails.

    :param slot: the provider that comes nearest to meeting it; None: it is about the whole tree
    :param shortfall: how much is lacking of what is asked, as a share of it
    """

    group: str
    reason: Reason
    name: str
    slot: int | None = None
    asked: int | None = None
    amounts: Amounts | None = None
    shortfall: float = 1.0


@dataclasses.dataclass(frozen=True)
class Miss:
    """A tree without a candidate.

    :param root: slot of the root
    :param slot: slot of the provider that the first thing missing is about
    """

    root: int
    slot: int
    missing: tuple[Missing, ...]


class Misses:
    """What trees lack, by the conditions that an account of a search kept.

    Its methods raise SearchEnded if a budget is used up.
    """

    def __init__(self, snapshot: Snapshot, notes: Notes, budget: Budget) -> None:
        self._snapshot, self._notes, self._budget = snapshot, notes, budget
        self._lenders = Lenders(AllTrees(snapshot), snapshot.sharing.tolist())
        #: the reasons of trees that can serve each group by itself
        self._of_all = [one for one in notes.dropped if one.reason in _OF_ALL]

    def nearest(self, most: int) -> list[Miss]:
        """Return the trees without candidates that are nearest to having one, at most `most`.

        Few failing conditions come before many, then small shortfalls before large ones. If the
        budget is used up, fewer trees are returned, or none. Raises Abandoned if the client left.
        """
        try:
            cost = self._costs()
        except OutOfTime:
            return []
        candidates = np.flatnonzero(self._snapshot.forest.is_root & ~self._notes.left)
        count = min(most * _SHORTLIST, len(candidates))
        if not count:
            return []
        kept = np.argsort(cost[candidates], kind="stable")[:count]
        misses = []
        with contextlib.suppress(OutOfTime):
            for root in candidates[kept].tolist():
                miss = self.of_tree(root)
                misses += [miss] if miss.missing else []
        misses.sort(key=lambda miss: (*_order(miss.missing), miss.root))
        return misses[:most]

    def of_tree(self, root: int) -> Miss:
        """Return all that a tree lacks."""
        members = self._snapshot.forest.members(root).tolist()
        lent = list(self._lenders.of_tree(root, members)) if self._lenders else []
        return self._miss(root, root, [*self._of_root(root), *self._of_groups(root, members, lent)])

    def of_provider(self, slot: int) -> Miss:
        """Return all that a provider lacks to serve every group by itself."""
        root = int(self._snapshot.forest.root[slot])
        return self._miss(root, slot, [*self._of_root(root), *self._of_groups(root, [slot], [])])

    def _miss(self, root: int, slot: int, missing: list[Missing]) -> Miss:
        found = _distinct(missing)
        if not found:
            found = [
                Missing(one.group, one.reason, one.name, None, None, None, 0.0)
                for one in self._of_all
                if one.roots[root]
            ]
        first = next((one.slot for one in found if one.slot is not None), slot)
        return Miss(root, first, tuple(found))

    def _of_root(self, root: int) -> list[Missing]:
        return [
            Missing("", condition.reason, condition.name, root)
            for condition in self._notes.of_root
            if not condition.own[root]
        ]

    def _of_groups(self, root: int, members: list[int], lent: list[int]) -> Iterator[Missing]:
        self._budget.look()
        # groups that ask for the same share their notes
        known: dict[int, list[Missing]] = {}
        for suffix, notes in self._notes.groups.items():
            self._budget.spend(_LOOKING + len(members))
            found = known.get(id(notes))
            if found is None:
                found = known[id(notes)] = self._of_group(suffix, notes, root, members, lent)
                yield from found
            else:
                yield from (dataclasses.replace(one, group=suffix) for one in found)

    def _of_group(
        self, suffix: str, notes: GroupNotes, root: int, members: list[int], lent: list[int]
    ) -> list[Missing]:
        found: list[Missing] = []
        slots = [*members, *lent]
        able = np.zeros(len(slots), np.bool_)
        served = True
        for part in notes.parts or [[]] if slots else []:
            conditions = [*notes.common, *part]
            failed, place = self._closest(conditions, root, members, lent)
            found += self._failing(suffix, conditions, root, slots[place], place < len(members))
            able |= failed == 0
            served = served and not failed.all()
        for condition in notes.of_tree:
            meeting = np.concatenate([condition.own[members], condition.shared[lent]])
            if not meeting.any():
                found.append(Missing(suffix, condition.reason, condition.name))
            elif served and not (meeting & able).any():
                # the providers that meet it can't serve any part of the group
                slot = slots[int(able.argmax())]
                found.append(Missing(suffix, condition.reason, condition.name, slot))
        return found

    def _closest(
        self, conditions: Sequence[Condition], root: int, members: list[int], lent: list[int]
    ) -> tuple[Costs, int]:
        """Return how many conditions each provider fails, and which one is nearest to meeting them.

        Both count the members of the tree first, then the sharing providers that serve it (`lent`).
        A provider that lacks a class is farther than one with too little of it, although it fails
        fewer conditions: without an inventory, its units aren't judged.
        """
        count = len(members) + len(lent)
        absent, failed, far = np.zeros(count), np.zeros(count), np.zeros(count)
        slots = np.array([*members, *lent])
        for condition in conditions:
            bad = ~np.concatenate([condition.own[members], condition.shared[lent]])
            if condition.roots is not None and not condition.roots[root]:
                bad[:] = True
            absent += bad & (condition.reason in _ABSENT)
            failed += bad
            far += bad * (1.0 if condition.shortfall is None else condition.shortfall[slots])
        return failed, int(np.lexsort((far, failed, absent))[0])

    def _failing(
        self, suffix: str, conditions: Iterable[Condition], root: int, slot: int, own: bool
    ) -> list[Missing]:
        found = []
        for condition in conditions:
            ok = bool((condition.own if own else condition.shared)[slot])
            if ok and (condition.roots is None or condition.roots[root]):
                continue
            far = 1.0 if condition.shortfall is None else float(condition.shortfall[slot])
            found.append(
                Missing(
                    suffix,
                    condition.reason,
                    condition.name,
                    slot,
                    condition.asked,
                    self._amounts(condition, slot),
                    far,
                )
            )
        return found

    def _amounts(self, condition: Condition, slot: int) -> Amounts | None:
        snapshot = self._snapshot
        if condition.asked is None:
            return None
        column = snapshot.column(snapshot.names.class_ids[condition.name])
        there, at = column.find(np.array([slot]))
        if not there[0]:
            return None
        place = int(at[0])
        stock = column.stock(place)
        return Amounts(
            condition.asked,
            int(free_amounts(column)[place]),
            stock.total,
            stock.reserved,
            column.used_at(place),
            stock.ratio,
            stock.min_unit,
            stock.max_unit,
            stock.step_size,
        )

    def _costs(self) -> Costs:
        """Return by root how many conditions fail, and a fraction for how far they do."""
        size = self._snapshot.size
        cost = np.zeros(size)
        for condition in self._notes.of_root:
            cost += ~condition.own * _FAILED
        known: dict[int, Costs] = {}
        for notes in self._notes.groups.values():
            self._budget.spend(size)
            if id(notes) not in known:
                known[id(notes)] = self._costs_of(notes)
            cost += known[id(notes)]
        for one in self._of_all:
            cost += one.roots * 1.0
        return cost

    def _costs_of(self, notes: GroupNotes) -> Costs:
        base = self._summed(notes.common)
        # what all parts have to meet is counted once
        cost = least = self._least(*base)
        for part in notes.parts:
            own, shared = self._summed(part)
            cost = cost + np.maximum(self._least(base[0] + own, base[1] + shared) - least, 0)
        for condition in notes.of_tree:
            own = np.where(condition.own, 0.0, _FAILED)
            cost = cost + self._least(own, np.where(condition.shared, 0.0, _FAILED))
        return cost

    def _summed(self, conditions: Sequence[Condition]) -> tuple[Costs, Costs]:
        """Return what the conditions cost each provider for its own tree, and for other trees."""
        own = np.zeros(self._snapshot.size)
        shared = np.zeros(self._snapshot.size)
        for condition in conditions:
            price: float | Costs = _FAILED
            if condition.shortfall is not None:
                price = 1 + condition.shortfall * _SHARE
            own += ~condition.own * price
            shared += ~condition.shared * price
            if condition.roots is not None:
                # providers that fail only because of their root
                blamed = ~condition.roots[self._snapshot.forest.root] & condition.own
                own += blamed * _FAILED
        return own, shared

    def _least(self, own: Costs, shared: Costs) -> Costs:
        """Return by root the least cost among the providers that may serve the tree."""
        snapshot = self._snapshot
        forest = snapshot.forest
        best = own
        if forest.nested:
            best = np.full(snapshot.size, np.inf)
            np.minimum.at(best, forest.root[forest.alive], own[forest.alive])
        if self._lenders:
            best = best.copy()
            for slot in snapshot.sharing.tolist():
                for key in snapshot.aggregates_of[slot]:
                    roots = snapshot.roots_of_aggregate(key)
                    best[roots] = np.minimum(best[roots], shared[slot])
        return np.where(forest.is_root, best, 0.0)


#: the weight of a shortfall beside a failing condition: even hundreds of them count less than one
_SHARE = 1 / 1024
_FAILED = 1 + _SHARE
_ABSENT = frozenset([Reason.NO_INVENTORY, Reason.NO_SHARING])
_OF_ALL = frozenset([Reason.TOGETHER, Reason.ISOLATE, Reason.SAME_SUBTREE])


def _shortfall(missing: Sequence[Missing]) -> float:
    return sum(one.shortfall for one in missing)


def _order(missing: Sequence[Missing]) -> tuple[int, float]:
    return len(missing), _shortfall(missing)


def _distinct(missing: list[Missing]) -> list[Missing]:
    """Leave out repetitions: classes of one group may fail for the same reason."""
    return list({(one.group, one.reason, one.name): one for one in reversed(missing)}.values())[
        ::-1
    ]
