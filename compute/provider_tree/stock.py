"""How much of an inventory is left, by the rules Placement applies to an allocation."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compute.provider_tree.inventory_record import capacity, completed


@dataclass
class Stock:
    """One provider's inventory of one class, and how much of it is allocated."""

    capacity: int
    min_unit: int
    max_unit: int
    step_size: int
    used: int = 0

    @classmethod
    def of(cls, record: Mapping[str, object], used: int = 0) -> "Stock":
        """Make a stock from an inventory record; fields left out have placement's defaults."""
        full = completed(record)
        return cls(
            capacity=capacity(record),
            min_unit=full["min_unit"],
            max_unit=full["max_unit"],
            step_size=full["step_size"],
            used=used,
        )

    @property
    def free(self) -> int:
        """Return what is left; negative on a provider that lost capacity under its guests."""
        return self.capacity - self.used

    def has_room_for(self, amount: int, already_held: int = 0) -> bool:
        """Say whether a consumer that holds `already_held` here can be given `amount` more."""
        return (
            amount <= self.free
            and self.min_unit <= already_held + amount <= self.max_unit
            and (already_held + amount) % self.step_size == 0
        )


def spread(amount: int, stocks: Sequence[Stock]) -> list[int] | None:
    """Divide `amount` over `stocks`, as much as possible onto the earlier ones.

    Each part is 0 or fits its stock by min_unit, max_unit, step_size and what is free. Returns the
    parts in order, or None if there is no way. Step sizes that differ are treated as their least
    common multiple. That may miss a division, but drivers use one step size for all cells.
    """
    step = math.lcm(*(stock.step_size for stock in stocks))
    if amount % step:
        return None
    ranges = [_steps(stock, step) for stock in stocks]
    reachable = _reachable_from(ranges)
    if not _contains(reachable[0], amount // step):
        return None
    parts, left = [], amount // step
    for (least, most), afterwards in zip(ranges, reachable[1:], strict=True):
        part = _largest_part(left, least, most, afterwards)
        parts.append(part * step)
        left -= part
    return parts


def largest_spread(amount: int, stocks: Sequence[Stock]) -> list[int]:
    """Divide as much of `amount` over `stocks` as they can take together; see `spread`."""
    step = math.lcm(*(stock.step_size for stock in stocks))
    reachable = _reachable_from([_steps(stock, step) for stock in stocks])[0]
    most = max(min(high, amount // step) for low, high in reachable if low * step <= amount)
    return spread(most * step, stocks) or [0] * len(stocks)


# Below, amounts are counted in steps, and a set of amounts is a list of (lowest, highest).
_Ranges = list[tuple[int, int]]


def _steps(stock: Stock, step: int) -> tuple[int, int]:
    """Return the smallest and largest part the stock can take; largest < smallest if none."""
    return max(1, math.ceil(stock.min_unit / step)), min(stock.free, stock.max_unit) // step


def _reachable_from(ranges: _Ranges) -> list[_Ranges]:
    """Return, for each position, the amounts the stocks from there on can take together."""
    reachable: list[_Ranges] = [[(0, 0)]]
    for least, most in reversed(ranges):
        later = reachable[0]
        with_part = [(low + least, high + most) for low, high in later] if least <= most else []
        reachable.insert(0, _merged(later + with_part))
    return reachable


def _merged(ranges: _Ranges) -> _Ranges:
    """Join ranges that touch or overlap, so that their number stays small."""
    merged: _Ranges = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def _contains(ranges: _Ranges, amount: int) -> bool:
    return any(low <= amount <= high for low, high in ranges)


def _largest_part(left: int, least: int, most: int, afterwards: _Ranges) -> int:
    """Return the largest part to take now so that the rest is among `afterwards`."""
    candidates = [0] if _contains(afterwards, left) else []
    for low, high in afterwards:
        part = min(left - low, most)
        if part >= max(left - high, least):
            candidates.append(part)
    return max(candidates)
