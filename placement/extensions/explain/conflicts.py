"""Proves that a tree has no candidate: conditions of the request that can't be met together there.

A *conflict* is as small as can be: without any one of its conditions the rest could be met. So each
of them is a cause, and a single one is the cause. First those of each provider that a variable of
the search needs (a suffixed group, a class of the unsuffixed group): trees whose providers fail the
same conditions share a conflict, whatever else differs. Then those of several groups together
(`joint_conflicts.py`).
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.sharing_providers import reached
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.tree_problem import bits
from placement.extensions.explain.conditions import (
    Condition,
    GroupConditions,
    Reason,
    RequestConditions,
)

#: conditions, or kinds of providers, that fit into one word, an int64
_BITS = 60
#: steps of the budget that the smallest conflict of a few providers takes, about
_SOLVING = 50
#: how many sets of conditions are tried for the smallest conflict of one size
_MOST_TRIED = 5_000
_OF_AMOUNTS = frozenset(
    [
        Reason.NO_INVENTORY,
        Reason.NO_SHARING,
        Reason.CAPACITY,
        Reason.MIN_UNIT,
        Reason.MAX_UNIT,
        Reason.STEP_SIZE,
    ]
)
Words = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class TreeConflict:
    """Conditions that no provider, or no choice of providers, meets together in some trees.

    :param group: suffix of the group; empty for the unsuffixed group and for the whole request
    :param roots: the roots of the trees
    :param joint: whether it is one of several providers or groups: each could be served by itself
    """

    group: str
    conditions: tuple[Condition, ...]
    roots: Mask
    joint: bool = False

    @property
    def blamed(self) -> Condition:
        """Return the condition that it is counted under.

        That is one which takes away the providers with room, if there is one.
        """
        first = self.conditions[0]
        if self.joint and first.reason is Reason.TOGETHER:
            return dataclasses.replace(first, name="")
        others = [one for one in self.conditions if one.reason not in _OF_AMOUNTS]
        if self.joint or len(self.conditions) == 1:
            return first
        if others:
            return others[-1]
        names = ",".join(dict.fromkeys(one.name for one in self.conditions))
        return Condition(Reason.TOGETHER, names, first.own, first.shared)


def find_conflicts(
    snapshot: Snapshot, conditions: RequestConditions, found: list[TreeConflict], budget: Budget
) -> None:
    """Find the first conflict of each tree that can't serve a group. Raise SearchEnded.

    :param found: the conflicts are added to it
    """
    left = snapshot.forest.is_root
    for condition in conditions.of_root:
        failing = left & ~condition.own
        found.append(TreeConflict("", (condition,), failing))
        left = left & ~failing
    seen: set[int] = set()
    for suffix in conditions.suffixes:
        if not left.any():
            break
        group = conditions.of_group(suffix)
        if id(group) not in seen:
            seen.add(id(group))
            for one in _of_group(snapshot, suffix, group, left, budget):
                found.append(one)
                left = left & ~one.roots


def _of_group(
    snapshot: Snapshot, suffix: str, group: GroupConditions, left: Mask, budget: Budget
) -> Iterable[TreeConflict]:
    for variable in group.of_variables():
        for condition in variable:
            if condition.roots is not None:
                failing = left & ~condition.roots
                yield TreeConflict(suffix, (condition,), failing)
                left = left & ~failing
        for numbers, roots in _of_variable(snapshot, variable, left, budget):
            yield TreeConflict(suffix, tuple(variable[number] for number in numbers), roots)
            left = left & ~roots
    able = [_meeting(snapshot, variable) for variable in group.of_variables()]
    for condition in group.of_tree:
        own = np.logical_or.reduce([own for own, _ in able]) & condition.own
        shared = np.logical_or.reduce([shared for _, shared in able]) & condition.shared
        failing = left & ~reached(snapshot, own, shared)
        anywhere = reached(snapshot, condition.own, condition.shared)
        yield TreeConflict(suffix, (condition,), failing & ~anywhere)
        amounts = (one for part in group.parts for one in part if one.reason is Reason.CAPACITY)
        yield TreeConflict(suffix, (condition, *amounts), failing & anywhere, joint=True)
        left = left & ~failing


def _meeting(snapshot: Snapshot, variable: Sequence[Condition]) -> tuple[Mask, Mask]:
    own = shared = snapshot.forest.alive
    for condition in variable:
        own, shared = own & ~condition.unmet(), shared & ~condition.unmet(shared=True)
    return own, shared


def _of_variable(
    snapshot: Snapshot, variable: Sequence[Condition], left: Mask, budget: Budget
) -> Iterable[tuple[tuple[int, ...], Mask]]:
    """Yield conflicts by the numbers of their conditions, with the roots of their trees."""
    if not left.any():
        return
    kinds, words = _kinds_of_trees(snapshot, variable, budget)
    rows, numbers = _distinct_rows(words[left])
    by_conflict: dict[tuple[int, ...], list[int]] = {}
    for number, row in enumerate(rows.tolist()):
        budget.spend(_SOLVING)
        there = [
            kinds[place * _BITS + bit] for place, word in enumerate(row) for bit in bits(int(word))
        ]
        if 0 not in there:
            by_conflict.setdefault(_smallest_conflict(there, len(variable)), []).append(number)
    roots = np.flatnonzero(left)
    for conflict, which in sorted(by_conflict.items()):
        mask = np.zeros(snapshot.size, np.bool_)
        mask[roots[np.isin(numbers, which)]] = True
        yield conflict, mask


def _kinds_of_trees(
    snapshot: Snapshot, variable: Sequence[Condition], budget: Budget
) -> tuple[list[int], Words]:
    """Return the kinds of providers, and by root which kinds serve the tree, as words of bits.

    A kind is the set of the conditions that a provider fails, as bits.
    """
    sharing, forest = snapshot.sharing, snapshot.forest
    everyone = np.arange(snapshot.size)
    places = np.concatenate([everyone, sharing])
    codes = np.zeros(len(places), np.int64)
    kinds = [0]
    for begin in range(0, len(variable), _BITS):
        part = np.zeros(len(places), np.int64)
        for bit, condition in enumerate(variable[begin : begin + _BITS]):
            budget.spend(len(places) // 1000)
            part[: snapshot.size] |= condition.unmet().astype(np.int64) << bit
            if len(sharing):
                part[snapshot.size :] |= condition.unmet(True)[sharing].astype(np.int64) << bit
        values, part = _distinct(part)
        joined, codes = _distinct(codes * len(values) + part)
        kinds = [
            kinds[code // len(values)] | int(values[code % len(values)]) << begin
            for code in joined.tolist()
        ]
    words = np.zeros((snapshot.size, -(-len(kinds) // _BITS)), np.int64)
    for place in range(words.shape[1]):
        inside = codes // _BITS == place
        flags = np.where(inside, np.int64(1) << (codes % _BITS), 0)
        own = flags[: snapshot.size] * forest.alive
        if forest.nested:
            roots = forest.roots
            own = own[forest.order]
            words[roots, place] = np.bitwise_or.reduceat(own, forest.start[roots])
        else:
            words[:, place] = own
        lent: dict[int, int] = {}
        for slot, flag in zip(sharing.tolist(), flags[snapshot.size :].tolist(), strict=True):
            budget.spend()
            for key in snapshot.aggregates_of[slot]:
                lent[key] = lent.get(key, 0) | flag
        for key, word in lent.items():
            words[snapshot.roots_of_aggregate(key), place] |= word
    return kinds, words


def _distinct(codes: Words) -> tuple[Words, Words]:
    """Return the distinct codes, ascending, and the number of each among them."""
    if len(codes) and codes.min() >= 0 and (most := int(codes.max())) < len(codes):
        # a few small numbers needn't be sorted
        there = np.bincount(codes, minlength=most + 1) > 0
        return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]
    values, numbers = np.unique(codes, return_inverse=True)
    return values, numbers.reshape(-1)


def _distinct_rows(words: Words) -> tuple[Words, Words]:
    if words.shape[1] == 1:
        values, numbers = _distinct(words[:, 0])
        return values[:, None], numbers
    rows, numbers = np.unique(words, axis=0, return_inverse=True)
    # numpy 2.0 gives the numbers another shape
    return rows, numbers.reshape(-1)


def _smallest_conflict(failing: Sequence[int], count: int) -> tuple[int, ...]:
    """Return the smallest set of conditions of which each provider fails one; the first of these.

    :param failing: the conditions that each provider fails, as bits
    :param count: how many conditions there are
    """
    everywhere = (1 << count) - 1
    for one in failing:
        everywhere &= one
    if everywhere or not failing:
        return (next(bits(everywhere)),)
    anywhere = 0
    for one in failing:
        anywhere |= one
    numbers = list(bits(anywhere))
    for size in range(2, len(numbers)):
        if math.comb(len(numbers), size) > _MOST_TRIED:
            break
        for chosen in itertools.combinations(numbers, size):
            mask = sum(1 << number for number in chosen)
            if all(mask & one for one in failing):
                return chosen
    # not the smallest, but none of it can be left out
    kept = anywhere
    for number in reversed(numbers):
        if all(kept & ~(1 << number) & one for one in failing):
            kept &= ~(1 << number)
    return tuple(bits(kept))
