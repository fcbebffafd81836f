"""For how many requests trees have room, as far as arithmetic tells (extensions.md 6).

The parts of a request that want the same things from the same providers form a *block*. Blocks
don't get in each other's way. So a tree has room for as many requests as the block that has room
for fewest.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Mask, Numbers
from placement.candidates.cloud.free_amounts import FreeAmounts
from placement.candidates.masks.filter import RequestPart
from placement.candidates.tree_problem import Demand

#: what it costs to compare two parts, in steps of the budget
_COMPARING = 100
#: slots that say to whom each provider belongs: its root, or a provider above it
Keys = npt.NDArray[np.int32]


@dataclasses.dataclass(frozen=True, eq=False)
class Rooms:
    """For how many requests there is room, by key.

    :param most: there is room for no more than so many
    :param sure: whether there is room for as many
    """

    most: Numbers
    sure: Mask

    def least(self, other: "Rooms") -> "Rooms":
        """Return for how many requests both have room."""
        most = np.minimum(self.most, other.most)
        return Rooms(most, (self.sure & other.sure) | (most == 0))


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """Parts that compete with each other for providers, and with no other part.

    :param isolate: whether the request's suffixed groups need different providers
    """

    parts: tuple[RequestPart, ...]
    isolate: bool

    @property
    def own(self) -> Mask:
        """Return the providers that can serve some of the parts within their own tree."""
        return own_of(self.parts)

    @property
    def apart(self) -> bool:
        """Say whether several of the parts need different providers."""
        return self.isolate and sum(bool(part.suffix) for part in self.parts) > 1

    def rooms(self, free: FreeAmounts, keys: Keys, but: Mask | None = None) -> Rooms:
        """Return for how many requests the providers of each key have room.

        :param but: providers that don't count
        """
        same = _equal(self.parts)
        if len(same) == 1:
            most = _of_equal_parts(free, same[0], keys, self.apart, but)
            return Rooms(most, np.ones(len(most), np.bool_))
        return self._of_unequal_parts(free, keys, but)

    def _of_unequal_parts(self, free: FreeAmounts, keys: Keys, but: Mask | None) -> Rooms:
        """Return an upper bound; it is sure where one provider has to serve all parts."""
        size, demand = len(keys), demand_of(self.parts)
        bounds = [
            _of_equal_parts(free, parts, keys, self.apart, but) for parts in _equal(self.parts)
        ]
        allowed = self.own if but is None else self.own & ~but
        options = np.flatnonzero(allowed)
        at = keys[options]
        for class_id, total in demand:
            amounts = [dict(part.demand).get(class_id, 0) for part in self.parts]
            unit = math.gcd(*amounts)
            whole = free.of(class_id, options) // unit * unit
            bounds.append(_sum(at, whole, size) // total)
        if self.apart:
            groups = [part for part in self.parts if part.suffix]
            able = [part.own[options] * free.times(part.demand, options) for part in groups]
            times, once = np.maximum.reduce(able), np.ones(len(at), np.int64)
            bounds.append(_spread(at, times, once, len(groups), size))
        most = np.minimum.reduce(bounds)
        alone = np.bincount(at, minlength=size) == 1
        here = alone[at]
        at, options = at[here], options[here]
        times = free.times(demand, options)
        times[free.per_request(demand, options) < 1] = 0
        for part in self.parts:
            times[~part.own[options]] = 0
        if self.apart:
            times[:] = 0
        most[at] = np.minimum(times, most[at])
        return Rooms(most, alone | (most == 0))


def demand_of(parts: Sequence[RequestPart]) -> Demand:
    """Return what parts take together."""
    amounts: dict[int, int] = {}
    for part in parts:
        for class_id, amount in part.demand:
            amounts[class_id] = amounts.get(class_id, 0) + amount
    return tuple(amounts.items())


def own_of(parts: Sequence[RequestPart]) -> Mask:
    """Return the providers that can serve some of the parts within their own tree."""
    return parts[0].own if len(parts) == 1 else np.logical_or.reduce([part.own for part in parts])


def blocks_of(parts: Sequence[RequestPart], isolate: bool, budget: Budget) -> list[Block]:
    """Return the parts as blocks. Raise SearchEnded when the budget is used up."""
    found: list[list[list[RequestPart]]] = []
    for same in _equal(parts):
        rivals = []
        for block in found:
            for other in block:
                budget.spend(_COMPARING)
                if _compete(same[0], other[0], isolate):
                    rivals.append(block)
                    break
        found = [block for block in found if block not in rivals]
        found.append([*(one for block in rivals for one in block), same])
    return [Block(tuple(part for same in block for part in same), isolate) for block in found]


def _equal(parts: Sequence[RequestPart]) -> list[list[RequestPart]]:
    """Return the parts in sets of equal ones."""
    sets: dict[tuple[int, object], list[RequestPart]] = {}
    for part in parts:
        sets.setdefault((id(part.own), frozenset(part.demand)), []).append(part)
    return list(sets.values())


def _compete(one: RequestPart, other: RequestPart, isolate: bool) -> bool:
    apart = isolate and bool(one.suffix) and bool(other.suffix)
    classes = {class_id for class_id, _ in one.demand}
    if not apart and not any(class_id in classes for class_id, _ in other.demand):
        return False
    return bool(np.any((one.own | one.shared) & (other.own | other.shared)))


def _of_equal_parts(
    free: FreeAmounts, parts: Sequence[RequestPart], keys: Keys, apart: bool, but: Mask | None
) -> Numbers:
    """Return for how many requests there is room if each has so many equal parts.

    :param apart: whether the suffixed ones need different providers; what is unsuffixed may come
        from one of theirs
    """
    mask = parts[0].own if but is None else parts[0].own & ~but
    options = np.flatnonzero(mask)
    at, size = keys[options], len(keys)
    times = free.times(parts[0].demand, options)
    if len(parts) == 1:
        return _sum(at, times, size)
    each = free.per_request(parts[0].demand, options)
    if not apart:
        return _spread(at, times, each, len(parts), size)
    groups = sum(bool(part.suffix) for part in parts)
    most = _spread(at, times, np.minimum(each, 1 + len(parts) - groups), len(parts), size)
    if groups < len(parts):
        most = np.minimum(most, _spread(at, times, np.minimum(each, 1), groups, size))
    return most


def _spread(at: Keys, times: Numbers, each: Numbers, count: int, size: int) -> Numbers:
    """Return how many requests can have `count` parts each.

    Each provider serves `times` parts in all, and `each` parts of one request. So many requests
    can be served if the providers together serve as many parts of them.
    """
    high = _sum(at, times, size) // count
    if not len(at) or int(each.min()) >= count:
        return high
    low = np.zeros(size, np.int64)
    while np.any(low < high):
        middle = (low + high + 1) // 2
        enough = _sum(at, np.minimum(times, each * middle[at]), size) >= count * middle
        low, high = np.where(enough, middle, low), np.where(enough, high, middle - 1)
    return low


def _sum(at: Keys, numbers: Numbers, size: int) -> Numbers:
    """Return the sums of numbers by key. They are exact below 2**53."""
    return np.bincount(at, numbers, size).astype(np.int64)
