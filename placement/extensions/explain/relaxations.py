"""Finds changes of a request with which more trees have candidates (extensions.md 5).

A change drops one condition, or lowers one amount. The search itself tries each of them.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from placement.candidates.budget import Budget, OutOfMemory, OutOfTime
from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.free_amounts import LARGEST
from placement.candidates.cloud.sharing_providers import reached
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest, Group
from placement.candidates.search import Search
from placement.errors import BadRequest
from placement.extensions.explain.conditions import Condition, RequestConditions, listed
from placement.schemas.json_schema import Json

#: how many changes are shown
_MOST = 20
#: how many amounts are tried in place of one
_TRIES = 4


@dataclasses.dataclass(frozen=True)
class Relaxation:
    """One change of the request that helps.

    :param change: `drop` with the parameter to leave out of the query, or `lower` with a class, its
        `group` if that has a suffix, and the amount `to` ask for
    :param text: the same in words
    :param trees: how many trees then have candidates
    """

    change: Json
    text: str
    trees: int

    def as_json(self) -> Json:
        """Return it as an answer has it."""
        return {"change": self.change, "text": self.text, "trees": self.trees}


def relaxations_of(
    snapshot: Snapshot,
    request: CandidateRequest,
    conditions: RequestConditions,
    fruitful: Mask,
    budget: Budget,
) -> tuple[Relaxation, ...]:
    """Return the changes that give more trees candidates, the most helpful first.

    Changes that aren't tried before the budget is used up are left out.

    :param conditions: what the request consists of
    :param fruitful: the roots whose trees have candidates without any change
    """
    known = int(fruitful.sum())
    found: list[Relaxation] = []
    try:
        for change, text, easier in _dropping(request):
            trees = _trees(snapshot, easier, budget)
            if trees > known:
                found.append(Relaxation(change, text, trees))
        for number, group in enumerate(request.groups):
            for name in group.resources:
                lowered = _lowered(snapshot, request, conditions, number, name, known, budget)
                found += [lowered] if lowered is not None else []
    except (OutOfTime, OutOfMemory):
        pass
    found.sort(key=lambda relaxation: -relaxation.trees)
    return tuple(found[:_MOST])


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


def _lowered(
    snapshot: Snapshot,
    request: CandidateRequest,
    conditions: RequestConditions,
    number: int,
    name: str,
    known: int,
    budget: Budget,
) -> Relaxation | None:
    """Return the nearest lower amount of a class that helps; None: none does."""
    group = request.groups[number]
    asked = group.resources[name]
    for amount in _amounts(snapshot, conditions, group, name, budget):
        resources = {**group.resources, name: amount}
        easier = _with_group(request, number, dataclasses.replace(group, resources=resources))
        trees = _trees(snapshot, easier, budget)
        if trees > known:
            change: Json = {"lower": name, "to": amount}
            text = f"{name} {asked} → {amount}"
            if group.suffix:
                change = {"lower": name, "group": group.suffix, "to": amount}
                text += f" in group {group.suffix}"
            return Relaxation(change, text, trees)
    return None


def _amounts(
    snapshot: Snapshot, conditions: RequestConditions, group: Group, name: str, budget: Budget
) -> list[int]:
    """Return lower amounts to try, the largest first.

    They are what providers have that meet all other conditions. If some of these have enough, one
    amount isn't the problem, but the sum of several groups is: then fractions of the amount are
    tried, too.
    """
    asked = group.resources[name]
    class_id = snapshot.names.class_ids.get(name, -1)
    column = snapshot.column(class_id)
    if not len(column.slots) or asked <= 1:
        return []
    providers = _otherwise_fitting(snapshot, conditions, group.suffix, name, budget)[column.slots]
    step = np.maximum(column.step_size, 1)
    below = np.minimum(column.room.astype(np.int64), min(asked - 1, LARGEST)) // step * step
    fitting = below[providers & (below >= np.maximum(column.min_unit, 1))]
    nearest = np.unique(fitting)[::-1][:_TRIES].tolist()
    if nearest and nearest[0] >= asked - 1:
        nearest += [amount for amount in (asked * 3 // 4, asked // 2, asked // 4, 1) if amount]
    return sorted({int(amount) for amount in nearest if 0 < amount < asked}, reverse=True)


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
            mine = other == suffix and any(_is_amount(one, name) for one in variable)
            own, shared, served = _meeting(snapshot, variable, name if mine else None)
            if mine:
                found = own | shared
            roots = roots & served
        for condition in group.of_tree:
            roots = roots & reached(snapshot, condition.own, condition.shared)
    if not len(snapshot.sharing):
        return found & roots[snapshot.forest.root]
    return found & (roots[snapshot.forest.root] | _lending(snapshot, found))


def _lending(snapshot: Snapshot, providers: Mask) -> Mask:
    mask = np.zeros(snapshot.size, np.bool_)
    mask[snapshot.sharing] = True
    return mask & providers


def _meeting(
    snapshot: Snapshot, conditions: list[Condition], but: str | None
) -> tuple[Mask, Mask, Mask]:
    """Return the providers that meet conditions for their own tree, and for others; and the roots.

    :param but: a class whose amount doesn't count
    """
    own = shared = snapshot.forest.alive
    roots = snapshot.forest.is_root
    for condition in conditions:
        if but is not None and _is_amount(condition, but):
            continue
        own, shared = own & condition.own, shared & condition.shared
        if condition.roots is not None:
            roots = roots & condition.roots
    return own, shared, reached(snapshot, own, shared) & roots


def _is_amount(condition: Condition, name: str) -> bool:
    return condition.asked is not None and condition.name == name


def _dropping(
    request: CandidateRequest,
) -> Iterator[tuple[Json, str, CandidateRequest]]:
    """Yield the request without each of its conditions: the change, its text, the rest."""
    for parameter, text, easier in _dropped_from_all(request):
        yield {"drop": parameter}, f"without {text}", easier
    for number, group in enumerate(request.groups):
        of_group = f" in group {group.suffix}" if group.suffix else ""
        for parameter, value, text, other in _dropped_from_group(group):
            change = {"drop": f"{parameter}{group.suffix}={value}"}
            yield change, f"without {text}{of_group}", _with_group(request, number, other)


def _dropped_from_all(request: CandidateRequest) -> Iterator[tuple[str, str, CandidateRequest]]:
    def without(**changes: Any) -> CandidateRequest:
        return dataclasses.replace(request, **changes)

    for trait in sorted(request.root_required):
        text = f"root_required={trait}"
        yield text, text, without(root_required=request.root_required - {trait})
    for trait in sorted(request.root_forbidden):
        text = f"root_required=!{trait}"
        yield text, text, without(root_forbidden=request.root_forbidden - {trait})
    if request.isolate:
        yield "group_policy=isolate", "group_policy=isolate", without(isolate=False)
    for suffixes in dict.fromkeys(request.same_subtree):
        others = tuple(other for other in request.same_subtree if other != suffixes)
        if _may_stand_alone(request, suffixes, others):
            text = f"same_subtree={','.join(sorted(suffixes))}"
            yield text, text, without(same_subtree=others)


def _may_stand_alone(
    request: CandidateRequest, suffixes: frozenset[str], others: tuple[frozenset[str], ...]
) -> bool:
    """Say whether a query without this same_subtree is valid: groups without resources need one."""
    bare = {group.suffix for group in request.groups if not group.resources}
    return all(any(suffix in other for other in others) for suffix in bare & suffixes)


def _dropped_from_group(group: Group) -> Iterator[tuple[str, str, str, Group]]:
    """Yield the group without each of its conditions: parameter, value, text, the rest."""

    def without(**changes: Any) -> Group:
        return dataclasses.replace(group, **changes)

    for names in dict.fromkeys(group.required):
        left = tuple(other for other in group.required if other != names)
        yield "required", listed(names), listed(names), without(required=left)
    for name in sorted(group.forbidden):
        left_ = group.forbidden - {name}
        yield "required", f"!{name}", f"forbidden {name}", without(forbidden=left_)
    for uuids in dict.fromkeys(group.member_of):
        left = tuple(other for other in group.member_of if other != uuids)
        text = f"member_of {listed(uuids)}"
        yield "member_of", listed(uuids), text, without(member_of=left)
    for uuid in sorted(group.not_member_of):
        left_ = group.not_member_of - {uuid}
        yield "member_of", f"!{uuid}", f"forbidden aggregate {uuid}", without(not_member_of=left_)
    if group.in_tree is not None:
        text = f"in_tree {group.in_tree}"
        yield "in_tree", group.in_tree, text, without(in_tree=None)


def _with_group(request: CandidateRequest, number: int, group: Group) -> CandidateRequest:
    groups = (*request.groups[:number], group, *request.groups[number + 1 :])
    return dataclasses.replace(request, groups=groups)
