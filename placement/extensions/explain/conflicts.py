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
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Mask
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
#: for how many slots a look at an array costs one step
_SLOTS_OF_STEP = 1_000
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
    """Find the first conflict of each tree that can't serve a group. Raises SearchEnded.

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
    able = [meeting(snapshot, variable) for variable in group.of_variables()]
    for condition in group.of_tree:
        own = np.logical_or.reduce([own for own, _ in able]) & condition.own
        shared = np.logical_or.reduce([shared for _, shared in able]) & condition.shared
        failing = left & ~snapshot.reached(own, shared)
        anywhere = snapshot.reached(condition.own, condition.shared)
        yield TreeConflict(suffix, (condition,), failing & ~anywhere)
        amounts = (one for part in group.parts for one in part if one.reason is Reason.CAPACITY)
        yield TreeConflict(suffix, (condition, *amounts), failing & anywhere, joint=True)
        left = left & ~failing


def meeting(snapshot: Snapshot, variable: Sequence[Condition]) -> tuple[Mask, Mask]:
    """Return the providers that meet all conditions, for their own tree and for others."""
    own = shared = snapshot.forest.alive
    for condition in variable:
        own, shared = own & ~condition.unmet(), shared & ~condition.unmet(shared=True)
    return own, shared


def _of_variable(
    snapshot: Snapshot, variable: Sequence[Condition], left: Mask, budget: Budget
) -> Iterable[tuple[tuple[int, ...], Mask]]:
    """Yield conflicts by the numbers of their conditions, with the roots of their trees."""
    if not variable or not left.any():
        return
    kinds, codes = _kinds(snapshot, variable, budget)
    within, numbers = _joined(_serving(snapshot, codes, len(kinds), budget))
    numbers = numbers[left]
    by_conflict: dict[tuple[int, ...], list[int]] = {}
    for number in np.unique(numbers).tolist():
        there = [kinds[kind] for kind in bits(within[number])]
        budget.spend(_SOLVING + len(there))
        if 0 not in there:
            conflict = _smallest_conflict(there, len(variable), budget)
            by_conflict.setdefault(conflict, []).append(number)
    roots = np.flatnonzero(left)
    for conflict, which in sorted(by_conflict.items()):
        budget.spend(snapshot.size // _SLOTS_OF_STEP)
        mask = np.zeros(snapshot.size, np.bool_)
        mask[roots[np.isin(numbers, which)]] = True
        yield conflict, mask


def _kinds(
    snapshot: Snapshot, variable: Sequence[Condition], budget: Budget
) -> tuple[list[int], Words]:
    """Return the kinds of providers, and the number of the kind of each.

    A kind is the set of the conditions that a provider fails, as bits. All providers serve their
    own tree; behind them come the sharing providers, as they serve other trees.
    """
    sharing = snapshot.sharing

    def chunks() -> Iterator[Words]:
        for begin in range(0, len(variable), _BITS):
            part = np.zeros(snapshot.size + len(sharing), np.int64)
            for bit, condition in enumerate(variable[begin : begin + _BITS]):
                budget.spend(len(part) // _SLOTS_OF_STEP)
                part[: snapshot.size] |= condition.unmet().astype(np.int64) << bit
                if len(sharing):
                    part[snapshot.size :] |= condition.unmet(True)[sharing].astype(np.int64) << bit
            yield part

    return _joined(chunks())


def _serving(snapshot: Snapshot, codes: Words, count: int, budget: Budget) -> Iterator[Words]:
    """Yield by root which kinds of providers serve the tree, so many kinds at a time, as bits."""
    sharing, forest = snapshot.sharing, snapshot.forest
    for begin in range(0, count, _BITS):
        budget.spend(len(codes) // _SLOTS_OF_STEP)
        inside = (codes >= begin) & (codes < begin + _BITS)
        flags = np.where(inside, np.int64(1) << np.clip(codes - begin, 0, _BITS), 0)
        words = flags[: snapshot.size] * forest.alive
        if forest.nested:
            of_trees = np.bitwise_or.reduceat(words[forest.order], forest.start[forest.roots])
            words = np.zeros(snapshot.size, np.int64)
            words[forest.roots] = of_trees
        lent: dict[int, int] = {}
        for slot, flag in zip(sharing.tolist(), flags[snapshot.size :].tolist(), strict=True):
            budget.spend()
            for key in snapshot.aggregates_of[slot]:
                lent[key] = lent.get(key, 0) | flag
        for key, word in lent.items():
            words[snapshot.roots_of_aggregate(key)] |= word
        yield words


def _joined(chunks: Iterable[Words]) -> tuple[list[int], Words]:
    """Return the distinct sets that chunks of bits make up, and the number of each place's set."""
    sets, codes, shift = [0], np.zeros(1, np.int64), 0
    for chunk in chunks:
        values, part = _distinct(chunk)
        joined, codes = _distinct(codes * len(values) + part)
        sets = [
            sets[code // len(values)] | int(values[code % len(values)]) << shift
            for code in joined.tolist()
        ]
        shift += _BITS
    return sets, codes


def _distinct(codes: Words) -> tuple[Words, Words]:
    """Return the distinct codes, ascending, and the number of each among them."""
    if len(codes) and codes.min() >= 0 and (most := int(codes.max())) < len(codes):
        # a few small numbers needn't be sorted
        there = np.bincount(codes, minlength=most + 1) > 0
        return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]
    values, numbers = np.unique(codes, return_inverse=True)
    return values, numbers.reshape(-1)


def _smallest_conflict(failing: Sequence[int], count: int, budget: Budget) -> tuple[int, ...]:
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
            budget.spend(2 + len(failing) // 10)
            mask = sum(1 << number for number in chosen)
            if all(mask & one for one in failing):
                return chosen
    # not the smallest, but none of it can be left out
    kept = anywhere
    for number in reversed(numbers):
        if all(kept & ~(1 << number) & one for one in failing):
            kept &= ~(1 << number)
    return tuple(bits(kept))
