"""The single conditions that keep a request from having candidates (architecture.rst D13).

For programs that embed the search, like `explanation.py`. No URL shows it.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from placement.candidates.budget import Budget
from placement.candidates.explanation import explain
from placement.candidates.request import CandidateRequest, Group
from placement.candidates.snapshot import Snapshot

#: amounts that are tried in place of one that nobody can give, in each direction
_TRIES = 32


@dataclasses.dataclass(frozen=True)
class NearMiss:
    """One thing a request could do without, and the trees that would then have candidates.

    :param asked: what was asked, in the words of the query
    :param suffix: of which group; None: of the whole request
    :param instead: for resources the nearest amount that can be had; None: do without
    :param roots: uuids of the roots of those trees
    """

    asked: str
    suffix: str | None
    instead: int | None
    roots: tuple[str, ...]


def near_misses(
    snapshot: Snapshot, request: CandidateRequest, budget: Budget | None = None
) -> tuple[NearMiss, ...]:
    """Return each single condition that alone keeps a request from having candidates.

    Empty when two or more would have to go, and for a request that has candidates. Raises
    BadRequest like the search, and SearchEnded if the budget for all of it is used up before
    each condition was tried.
    """
    budget = budget or Budget()
    if _fruitful(snapshot, request, budget):
        return ()
    misses: list[NearMiss] = []
    for asked, suffix, easier in _easier(request):
        roots = _fruitful(snapshot, easier, budget)
        if roots:
            misses.append(NearMiss(asked, suffix, None, roots))
    for number, group in enumerate(request.groups):
        for name in group.resources:
            misses += _with_another_amount(snapshot, request, number, name, budget)
    return tuple(misses)


def _fruitful(snapshot: Snapshot, request: CandidateRequest, budget: Budget) -> tuple[str, ...]:
    """Return the roots whose trees have candidates. Raise SearchEnded if one is undecided."""
    explanation = explain(snapshot, request, budget)
    if explanation.ended is not None:
        raise explanation.ended
    return explanation.fruitful


def _with_another_amount(
    snapshot: Snapshot, request: CandidateRequest, number: int, name: str, budget: Budget
) -> list[NearMiss]:
    """Return the nearest amounts of a class that can be had, one less and one more than asked."""
    group = request.groups[number]
    asked = group.resources[name]
    misses = []
    for amounts in _amounts(snapshot, name, asked):
        for amount in amounts[:_TRIES]:
            other = dataclasses.replace(group, resources={**group.resources, name: amount})
            roots = _fruitful(snapshot, _with_group(request, number, other), budget)
            if roots:
                misses.append(NearMiss(f"resources {name}:{asked}", group.suffix, amount, roots))
                break
    return misses


def _amounts(snapshot: Snapshot, name: str, asked: int) -> tuple[list[int], list[int]]:
    """Return what providers could give at once: less than asked, downwards, and more, upwards."""
    # the search may have ended before it came to a name that doesn't exist
    column = snapshot.column(snapshot.names.class_ids.get(name, -1))
    step = np.maximum(column.step_size, 1)
    least = np.maximum(column.min_unit, 1)
    room = column.room.astype(np.int64)
    below = np.minimum(room, asked - 1) // step * step
    above = -(-np.maximum(least, asked + 1) // step) * step
    less = np.unique(below[below >= least]).tolist()
    return less[::-1], np.unique(above[above <= room]).tolist()


def _easier(request: CandidateRequest) -> Iterator[tuple[str, str | None, CandidateRequest]]:
    """Yield the request without one of its conditions: the condition, its group, the rest."""

    def without(**changes: object) -> CandidateRequest:
        return dataclasses.replace(request, **changes)  # type: ignore[arg-type]

    for trait in sorted(request.root_required):
        left = request.root_required - {trait}
        yield f"root_required {trait}", None, without(root_required=left)
    for trait in sorted(request.root_forbidden):
        left = request.root_forbidden - {trait}
        yield f"root_required !{trait}", None, without(root_forbidden=left)
    for suffixes in dict.fromkeys(request.same_subtree):
        others = tuple(other for other in request.same_subtree if other != suffixes)
        yield f"same_subtree {_listed(suffixes)}", None, without(same_subtree=others)
    if request.isolate:
        yield "group_policy isolate", None, without(isolate=False)
    for number, group in enumerate(request.groups):
        for asked, other in _easier_groups(group):
            yield asked, group.suffix, _with_group(request, number, other)


def _easier_groups(group: Group) -> Iterator[tuple[str, Group]]:
    def without(**changes: object) -> Group:
        return dataclasses.replace(group, **changes)  # type: ignore[arg-type]

    for names in dict.fromkeys(group.required):
        left = tuple(other for other in group.required if other != names)
        yield f"required {_listed(names)}", without(required=left)
    for name in sorted(group.forbidden):
        yield f"required !{name}", without(forbidden=group.forbidden - {name})
    for uuids in dict.fromkeys(group.member_of):
        left = tuple(other for other in group.member_of if other != uuids)
        yield f"member_of {_listed(uuids)}", without(member_of=left)
    for uuid in sorted(group.not_member_of):
        yield f"member_of !{uuid}", without(not_member_of=group.not_member_of - {uuid})
    if group.in_tree is not None:
        yield f"in_tree {group.in_tree}", without(in_tree=None)


def _listed(names: frozenset[str]) -> str:
    return ",".join(sorted(names))


def _with_group(request: CandidateRequest, number: int, group: Group) -> CandidateRequest:
    groups = (*request.groups[:number], group, *request.groups[number + 1 :])
    return dataclasses.replace(request, groups=groups)
