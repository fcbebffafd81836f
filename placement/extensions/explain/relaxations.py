"""Finds changes of a request with which more trees have candidates (extensions.md 5).

A change drops one condition (`fewer_conditions.py`), or asks for another amount. The search itself
tries each of them.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from placement.candidates.budget import Budget, OutOfMemory, OutOfTime
from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.free_amounts import LARGEST
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest, Group
from placement.candidates.search import Search
from placement.errors import BadRequest
from placement.extensions.explain.conditions import Condition, RequestConditions, in_order
from placement.extensions.explain.conflicts import meeting
from placement.extensions.explain.fewer_conditions import changes_of, with_group
from placement.schemas.json_schema import Json

#: how many changes are shown
_MOST = 20
#: how many amounts are tried in place of one
_TRIES = 4
#: sums of what other groups may take of one provider
_MOST_SUMS = 32


@dataclasses.dataclass(frozen=True)
class Relaxation:
    """One change of the request that helps.

    :param change: `drop` with the parameter to leave out of the query, and `add` with one to put in
        its place; or `lower` or `raise` with a class, its `group` if that has a suffix, and the
        amount `to` ask for
    :param text: the same in words
    :param trees: how many trees then have candidates
    """

    change: Json
    text: str
    trees: int

    def as_json(self) -> Json:
        """Return it as an answer has it."""
        return {"change": self.change, "text": self.text, "trees": self.trees}


@dataclasses.dataclass(frozen=True)
class Relaxations:
    """The changes of a request that help.

    :param complete: whether there was time to try all changes
    """

    found: tuple[Relaxation, ...] = ()
    complete: bool = False


def relaxations_of(
    snapshot: Snapshot,
    request: CandidateRequest,
    conditions: RequestConditions,
    fruitful: Mask,
    budget: Budget,
    root_traits: bool,
) -> Relaxations:
    """Return the changes that give more trees candidates, the most helpful first.

    Changes that aren't tried before the budget is used up are left out.

    :param conditions: what the request consists of
    :param fruitful: the roots whose trees have candidates without any change
    :param root_traits: whether the query may have root_required
    """
    known, complete = int(fruitful.sum()), True
    found: list[Relaxation] = []
    try:
        for change, text, easier in changes_of(snapshot, request, root_traits):
            trees = _trees(snapshot, easier, budget)
            if trees > known:
                found.append(Relaxation(change, text, trees))
        for group in sorted(request.groups, key=lambda one: in_order(one.suffix)):
            for name in sorted(group.resources):
                asking = _OtherAmounts(snapshot, request, conditions, group, name, known, budget)
                if asking.may_help():
                    found += asking.lowered()
                    found += asking.raised()
    except (OutOfTime, OutOfMemory):
        complete = False
    found.sort(key=lambda relaxation: -relaxation.trees)
    return Relaxations(tuple(found[:_MOST]), complete)


def _trees(snapshot: Snapshot, request: CandidateRequest, budget: Budget) -> int:
    """Return how many trees have candidates."""
    budget.look()
    try:
        prepared = Search(snapshot, request, budget).anchors()
    except BadRequest:
        # without the dropped condition, the search comes to a name that doesn't exist
        return 0
    if prepared is None:
        return 0
    trees, simple, others = prepared
    found = 0
    for family in trees.families(simple, others):
        if family.solutions.at(0) is not None:
            found += len(family)
    return found


class _OtherAmounts:
    """Other amounts of one class in one group.

    :param known: how many trees have candidates of the amount that is asked for
    """

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        conditions: RequestConditions,
        group: Group,
        name: str,
        known: int,
        budget: Budget,
    ) -> None:
        self._snapshot, self._request, self._conditions = snapshot, request, conditions
        self._group, self._name, self._known, self._budget = group, name, known, budget
        self._asked = group.resources[name]
        self._column = snapshot.column(snapshot.names.class_ids.get(name, -1))

    def may_help(self) -> bool:
        """Return False if no amount helps, as more trees don't even have candidates without any.

        Without the class, other providers may serve the unsuffixed group: with its traits, or not.
        """
        others = {name: n for name, n in self._group.resources.items() if name != self._name}
        if not others or (self._group.required and not self._group.suffix):
            return True
        return self._trees_with(others) > self._known

    def lowered(self) -> Iterator[Relaxation]:
        """Yield the nearest lower amount that helps, if one does."""
        amounts = self._lower()
        for amount in amounts[:_TRIES]:
            if trees := self._helping(amount):
                yield self._relaxation("lower", amount, trees)
                return
        # most clouds have candidates of each amount below one that they have candidates of
        further, best = amounts[_TRIES:], None
        while further:
            place = 0 if best is None and len(further) == 1 else len(further) // 2
            if trees := self._helping(further[place]):
                best = further[place], trees
                further = further[:place]
            else:
                further = further[place + 1 :]
        if best is not None:
            yield self._relaxation("lower", *best)

    def raised(self) -> Iterator[Relaxation]:
        """Yield the nearest larger amount that helps, as it suits min_unit and step_size."""
        if self._asked > LARGEST:
            return
        column, asked = self._column, self._asked
        step = np.maximum(column.step_size, 1)
        suiting = -(-np.maximum(column.min_unit, asked) // step) * step
        larger = np.unique(suiting[(suiting > asked) & (suiting <= column.room)])
        for amount in larger[:_TRIES].tolist():
            if trees := self._helping(amount):
                yield self._relaxation("raise", amount, trees)
                return

    def _helping(self, amount: int) -> int:
        """Return how many trees have candidates of the amount; 0 if that are no more."""
        trees = self._trees_with({**self._group.resources, self._name: amount})
        return trees if trees > self._known else 0

    def _trees_with(self, resources: dict[str, int]) -> int:
        other = dataclasses.replace(self._group, resources=resources)
        return _trees(self._snapshot, with_group(self._request, other), self._budget)

    def _relaxation(self, how: str, amount: int, trees: int) -> Relaxation:
        change: Json = {how: self._name, "to": amount}
        text = f"{self._name} {self._asked} → {amount}"
        if self._group.suffix:
            change["group"] = self._group.suffix
            text += f" in group {self._group.suffix}"
        return Relaxation(change, text, trees)

    def _lower(self) -> list[int]:
        """Return lower amounts to try, the largest first.

        They are what providers have that meet all other conditions, and what other groups leave of
        it. Where these don't help, fractions of the amount may.
        """
        column, asked = self._column, self._asked
        if not len(column.slots) or asked <= 1:
            return []
        providers = _otherwise_fitting(
            self._snapshot, self._conditions, self._group.suffix, self._name, self._budget
        )[column.slots]
        step, least = np.maximum(column.step_size, 1), np.maximum(column.min_unit, 1)
        found: set[int] = set()
        for taken in self._of_others():
            self._budget.look()
            left = np.minimum(column.room.astype(np.int64) - taken, min(asked - 1, LARGEST))
            below = left // step * step
            found.update(np.unique(below[providers & (below >= least)]).tolist())
        if found:
            found |= {asked * 3 // 4, asked // 2, asked // 4, 1}
        return sorted({int(amount) for amount in found if 0 < amount < asked}, reverse=True)

    def _of_others(self) -> list[int]:
        """Return how much of the class other groups may take of the same provider."""
        sums = {0}
        for group in self._request.groups:
            if group.suffix != self._group.suffix and self._name in group.resources:
                more = min(group.resources[self._name], LARGEST)
                sums |= {one + more for one in sums}
            if len(sums) > _MOST_SUMS:
                break
        return sorted(sums)[:_MOST_SUMS]


def _otherwise_fitting(
    snapshot: Snapshot, conditions: RequestConditions, suffix: str, name: str, budget: Budget
) -> Mask:
    """Return the providers that meet all conditions but the amount, of trees that do so, too."""
    roots = snapshot.forest.is_root
    for condition in conditions.of_root:
        roots = roots & condition.own
    found = np.zeros(snapshot.size, np.bool_)
    for other in conditions.suffixes:
        budget.look()
        group = conditions.of_group(other)
        for variable in group.of_variables():
            rest = [one for one in variable if other != suffix or not _is_amount(one, name)]
            own, shared = meeting(snapshot, rest)
            if len(rest) < len(variable):
                found = own | shared
            for condition in rest:
                roots = roots if condition.roots is None else roots & condition.roots
            roots = roots & snapshot.reached(own, shared)
        for condition in group.of_tree:
            roots = roots & snapshot.reached(condition.own, condition.shared)
    if not len(snapshot.sharing):
        return found & roots[snapshot.forest.root]
    return found & (roots[snapshot.forest.root] | _lending(snapshot, found))


def _lending(snapshot: Snapshot, providers: Mask) -> Mask:
    mask = np.zeros(snapshot.size, np.bool_)
    mask[snapshot.sharing] = True
    return mask & providers


def _is_amount(condition: Condition, name: str) -> bool:
    return condition.asked is not None and condition.name == name
