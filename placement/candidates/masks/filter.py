"""From groups to masks: which providers can serve what, and which roots can serve all.

The cheap half of the search: whole columns at a time, before any combination is looked at. A class
is *contested* if several parts of a request ask for it, maybe of one provider.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from placement.candidates.cloud.columns import Mask, Numbers
from placement.candidates.cloud.snapshot import SearchedTrees
from placement.candidates.masks import mask_steps
from placement.candidates.masks.mask_steps import (
    MaskStep,
    Remaining,
    ResolvedGroup,
    StepListener,
    Unmatched,
    resolve,
    trait_ids,
)
from placement.candidates.request import CandidateRequest, Group
from placement.candidates.tree_problem import Demand

#: the name of the step that leaves out the trees to avoid
AVOID = "avoid"
#: free amounts above this count as this: their sums still fit into 64 bits
_MOST = 1 << 40
#: with more different sums than these, free amounts aren't rounded
_MOST_SUMS = 64


@dataclasses.dataclass(frozen=True, eq=False)
class RequestPart:
    """What comes from one provider of a candidate: a suffixed group, or a class of the unsuffixed.

    :param own: providers that can serve it within their own tree
    :param shared: sharing providers that can serve it in the other trees of their aggregates
    """

    suffix: str
    demand: Demand
    own: Mask
    shared: Mask


@dataclasses.dataclass(frozen=True, eq=False)
class FilteredGroup:
    """The parts of one group, and the conditions on all of them together.

    :param roots: the roots of trees that have options for every part
    :param trait_sets: for each set of required traits, the providers with one of its traits. Of
        each set, one of the providers that serve the parts must be among them. Empty if every
        part's masks have only such providers
    """

    suffix: str
    parts: tuple[RequestPart, ...]
    roots: Mask
    trait_sets: tuple[Mask, ...] = ()

    @property
    def decided(self) -> bool:
        """Say whether every root of `roots` surely has an option for the group."""
        return len(self.parts) == 1 or not self.trait_sets


def root_filter(trees: SearchedTrees, request: CandidateRequest, listener: StepListener) -> Mask:
    """Return the roots that pass avoid and root_required.

    Raises BadRequest for traits that don't exist.
    """
    cloud = trees.cloud
    mask = cloud.forest.is_root
    listener.begin(mask)
    if request.avoid:
        passing = np.ones(cloud.size, np.bool_)
        passing[trees.roots(request.avoid)] = False
        mask = mask & passing
        listener.root_step(AVOID, passing)
    if not request.root_required and not request.root_forbidden:
        return mask
    required = trait_ids(cloud, request.root_required)
    forbidden = trait_ids(cloud, request.root_forbidden)
    for name, trait_id in zip(sorted(request.root_required), required, strict=True):
        passing = cloud.has_trait([trait_id])
        mask = mask & passing
        listener.root_step(name, passing)
    for name, trait_id in zip(sorted(request.root_forbidden), forbidden, strict=True):
        passing = ~cloud.has_trait([trait_id])
        mask = mask & passing
        listener.root_step(f"!{name}", passing)
    return mask


class GroupFilter:
    """Filters the providers for one group after the other.

    :param roots: the roots that may be anchors at all
    """

    def __init__(self, trees: SearchedTrees, roots: Mask, listener: StepListener) -> None:
        self._trees, self._cloud = trees, trees.cloud
        self._roots = roots
        self._listener = listener
        self._known: dict[object, tuple[str, Mask, Mask]] = {}

    def apply(self, group: Group) -> FilteredGroup | None:
        """Return the group's options, or None if masks show that there are none.

        Raises BadRequest for a name that doesn't exist, as `resolve` does.
        """
        resolved = resolve(self._trees, group)
        if isinstance(resolved, Unmatched):
            self._listener.unmatched(group, resolved.step)
            return None
        of_one = bool(resolved.suffix)
        found = self._of_one_provider(resolved) if of_one else self._of_several(resolved)
        return found if found.roots.any() else None

    def _remaining(self, suffix: str, steps: Iterable[MaskStep]) -> Remaining:
        """Return what the steps leave, one after the other, and tell the listener of each."""
        alive = self._cloud.forest.alive
        remaining = Remaining(alive, alive, self._roots)
        for step in steps:
            before, remaining = remaining, remaining.after(step)
            self._listener.step(suffix, step, before, remaining)
        return remaining

    def _of_one_provider(self, group: ResolvedGroup) -> FilteredGroup:
        """Filter for a suffixed group; equal groups have the same masks."""
        key = group.conditions
        known = self._known.get(key)
        if known is None:
            steps = mask_steps.of_one_provider(self._cloud, group)
            mask = self._remaining(group.suffix, steps).own
            roots = self._cloud.reached(mask, mask) & self._roots
            self._known[key] = group.suffix, mask, roots
        else:
            first, mask, roots = known
            self._listener.alike(group.suffix, first)
        return FilteredGroup(
            group.suffix, (RequestPart(group.suffix, group.demand, mask, mask),), roots
        )

    def _of_several(self, group: ResolvedGroup) -> FilteredGroup:
        """Filter for the unsuffixed group: a part for each class, and trait sets for all parts."""
        suffix = group.suffix
        steps = mask_steps.of_several_providers(self._cloud, group)
        traits: list[MaskStep] = []
        if self._needs_one_provider(group):
            at_once = mask_steps.of_required_traits_at_once(self._cloud, group)
            steps = itertools.chain(steps, at_once)
        else:
            traits = list(mask_steps.of_required_traits(self._cloud, group))
        remaining = self._remaining(suffix, steps)
        roots, parts = remaining.roots, []
        resources = mask_steps.of_resources(self._cloud, group)
        for demand, step in zip(group.demand, resources, strict=True):
            fitting = remaining.after(step)
            parts.append(RequestPart(suffix, (demand,), fitting.own, fitting.shared))
            roots = roots & self._cloud.reached(fitting.own, fitting.shared)
            self._listener.part(suffix, step, remaining, fitting)
        for step in traits:
            own = np.logical_or.reduce([part.own for part in parts]) & step.own
            shared = np.logical_or.reduce([part.shared for part in parts]) & step.shared
            roots = roots & self._cloud.reached(own, shared)
            self._listener.traits_of_tree(suffix, step, own, shared)
        return FilteredGroup(suffix, tuple(parts), roots, tuple(step.own for step in traits))

    def _needs_one_provider(self, group: ResolvedGroup) -> bool:
        """Say whether all parts of the unsuffixed group must be on one and the same provider."""
        flat = not self._cloud.forest.nested and not len(self._cloud.sharing)
        return flat or len(group.demand) == 1


@dataclasses.dataclass(frozen=True)
class Contested:
    """What the parts of a request ask of one contested class.

    The search within a tree asks only which of the parts' amounts fit together. So a free amount
    may be rounded down to the largest sum of such amounts. For example, three groups ask for 12
    each: then 12, 13 and 23 free all serve one group, and count as 12. Trees that differ only in
    such numbers have the same problem, which is solved once.

    :param total: the sum of all amounts
    :param sums: every sum that some of the amounts have, ascending from 0; None: free amounts
        aren't rounded
    """

    total: int
    sums: Numbers | None

    def rounded(self, rooms: Numbers) -> Numbers:
        """Return free amounts, rounded down to what can be asked of them."""
        cut = np.clip(rooms.astype(np.int64), 0, min(self.total, _MOST))
        return cut if self.sums is None else self.sums[np.searchsorted(self.sums, cut, "right") - 1]


def contested(parts: Sequence[RequestPart]) -> dict[int, Contested]:
    """Return the classes that several parts ask for, by their ids, ascending.

    With group_policy=isolate, one provider serves one suffixed group. The sums are kept all the
    same, because an explanation also asks what fits without that policy.
    """
    asked: dict[int, list[int]] = {}
    for part in parts:
        for class_id, amount in part.demand:
            asked.setdefault(class_id, []).append(amount)
    return {
        class_id: Contested(sum(amounts), _sums(amounts))
        for class_id, amounts in sorted(asked.items())
        if len(amounts) > 1
    }


def _sums(amounts: Sequence[int]) -> Numbers | None:
    """Return every sum that some of the amounts have: 0, 2, 3 and 5 for the amounts 2 and 3.

    None if rounding to them isn't worth it: there are too many, they are too large, or every number
    up to the largest is one of them.
    """
    sums = {0}
    for amount in amounts:
        sums |= {one + amount for one in sums}
        if len(sums) > _MOST_SUMS:
            return None
    total = max(sums)
    return None if total > _MOST or len(sums) > total else np.array(sorted(sums), np.int64)
