"""Conflicts of trees that can serve each group by itself, but not all at once.

The search itself is asked again, with conditions left out one after the other: what can't be left
out is the conflict. Trees with the same problem share its answer.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from placement.candidates.budget import Budget, OutOfMemory, OutOfTime
from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.snapshot import AllTrees, Snapshot
from placement.candidates.masks.filter import FilteredGroup
from placement.candidates.request import CandidateRequest
from placement.candidates.slots import SearchedSlots
from placement.candidates.trees.tree_problems import AnchorTrees
from placement.extensions.explain.conditions import Condition, Reason, in_order, listed
from placement.extensions.explain.conflicts import TreeConflict

#: of how many groups it is found out which of them collide
_MOST_GROUPS = 16
#: of how many trees, all with different problems
_MOST_TREES = 64
_NONE = SearchedSlots(np.zeros(0, np.int32))


@dataclasses.dataclass(frozen=True)
class _Kept:
    """What is left of a request.

    :param traits: the trait sets of which the unsuffixed group's providers need one each
    """

    subtrees: tuple[frozenset[str], ...]
    isolate: bool
    traits: tuple[str, ...]
    suffixes: tuple[str, ...]

    def without(self) -> "list[_Kept]":
        """Return it without each single condition, those first that are rather left out."""
        less = [
            dataclasses.replace(self, subtrees=tuple(o for o in self.subtrees if o != one))
            for one in self.subtrees
        ]
        if self.isolate:
            less.append(dataclasses.replace(self, isolate=False))
        less += [
            dataclasses.replace(self, traits=tuple(o for o in self.traits if o != one))
            for one in self.traits
        ]
        if 1 < len(self.suffixes) <= _MOST_GROUPS:
            less += [
                dataclasses.replace(self, suffixes=tuple(o for o in self.suffixes if o != one))
                for one in reversed(self.suffixes)
            ]
        return less


def joint_conflicts(
    snapshot: Snapshot,
    request: CandidateRequest,
    groups: Sequence[FilteredGroup],
    trees: AnchorTrees,
    fruitless: Mask,
    budget: Budget,
) -> list[TreeConflict]:
    """Return the conflict of each tree that can serve every group, but has no candidate.

    If the budget is used up, some conflicts may have more conditions than they need.
    """
    by_problem: dict[int, list[np.ndarray]] = {}
    roots = np.flatnonzero(fruitless).astype(np.int32)
    for family in trees.families(_NONE, SearchedSlots(roots)):
        by_problem.setdefault(id(family.solutions), []).append(family.roots)
    alike = {int(of[0][0]): np.concatenate(of) for of in by_problem.values()}
    proof = _Proof(snapshot, request, groups, budget)
    whole = _Kept(
        tuple(sorted((one for one in set(request.same_subtree) if len(one) > 1), key=sorted)),
        request.isolate,
        tuple(sorted(proof.traits)),
        tuple(sorted((group.suffix for group in groups), key=in_order)),
    )
    some = list(alike)[:_MOST_TREES]
    found = dict.fromkeys(alike, whole) | proof.needed(whole, some)
    kept: dict[_Kept, Mask] = {}
    for root, needed in found.items():
        mask = kept.setdefault(needed, np.zeros(snapshot.size, np.bool_))
        mask[alike[root]] = True
    return [proof.conflict(needed, mask) for needed, mask in kept.items()]


class _Proof:
    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        groups: Sequence[FilteredGroup],
        budget: Budget,
    ) -> None:
        self._snapshot, self._request, self._budget = snapshot, request, budget
        self._groups = {group.suffix: group for group in groups}
        unsuffixed = next((one for one in request.groups if not one.suffix), None)
        known = "" in self._groups and self._groups[""].trait_sets
        #: the trait sets of the unsuffixed group, in the order of the query
        self.traits = [*map(listed, unsuffixed.required)] if unsuffixed and known else []

    def needed(self, whole: _Kept, roots: Sequence[int]) -> dict[int, _Kept]:
        """Return for each tree what can't be left out."""
        parts = {whole: list(roots)}
        done: dict[int, _Kept] = {}
        try:
            while parts:
                kept, trees = parts.popitem()
                for less in kept.without():
                    able = self._able(less, trees)
                    unable = [root for root in trees if root not in able]
                    if unable:
                        parts.setdefault(less, []).extend(unable)
                    trees = [root for root in trees if root in able]
                    if not trees:
                        break
                done |= dict.fromkeys(trees, kept)
        except (OutOfTime, OutOfMemory):
            # what is kept so far is a conflict, though perhaps not the smallest one
            parts[kept] = trees
            for kept, trees in parts.items():
                done |= dict.fromkeys(trees, kept)
        return done

    def _able(self, kept: _Kept, roots: Sequence[int]) -> set[int]:
        """Return the trees that have a candidate if only the kept conditions count."""
        self._budget.look()
        groups = []
        for suffix in kept.suffixes:
            group = self._groups[suffix]
            sets = zip(self.traits, group.trait_sets, strict=False)
            left = tuple(mask for name, mask in sets if name in kept.traits)
            groups.append(dataclasses.replace(group, trait_sets=left))
        subtrees = tuple(one & set(kept.suffixes) for one in kept.subtrees)
        easier = dataclasses.replace(
            self._request,
            isolate=kept.isolate,
            same_subtree=tuple(one for one in subtrees if len(one) > 1),
        )
        trees = AnchorTrees(AllTrees(self._snapshot), easier, groups, self._budget)
        found: set[int] = set()
        slots = SearchedSlots(np.array(sorted(roots), np.int32))
        for family in trees.families(_NONE, slots):
            if family.solutions.at(0) is not None:
                found.update(family.roots.tolist())
        return found

    def conflict(self, kept: _Kept, roots: Mask) -> TreeConflict:
        """Return the conflict of the kept conditions."""
        nobody = np.zeros(self._snapshot.size, np.bool_)

        def condition(reason: Reason, name: str) -> Condition:
            return Condition(reason, name, nobody, nobody)

        found = [condition(Reason.ISOLATE, "group_policy=isolate")] if kept.isolate else []
        found += [condition(Reason.SAME_SUBTREE, ",".join(sorted(one))) for one in kept.subtrees]
        found += [condition(Reason.TRAIT, name) for name in kept.traits]
        found += [condition(Reason.TOGETHER, suffix) for suffix in kept.suffixes]
        return TreeConflict("", tuple(found), roots, joint=True)
