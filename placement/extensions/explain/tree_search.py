"""Asks the search who could serve the groups of one tree if some conditions were met there."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.snapshot import AllTrees, Snapshot
from placement.candidates.masks.filter import FilteredGroup, RequestPart
from placement.candidates.request import CandidateRequest
from placement.candidates.slots import SearchedSlots
from placement.candidates.trees.tree_problems import AnchorTrees
from placement.extensions.explain.conditions import Missing, ProviderPart, Reason

#: so many conditions of all groups are left out, each by itself
_MOST_LEFT_OUT = 8
#: without these, an amount isn't limited by what a provider has
_ROOM = frozenset([Reason.NO_INVENTORY, Reason.NO_SHARING, Reason.CAPACITY, Reason.MAX_UNIT])


class TreeSearch:
    """The search within one tree, as if what these providers fail were met.

    :param variables: what has to be given
    :param chosen: a provider for each of them: what it fails counts as met by everyone
    """

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        variables: Sequence[ProviderPart],
        root: int,
        chosen: Sequence[int],
        budget: Budget,
    ) -> None:
        self._snapshot, self._request, self._budget = snapshot, request, budget
        self._variables, self._root = variables, root
        own_tree = snapshot.forest.root
        #: by variable, the conditions that count
        self._needed = [
            [
                condition
                for condition in variable.conditions
                if (condition.own if int(own_tree[slot]) == root else condition.shared)[slot]
            ]
            for variable, slot in zip(variables, chosen, strict=True)
        ]

    def assignments(self, unmet: Sequence[Missing]) -> Iterator[list[int]]:
        """Yield other providers for the variables, if there are such.

        :param unmet: what the groups lack together; first all of it is to be met, then all but one
        """
        for left_out in (None, *unmet[:_MOST_LEFT_OUT]):
            found = self._search(left_out)
            if found is not None:
                yield found

    def _search(self, left_out: Missing | None) -> list[int] | None:
        request, groups, places = self._request, [], []
        # parts with the same conditions are of one kind: the search knows it by their masks
        masks: dict[tuple[int, ...], tuple[Mask, Mask]] = {}
        by_suffix: dict[str, list[int]] = {}
        for number, variable in enumerate(self._variables):
            by_suffix.setdefault(variable.suffix, []).append(number)
        for suffix, numbers in by_suffix.items():
            traits = self._variables[numbers[0]].group.of_tree
            dropped = left_out.name if left_out is not None and left_out.of_tree else None
            sets = tuple(one.own for one in traits if one.name != dropped)
            parts = tuple(self._part(number, left_out, masks) for number in numbers)
            groups.append(FilteredGroup(suffix, parts, self._snapshot.forest.is_root, sets))
            places += numbers
        if left_out is not None:
            request = _without(request, left_out)
        trees = AnchorTrees(AllTrees(self._snapshot), request, groups, self._budget)
        nothing = SearchedSlots(np.zeros(0, np.int32))
        (family,) = trees.families(nothing, SearchedSlots(np.array([self._root], np.int32)))
        solution = family.solutions.at(0)
        if solution is None:
            return None
        slots = family.slots(0)
        return [int(slots[local]) for _, local in sorted(zip(places, solution, strict=True))]

    def _part(
        self,
        number: int,
        left_out: Missing | None,
        masks: dict[tuple[int, ...], tuple[Mask, Mask]],
    ) -> RequestPart:
        variable, needed = self._variables[number], self._needed[number]
        key = tuple(map(id, needed))
        if key not in masks:
            own = shared = self._snapshot.forest.alive
            for condition in needed:
                own, shared = own & condition.own, shared & condition.shared
            masks[key] = own, shared
        ids, amounts = self._snapshot.names.class_ids, variable.group.group.resources
        free = {one.name for one in variable.conditions if one.reason in _ROOM} - {
            one.name for one in variable.conditions if one.reason in _ROOM and one not in needed
        }
        if left_out is not None and left_out.reason is Reason.TOGETHER:
            free.discard(left_out.name)
        demand = tuple((ids[name], amounts[name]) for name in variable.classes if name in free)
        return RequestPart(variable.suffix, demand, *masks[key])


def _without(request: CandidateRequest, left_out: Missing) -> CandidateRequest:
    if left_out.reason is Reason.ISOLATE:
        return dataclasses.replace(request, isolate=False)
    if left_out.reason is Reason.SAME_SUBTREE:
        names = frozenset(left_out.name.split(","))
        others = tuple(one for one in request.same_subtree if one != names)
        return dataclasses.replace(request, same_subtree=others)
    if left_out.reason is Reason.TOGETHER and not left_out.name:
        return dataclasses.replace(request, nested=True)
    return request
