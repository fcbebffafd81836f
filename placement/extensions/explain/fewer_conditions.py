"""The changes of a request that drop one of its conditions, as changes of its query."""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest, Group
from placement.extensions.explain.conditions import in_order, listed
from placement.schemas.json_schema import Json

#: a change of the query, its text, and the request with it
Change = tuple[Json, str, CandidateRequest]


def changes_of(
    snapshot: Snapshot, request: CandidateRequest, root_traits: bool
) -> Iterator[Change]:
    """Yield the request without each of its conditions.

    The order doesn't depend on the order of the query's parameters.

    :param root_traits: whether the query may have root_required
    """
    yield from _dropped_from_all(request)
    for group in sorted(request.groups, key=lambda one: in_order(one.suffix)):
        of_group = f" in group {group.suffix}" if group.suffix else ""
        for parameter, value, text, other in _dropped_from_group(group):
            change: Json = {"drop": f"{parameter}{group.suffix}={value}"}
            easier = with_group(request, other)
            yield change, f"without {text}{of_group}", easier
            if parameter == "required" and root_traits and not group.suffix:
                yield from _of_root(snapshot, easier, change, value)


def _of_root(
    snapshot: Snapshot, easier: CandidateRequest, change: Json, trait: str
) -> Iterator[Change]:
    """Yield the request with the trait required of the root, if a root with children has it."""
    forest = snapshot.forest
    slots = snapshot.with_trait.get(snapshot.names.trait_ids.get(trait, -1))
    if slots is None or not (forest.is_root & (forest.count > 1))[slots.slots()].any():
        return
    # a query has one root_required at most
    if not easier.root_required and not easier.root_forbidden:
        text = f"root_required={trait}"
        moved = dataclasses.replace(easier, root_required=frozenset([trait]))
        yield {**change, "add": text}, f"{text} in place of required={trait}", moved


def with_group(request: CandidateRequest, group: Group) -> CandidateRequest:
    """Return the request with another group in place of the one with the same suffix."""
    groups = tuple(group if one.suffix == group.suffix else one for one in request.groups)
    return dataclasses.replace(request, groups=groups)


def _dropped_from_all(request: CandidateRequest) -> Iterator[Change]:
    def without(**changes: Any) -> CandidateRequest:
        return dataclasses.replace(request, **changes)

    for trait in sorted(request.root_required):
        text = f"root_required={trait}"
        easier = without(root_required=request.root_required - {trait})
        yield {"drop": text}, f"without {text}", easier
    for trait in sorted(request.root_forbidden):
        text = f"root_required=!{trait}"
        easier = without(root_forbidden=request.root_forbidden - {trait})
        yield {"drop": text}, f"without {text}", easier
    if request.isolate:
        # a query with several groups must have a group_policy
        change = {"drop": "group_policy=isolate", "add": "group_policy=none"}
        yield change, "without group_policy=isolate", without(isolate=False)
    for suffixes in sorted(set(request.same_subtree), key=sorted):
        others = tuple(other for other in request.same_subtree if other != suffixes)
        if _may_stand_alone(request, suffixes, others):
            text = f"same_subtree={','.join(sorted(suffixes))}"
            yield {"drop": text}, f"without {text}", without(same_subtree=others)


def _may_stand_alone(
    request: CandidateRequest, suffixes: frozenset[str], others: tuple[frozenset[str], ...]
) -> bool:
    """Say whether a query without this same_subtree is valid: groups without resources need one."""
    bare = {group.suffix for group in request.groups if not group.resources}
    return all(any(suffix in other for other in others) for suffix in bare & suffixes)


def _named(sets: Iterable[frozenset[str]]) -> list[tuple[str, frozenset[str]]]:
    return sorted((listed(one), one) for one in set(sets))


def _dropped_from_group(group: Group) -> Iterator[tuple[str, str, str, Group]]:
    """Yield the group without each of its conditions: parameter, value, text, the rest."""

    def without(**changes: Any) -> Group:
        return dataclasses.replace(group, **changes)

    for name, names in _named(group.required):
        left = tuple(other for other in group.required if other != names)
        yield "required", name, name, without(required=left)
    for name in sorted(group.forbidden):
        left_ = group.forbidden - {name}
        yield "required", f"!{name}", f"forbidden {name}", without(forbidden=left_)
    for name, uuids in _named(group.member_of):
        left = tuple(other for other in group.member_of if other != uuids)
        yield "member_of", name, f"member_of {name}", without(member_of=left)
    for uuid in sorted(group.not_member_of):
        left_ = group.not_member_of - {uuid}
        yield "member_of", f"!{uuid}", f"forbidden aggregate {uuid}", without(not_member_of=left_)
    if group.in_tree is not None:
        text = f"in_tree {group.in_tree}"
        yield "in_tree", group.in_tree, text, without(in_tree=None)
