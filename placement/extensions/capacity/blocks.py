"""For how many requests trees have room, as far as arithmetic says (extensions.md 6).

Parts of a request that compete for the same amounts, or may need different providers, form a
*block*. Two blocks never compete. So a tree has room for as many requests as its block with the
least room: if its processors are enough for 10 requests and its devices for 4, 4 requests fit.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Mask, Numbers
from placement.candidates.cloud.free_amounts import MOST, FreeAmounts
from placement.candidates.cloud.patched_array import Integers
from placement.candidates.masks.filter import RequestPart
from placement.candidates.tree_problem import Demand

#: what it costs to compare two parts, in steps of the budget
_COMPARING = 100
#: by slot of a provider, the slot that it is counted for: that of its root, or of a provider above
Keys = npt.NDArray[np.int32]


@dataclasses.dataclass(frozen=True, eq=False)
class Rooms:
    """For how many requests there is room, by slot of the root, or other key.

    :param most: an upper bound
    :param sure: whether there is room for as many as the upper bound
    """

    most: Numbers
    sure: Mask

    def least(self, other: "Rooms") -> "Rooms":
        """Return for how many requests both have room."""
        most = np.minimum(self.most, other.most)
        return Rooms(most, (self.sure & other.sure) | (most == 0))


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """Parts that compete with each other, and with no other part.

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

    def rooms(self, free: FreeAmounts, keys: Keys, excluded: Mask | None = None) -> Rooms:
        """Return for how many requests the providers of each key have room.

        :param excluded: providers that don't count
        """
        equal = _equal(self.parts)
        if len(equal) == 1:
            most = _of_equal_parts(free, equal[0], keys, self.apart, excluded)
            return Rooms(most, np.ones(len(most), np.bool_))
        return self._of_unequal_parts(free, keys, excluded)

    def _of_unequal_parts(self, free: FreeAmounts, keys: Keys, excluded: Mask | None) -> Rooms:
        """Return an upper bound; it is sure where one provider has to serve all parts.

        The upper bound is the least of several: what the equal parts alone have room for; what is
        free of each class in all, in whole units; and, if the parts need different providers, how
        often there are enough of them.
        """
        size, demand = len(keys), demand_of(self.parts)
        bounds = [
            _of_equal_parts(free, parts, keys, self.apart, excluded) for parts in _equal(self.parts)
        ]
        allowed = self.own if excluded is None else self.own & ~excluded
        options = np.flatnonzero(allowed)
        at = keys[options]
        for class_id, total in demand:
            amounts = [dict(part.demand).get(class_id, 0) for part in self.parts]
            unit = math.gcd(*amounts)
            whole = free.of(class_id, options) // unit * unit
            bounds.append(_sum(at, whole, size) // total)
        if self.apart:
            groups = [part for part in self.parts if part.suffix]
            times, once = _any_of(free, groups, options), np.ones(len(at), np.int64)
            bounds.append(_spread(at, times, once, len(groups), size))
        most = np.minimum.reduce(bounds)
        # from here on: the keys with one provider
        alone = np.bincount(at, minlength=size) == 1
        is_alone = alone[at]
        at, options = at[is_alone], options[is_alone]
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
    """Return the parts as blocks. Raises SearchEnded if the budget is used up."""
    # a block is a list of sets of equal parts here; each new set joins the blocks that it competes
    # with into one
    blocks: list[list[list[RequestPart]]] = []
    for equal in _equal(parts):
        rivals = []
        for block in blocks:
            for other in block:
                budget.spend(_COMPARING)
                if _compete(equal[0], other[0], isolate):
                    rivals.append(block)
                    break
        blocks = [block for block in blocks if block not in rivals]
        blocks.append([*(one for block in rivals for one in block), equal])
    return [Block(tuple(part for equal in block for part in equal), isolate) for block in blocks]


def _equal(parts: Sequence[RequestPart]) -> list[list[RequestPart]]:
    """Return the parts in sets of equal ones."""
    sets: dict[tuple[int, object], list[RequestPart]] = {}
    for part in parts:
        sets.setdefault((id(part.own), frozenset(part.demand)), []).append(part)
    return list(sets.values())


def _compete(one: RequestPart, other: RequestPart, isolate: bool) -> bool:
    """Say whether two parts may get in each other's way at some provider."""
    apart = isolate and bool(one.suffix) and bool(other.suffix)
    classes = {class_id for class_id, _ in one.demand}
    if not apart and not any(class_id in classes for class_id, _ in other.demand):
        return False
    return bool(np.any((one.own | one.shared) & (other.own | other.shared)))


def _of_equal_parts(
    free: FreeAmounts, parts: Sequence[RequestPart], keys: Keys, apart: bool, excluded: Mask | None
) -> Numbers:
    """Return for how many requests of these equal parts, and nothing else, there is room.

    :param apart: whether the suffixed ones need different providers; what is unsuffixed may come
        from one of theirs
    """
    mask = parts[0].own if excluded is None else parts[0].own & ~excluded
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


def _any_of(free: FreeAmounts, parts: Sequence[RequestPart], options: Integers) -> Numbers:
    """Return how many of these unlike parts each provider can serve at most, in any mix.

    A mix may have more than the best of one kind: with 3 VCPU and 5 MEMORY_MB, a provider serves
    one part of 2 and 1, or one of 1 and 3, or both. So for each class the provider serves as many
    as it could of the part that takes least of it.
    """
    able = [part.own[options] * free.times(part.demand, options) for part in parts]
    most = np.minimum.reduce([np.add.reduce(able), np.full(len(options), MOST, np.int64)])
    for class_id in {class_id for part in parts for class_id, _ in part.demand}:
        least = np.full(len(options), MOST, np.int64)
        for part, times in zip(parts, able, strict=True):
            least[times > 0] = np.minimum(least[times > 0], dict(part.demand).get(class_id, 0))
        asked = least > 0
        most[asked] = np.minimum(most[asked], free.of(class_id, options)[asked] // least[asked])
    return most


def _spread(at: Keys, times: Numbers, each: Numbers, count: int, size: int) -> Numbers:
    """Return by key how many requests of `count` equal parts each can be served.

    A provider serves at most `times` parts in all, and `each` parts of one request. So of n
    requests it serves min(times, n * each) parts, and n requests can be served if that is
    n * count in all providers together. The largest such n is found by bisection. Example: of
    requests of 2 parts that need different providers (`each` is 1), two providers with room for 5
    and 3 parts serve 3.

    :param at: the key of each provider
    :param size: the number of keys
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
    """Return the sums of numbers by key. They are exact below 2**53, as numpy adds up floats."""
    return np.bincount(at, numbers, size).astype(np.int64)
