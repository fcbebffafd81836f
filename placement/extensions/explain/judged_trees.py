"""The search, with a verdict on each tree: its candidates, or the conflict that it has none for."""

import contextlib
import dataclasses
from collections.abc import Sequence

import numpy as np

from placement.candidates.budget import (
    Allowance,
    Budget,
    OutOfMemory,
    OutOfTime,
    SearchEnded,
    TooManyToCount,
)
from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest
from placement.candidates.search import Search, search
from placement.candidates.trees.tree_problems import AnchorTrees
from placement.errors import SearchUnfinished
from placement.extensions.explain.conditions import Condition, Reason, RequestConditions
from placement.extensions.explain.conflicts import TreeConflict, find_conflicts
from placement.extensions.explain.joint_conflicts import joint_conflicts
from placement.extensions.explain.step_record import Steps

#: how many states may be looked at to count the candidates of a request without listing them
_COUNTED = 2_000
#: how many candidates are listed at most to count those that several trees have once
_LISTED = 10_000


@dataclasses.dataclass(eq=False)
class JudgedTrees:
    """What a search found out about each tree.

    :param fruitful: the roots of the trees with candidates
    :param undecided: the roots of the trees that weren't searched to the end
    :param candidates: how many there are; None: that isn't known
    :param conditions: what the request consists of; None: it is too much
    """

    fruitful: Mask
    undecided: Mask
    candidates: int | None = None
    ended: SearchEnded | None = None
    conditions: RequestConditions | None = None
    conflicts: Sequence[TreeConflict] = ()


def judged(
    snapshot: Snapshot, request: CandidateRequest, steps: Steps, budget: Budget
) -> JudgedTrees:
    """Search, and judge each tree. Raises BadRequest like the search, and Abandoned.

    :param steps: hears of the search
    """
    nothing, roots = np.zeros(snapshot.size, np.bool_), snapshot.forest.is_root
    conditions = RequestConditions(snapshot, request, budget)
    conflicts: list[TreeConflict] = []
    try:
        with contextlib.suppress(OutOfTime):
            find_conflicts(snapshot, conditions, conflicts, budget)
        left = roots & ~np.logical_or.reduce([nothing, *(one.roots for one in conflicts)])
        prepared = Search(snapshot, request, budget, steps).anchors()
    except OutOfMemory as early:
        return JudgedTrees(nothing, roots, None, early)
    except OutOfTime as early:
        left = left & steps.left
        why = early if left.any() else None
        return JudgedTrees(nothing, left, None, why, conditions, conflicts)
    if prepared is None:
        # the search ended at a group without options, before it came to trees
        conflicts.append(_unexplained(snapshot, left))
        return JudgedTrees(nothing, nothing, None, None, conditions, conflicts)
    trees, simple, others = prepared
    fruitful, ended = _fruitful(snapshot, trees, simple, others)
    undecided = nothing
    if ended is not None:
        # what `split` left out is decided: it has no candidate
        undecided = ended[1] & ~fruitful
    fruitless = left & ~fruitful & ~undecided
    if fruitless.any():
        found, left = [_unexplained(snapshot, fruitless)], steps.left
        with contextlib.suppress(OutOfTime, OutOfMemory):
            found = joint_conflicts(snapshot, request, trees.groups, trees, fruitless, budget)
        for conflict in found:
            left = left & ~conflict.roots
            steps.of_all(conflict.blamed.reason.value, conflict.blamed.name, left)
        conflicts += found
    result = JudgedTrees(fruitful, undecided, None, None, conditions, conflicts)
    if ended is not None and undecided.any():
        result.ended = ended[0]
    if not undecided.any() and fruitful.any():
        result.candidates = _count(snapshot, request, trees, simple, others, budget)
    return result


def _unexplained(snapshot: Snapshot, roots: Mask) -> TreeConflict:
    """Return the conflict of all groups together."""
    nobody = np.zeros(snapshot.size, np.bool_)
    return TreeConflict("", (Condition(Reason.TOGETHER, "", nobody, nobody),), roots, joint=True)


def _fruitful(
    snapshot: Snapshot, trees: AnchorTrees, simple: np.ndarray, others: np.ndarray
) -> tuple[Mask, tuple[SearchEnded, Mask] | None]:
    """Return the roots of trees with candidates; if a budget ended that, also why, and the rest."""
    found = np.zeros(snapshot.size, np.bool_)
    left = np.zeros(snapshot.size, np.bool_)
    left[simple] = left[others] = True
    try:
        for family in trees.families(simple, others):
            if family.solutions.at(0) is not None:
                found[family.roots] = True
            left[family.roots] = False
    except (OutOfTime, OutOfMemory) as ended:
        return found, (ended, left)
    return found, None


def _count(
    snapshot: Snapshot,
    request: CandidateRequest,
    trees: AnchorTrees,
    simple: np.ndarray,
    others: np.ndarray,
    budget: Budget,
) -> int | None:
    """Return how many candidates there are; None if counting them takes too long."""
    allowance, total = Allowance(_COUNTED), 0
    try:
        for family in trees.families(simple, others):
            total += family.solutions.count(allowance) * len(family)
        if not trees.lenders:
            return total
        # several trees may have the same candidate
        if total > _LISTED:
            return None
        unlimited = dataclasses.replace(request, limit=None)
        return len(search(snapshot, unlimited, budget))
    except (TooManyToCount, OutOfTime, OutOfMemory, SearchUnfinished):
        return None
