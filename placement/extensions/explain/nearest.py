"""The trees that come nearest to having a candidate, and what each of them lacks (extensions.md 5).

A first look computes a cost for all trees at once (`tree_costs.py`). The cheapest trees are then
looked at closely.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from placement.candidates.budget import Budget, OutOfTime
from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.free_amounts import free_amount
from placement.candidates.cloud.sharing_providers import Lenders
from placement.candidates.cloud.snapshot import AllTrees, Snapshot
from placement.candidates.request import CandidateRequest
from placement.extensions.explain.conditions import (
    Amounts,
    Condition,
    Missing,
    ProviderPart,
    Reason,
    RequestConditions,
)
from placement.extensions.explain.conflicts import TreeConflict
from placement.extensions.explain.tree_costs import TreeCosts
from placement.extensions.explain.tree_search import TreeSearch

#: how many trees are looked at closely, for each one that is wanted
_SHORTLIST = 5
#: steps of the budget that a look at one group costs
_LOOKING = 100


@dataclasses.dataclass(frozen=True)
class Miss:
    """A tree without a candidate.

    :param root: slot of the root
    :param slot: slot of the provider that the first thing missing is about
    """

    root: int
    slot: int
    missing: tuple[Missing, ...]


@dataclasses.dataclass(frozen=True)
class _Look:
    """A first look at a tree.

    :param chosen: a provider for each part of the request
    :param miss: what is unmet with them
    """

    root: int
    chosen: list[int]
    miss: Miss


class Misses:
    """What trees lack: for each variable a provider that comes near, and all that is unmet there.

    Whoever has all that a tree is said to lack has a candidate. Its methods raise SearchEnded if a
    budget is used up.

    :param fruitless: the roots of the trees without candidates
    """

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        conditions: RequestConditions,
        conflicts: Sequence[TreeConflict],
        fruitless: Mask,
        budget: Budget,
    ) -> None:
        self._snapshot, self._request, self._budget = snapshot, request, budget
        self._conditions, self._fruitless = conditions, fruitless
        self._lenders = Lenders(AllTrees(snapshot), snapshot.sharing.tolist())
        joint = [one.roots for one in conflicts if one.joint]
        self._costs = TreeCosts(snapshot, conditions, joint, self._lenders, budget)

    @property
    def _variables(self) -> list[ProviderPart]:
        return self._conditions.variables

    def nearest(self, most: int) -> list[Miss]:
        """Return the trees without candidates that are nearest to having one, at most `most`.

        Few failing conditions come before many, then small shortfalls before large ones. If the
        budget is used up, fewer trees are returned, or none. Raises Abandoned if the client left.
        """
        try:
            cost = self._costs.by_root()
        except OutOfTime:
            return []
        candidates = np.flatnonzero(self._fruitless)
        count = min(most * _SHORTLIST, len(candidates))
        if not count:
            return []
        kept = np.argsort(cost[candidates], kind="stable")[:count]
        looked_at: list[_Look] = []
        with contextlib.suppress(OutOfTime):
            for root in candidates[kept].tolist():
                looked_at.append(self._look(root))
        looked_at = sorted(looked_at, key=lambda look: _place(look.miss))[:most]
        nearest = [look.miss for look in looked_at]
        with contextlib.suppress(OutOfTime):
            for number, look in enumerate(looked_at):
                nearest[number] = self._least(look)
        return sorted((miss for miss in nearest if miss.missing), key=_place)

    def of_tree(self, root: int) -> Miss:
        """Return all that a tree lacks."""
        return self._least(self._look(root))

    def _look(self, root: int) -> "_Look":
        """Choose for each part of the request the provider that comes nearest to serving it."""
        members = self._snapshot.forest.members(root).tolist()
        lent = list(self._lenders.of_tree(root, members)) if self._lenders else []
        chosen = self._chosen(root, members, lent)
        return _Look(root, chosen, self._miss(root, root, self._missing(root, chosen)))

    def _least(self, look: "_Look") -> Miss:
        """Return what the tree lacks if other providers are chosen, where that is less."""
        least = look.miss
        together = [one for one in least.missing if one.reason in OF_ALL or one.of_tree]
        if together and look.chosen:
            searched = TreeSearch(
                self._snapshot,
                self._request,
                self._variables,
                look.root,
                look.chosen,
                self._budget,
            )
            for other in searched.assignments(together):
                found = self._miss(look.root, look.root, self._missing(look.root, other))
                least = min(least, found, key=_place)
        return least

    def of_provider(self, slot: int) -> Miss:
        """Return all that a provider lacks to serve every group by itself."""
        root = int(self._snapshot.forest.root[slot])
        missing = self._missing(root, [slot] * len(self._variables), alone=True)
        if not missing and self._fruitless[root]:
            return self.of_tree(root)
        return self._miss(root, slot, missing)

    def _miss(self, root: int, slot: int, missing: list[Missing]) -> Miss:
        found = _distinct(missing)
        first = next((one.slot for one in found if one.slot is not None), slot)
        return Miss(root, first, tuple(found))

    def _chosen(self, root: int, members: list[int], lent: list[int]) -> list[int]:
        """Return for each variable the provider that comes nearest to serving it."""
        self._budget.look()
        # groups that ask for the same have the same conditions
        known: dict[tuple[int, tuple[str, ...]], int] = {}
        chosen = []
        for variable in self._variables:
            self._budget.spend(_LOOKING + len(members))
            key = (id(variable.group), variable.classes)
            if key not in known:
                known[key] = self._closest(variable.conditions, root, members, lent)
            chosen.append(known[key])
        return chosen

    def _missing(self, root: int, chosen: Sequence[int], alone: bool = False) -> list[Missing]:
        """Return all that is unmet if these providers serve the variables."""
        found = [
            Missing("", condition.reason, condition.name, root)
            for condition in self._conditions.of_root
            if not condition.own[root]
        ]
        known: dict[tuple[int, tuple[str, ...], int], list[Missing]] = {}
        for variable, slot in zip(self._variables, chosen, strict=True):
            key = (id(variable.group), variable.classes, slot)
            if key not in known:
                known[key] = list(self._failing(variable, root, slot))
            found += (dataclasses.replace(one, group=variable.suffix) for one in known[key])
        found += self._traits_missing(chosen)
        return found if alone else [*found, *self._together(chosen)]

    def _traits_missing(self, chosen: Sequence[int]) -> Iterator[Missing]:
        """Yield the traits that none of the unsuffixed group's providers has."""
        mine = [
            (variable.group, slot)
            for variable, slot in zip(self._variables, chosen, strict=True)
            if variable.group.of_tree
        ]
        for condition in mine[0][0].of_tree if mine else []:
            if not any(condition.own[slot] for _, slot in mine):
                yield Missing("", condition.reason, condition.name, mine[0][1], of_tree=True)

    def _together(self, chosen: Sequence[int]) -> Iterator[Missing]:
        """Yield what the groups need together and these providers don't give."""
        request, forest = self._request, self._snapshot.forest
        slots_of: dict[str, set[int]] = {}
        for variable, slot in zip(self._variables, chosen, strict=True):
            slots_of.setdefault(variable.suffix, set()).add(slot)
        suffixed = [slot for suffix, slots in slots_of.items() if suffix for slot in slots]
        if request.isolate and len(set(suffixed)) < len(suffixed):
            yield Missing("", Reason.ISOLATE, "group_policy=isolate")
        for suffixes in sorted(set(request.same_subtree), key=sorted):
            within = {slot for suffix in suffixes for slot in slots_of[suffix]}
            above = [set(forest.lineage(slot)) for slot in within]
            if len(within) > 1 and not any(all(top in one for one in above) for top in within):
                yield Missing("", Reason.SAME_SUBTREE, ",".join(sorted(suffixes)))
        asked: dict[tuple[str, int], list[int]] = {}
        for variable, slot in zip(self._variables, chosen, strict=True):
            for name in variable.classes:
                amounts = asked.setdefault((name, slot), [])
                amounts.append(variable.group.group.resources[name])
        for (name, slot), amounts in sorted(asked.items()):
            total, room = sum(amounts), self._room(name, slot)
            if len(amounts) > 1 and room < total:
                far = 1 - room / total if room > 0 else 1.0
                yield Missing(
                    "", Reason.TOGETHER, name, slot, total, self._amounts(name, total, slot), far
                )
        used = {slot for _, slot in asked}
        if not request.nested and len({int(forest.root[slot]) for slot in used}) < len(used):
            yield Missing("", Reason.TOGETHER, "")

    def _room(self, name: str, slot: int) -> int:
        class_id = self._snapshot.names.class_ids.get(name, -1)
        return int(self._snapshot.column(class_id).rooms_at(np.array([slot]))[0])

    def _closest(
        self, conditions: Sequence[Condition], root: int, members: list[int], lent: list[int]
    ) -> int:
        """Return the provider that is nearest to meeting the conditions for the tree.

        A provider that lacks a class is farther than one with too little of it, although it fails
        fewer conditions: without an inventory, its units aren't judged.
        """
        slots = np.array([*members, *lent])
        absent, failed, far = (np.zeros(len(slots)) for _ in range(3))
        for condition in conditions:
            bad = ~np.concatenate([condition.own[members], condition.shared[lent]])
            if condition.roots is not None and not condition.roots[root]:
                bad[:] = True
            absent += bad & (condition.reason in _ABSENT)
            failed += bad
            far += bad * (1.0 if condition.shortfall is None else condition.shortfall[slots])
        return int(slots[np.lexsort((far, failed, absent))[0]])

    def _failing(self, variable: ProviderPart, root: int, slot: int) -> Iterator[Missing]:
        own = int(self._snapshot.forest.root[slot]) == root
        for condition in variable.conditions:
            ok = bool((condition.own if own else condition.shared)[slot])
            where = slot
            if ok:
                if condition.roots is None or condition.roots[root]:
                    continue
                where = root
            asked, name = condition.asked, condition.name
            amounts = None if asked is None else self._amounts(name, asked, slot)
            far = 1.0 if condition.shortfall is None else float(condition.shortfall[slot])
            yield Missing(variable.suffix, condition.reason, name, where, asked, amounts, far)

    def _amounts(self, name: str, asked: int, slot: int) -> Amounts | None:
        snapshot = self._snapshot
        column = snapshot.column(snapshot.names.class_ids.get(name, -1))
        there, at = column.find(np.array([slot]))
        if not there[0]:
            return None
        place = int(at[0])
        stock, used = column.stock(place), column.used_at(place)
        return Amounts(
            asked,
            free_amount(stock, used),
            stock.total,
            stock.reserved,
            used,
            stock.ratio,
            stock.min_unit,
            stock.max_unit,
            stock.step_size,
        )


_ABSENT = frozenset([Reason.NO_INVENTORY, Reason.NO_SHARING])
OF_ALL = frozenset([Reason.TOGETHER, Reason.ISOLATE, Reason.SAME_SUBTREE])


def _shortfall(missing: Sequence[Missing]) -> float:
    return sum(one.shortfall for one in missing)


def _place(miss: Miss) -> tuple[int, float, int]:
    return (*_order(miss.missing), miss.root)


def _order(missing: Sequence[Missing]) -> tuple[int, float]:
    return len(missing), _shortfall(missing)


def _distinct(missing: list[Missing]) -> list[Missing]:
    """Leave out repetitions: classes of one group may fail for the same reason."""
    found: dict[object, Missing] = {}
    for one in missing:
        # sums of groups differ by provider
        where = one.slot if one.reason is Reason.TOGETHER else None
        found.setdefault((one.group, one.reason, one.name, where), one)
    return list(found.values())
