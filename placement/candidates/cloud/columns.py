"""The inventories of one resource class as a column.

A provider is known by its *slot*, its index in all arrays: 0 … size-1. All of these are immutable;
a change gives a new one that shares what it can.
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from placement.candidates.cloud.patched_array import Integers, Patched
from placement.domain.capacity import MAX_AMOUNT

#: slots of the cloud whose columns are at hand (`slots.py`)
Slots = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]

#: total, reserved, min_unit, max_unit, step_size, allocation_ratio, used
Record = tuple[int, int, int, int, int, float, int]
_STOCK = ("total", "reserved", "min_unit", "max_unit", "step_size", "ratio")


@dataclasses.dataclass(frozen=True, eq=False)
class OfferedStock:
    """What an inventory offers: all of it but its usage."""

    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    ratio: float


@dataclasses.dataclass(frozen=True, eq=False)
class Stocks:
    """What inventories of one class offer, each different record once: most hosts have the same.

    A record is total, reserved, min_unit, max_unit, step_size and ratio, without the usage. The
    arrays run parallel.
    """

    total: Numbers
    reserved: Numbers
    min_unit: Numbers
    max_unit: Numbers
    step_size: Numbers
    ratio: Numbers

    @classmethod
    def of(cls, records: Iterable[Sequence[object]]) -> "Stocks":
        """Build them from records."""
        fields = list(zip(*records, strict=True)) or [()] * len(_STOCK)
        return cls(
            *(
                np.asarray(field, np.float64 if name == "ratio" else np.int64)
                for name, field in zip(_STOCK, fields, strict=True)
            )
        )

    def __len__(self) -> int:
        return len(self.total)

    @property
    def fields(self) -> tuple[Numbers, ...]:
        """All arrays, in the order of a record."""
        return tuple(getattr(self, name) for name in _STOCK)

    @functools.cached_property
    def capacities(self) -> Numbers:
        """(total - reserved) * ratio, at least 0, not rounded"""
        return np.maximum((self.total - self.reserved) * self.ratio, 0)

    @functools.cached_property
    def places(self) -> Mapping[tuple[object, ...], int]:
        """The number of each record, which is its place in the arrays."""
        records = zip(*(getattr(self, name).tolist() for name in _STOCK), strict=True)
        return {record: place for place, record in enumerate(records)}

    @functools.cached_property
    def odd(self) -> bool:
        """Whether any min_unit or step_size is not 1"""
        return bool(np.any(self.min_unit > 1) or np.any(self.step_size != 1))

    def chosen(self, which: Numbers) -> "Stocks":
        """Return some of them."""
        return Stocks(*(getattr(self, name)[which] for name in _STOCK))

    def with_more(self, records: Iterable[Sequence[object]]) -> "Stocks":
        """Return these records, and further ones behind them."""
        more = Stocks.of(records)
        joined = ((getattr(self, name), getattr(more, name)) for name in _STOCK)
        return Stocks(*map(np.concatenate, joined))

    def room(self, kinds: Numbers, used: Numbers) -> npt.NDArray[np.int32]:
        """Return the most that one request can still get of inventories.

        :param kinds: the number of each inventory's record
        :param used: the usage of each inventory
        """
        capacity = np.minimum((self.total - self.reserved) * self.ratio, 2.0**62).astype(np.int64)
        free = np.minimum(capacity[kinds] - used, self.max_unit[kinds])
        return np.clip(free, 0, MAX_AMOUNT).astype(np.int32)


@dataclasses.dataclass(frozen=True, eq=False)
class Column:
    """All inventories of one resource class. Arrays run parallel to `slots`::

        slots   1  3  5      the providers 1, 3 and 5 have an inventory of VCPU
        kinds   0  0  1      1 and 3 offer `stocks` record 0, total 8; 5 offers record 1, total 16
        usage   2  0  9
        rooms   6  8  4      4 for the provider 5, as its max_unit is 4

    :param slots: the providers with an inventory, ascending
    :param kinds: the number of each inventory's record in `stocks`
    :param usage: how much is allocated of each
    :param rooms: the most that one request can still get of each: what is free, or max_unit if less
    """

    slots: Slots
    kinds: npt.NDArray[np.int32]
    stocks: Stocks
    usage: Patched
    rooms: Patched

    @classmethod
    def of(cls, slots: Sequence[int] | Slots, fields: Sequence[Any]) -> "Column":
        """Build a column from parallel sequences by ascending slot: slots, fields of `Record`."""
        *stock, used = ([*map(_plain, field)] for field in fields)
        places: dict[tuple[Any, ...], int] = {}
        kinds = [places.setdefault(one, len(places)) for one in zip(*stock, strict=True)]
        return cls.of_kinds(
            np.asarray(slots, np.int32),
            np.asarray(kinds, np.int32),
            Stocks.of(places),
            np.asarray(used, np.int64),
        )

    @classmethod
    def of_kinds(
        cls, slots: Slots, kinds: npt.NDArray[np.int32], stocks: Stocks, used: Numbers
    ) -> "Column":
        """Build a column from parallel arrays by ascending slot."""
        return cls(slots, kinds, stocks, Patched.of(used), Patched(stocks.room(kinds, used)))

    @property
    def total(self) -> Numbers:
        return self.stocks.total[self.kinds]

    @property
    def reserved(self) -> Numbers:
        return self.stocks.reserved[self.kinds]

    @property
    def min_unit(self) -> Numbers:
        return self.stocks.min_unit[self.kinds]

    @property
    def max_unit(self) -> Numbers:
        return self.stocks.max_unit[self.kinds]

    @property
    def step_size(self) -> Numbers:
        return self.stocks.step_size[self.kinds]

    @property
    def ratio(self) -> Numbers:
        return self.stocks.ratio[self.kinds]

    @property
    def used(self) -> Numbers:
        return self.usage.whole().astype(np.int64)

    @property
    def capacities(self) -> Numbers:
        """(total - reserved) * ratio, at least 0, not rounded"""
        return self.stocks.capacities[self.kinds]

    @property
    def room(self) -> Numbers:
        return self.rooms.whole()

    def fits(self, amount: int, size: int) -> Mask:
        """Return which providers pass the single-request test (allocation-candidates.md 3)."""
        mask = np.zeros(size, np.bool_)
        if amount > MAX_AMOUNT:
            return mask
        ok = self.room >= amount
        stocks = self.stocks
        if stocks.odd:
            suits = (stocks.min_unit <= amount) & (amount % np.maximum(stocks.step_size, 1) == 0)
            ok &= suits[self.kinds]
        if _is_run(self.slots):
            mask[self.slots[0] : self.slots[-1] + 1] = ok
        else:
            mask[self.slots[ok]] = True
        return mask

    def have_room(self, places: Numbers, amount: int) -> Mask:
        """Return which inventories have room for the amount.

        :param places: where in `slots` these inventories stand
        """
        if amount > MAX_AMOUNT:
            return np.zeros(len(places), np.bool_)
        return self.rooms.take(places) >= amount

    def has_room(self, amount: int, size: int) -> Mask:
        """Return which providers have room for a sum of amounts (min_unit and step_size aside)."""
        mask = np.zeros(size, np.bool_)
        if amount <= MAX_AMOUNT:
            mask[self.slots[self.room >= amount]] = True
        return mask

    def rooms_at(self, slots: Integers) -> npt.NDArray[np.int64]:
        """Return `room` of providers, in the shape of `slots`; -1 where there is no inventory."""
        found, at = self.find(slots)
        return np.where(found, self.rooms.take(at), -1) if len(self) else np.full(slots.shape, -1)

    def find(self, slots: Integers) -> tuple[Mask, npt.NDArray[np.intp]]:
        """Return which of the providers have an inventory, and where in the arrays it stands.

        The place of a provider without an inventory means nothing.
        """
        # numpy would copy all of `slots` for numbers of another width
        slots = slots.astype(np.int32, copy=False)
        at = np.searchsorted(self.slots, slots)
        np.minimum(at, max(len(self) - 1, 0), out=at)
        if not len(self):
            return np.zeros(slots.shape, np.bool_), at
        return self.slots[at] == slots, at

    def among(self, slots: Slots) -> "Column":
        """Return the inventories of some providers. Their places in `slots` are their new slots."""
        found, at = self.find(slots)
        at = at[found]
        places = np.flatnonzero(found).astype(np.int32)
        usage, rooms = Patched(self.usage.take(at)), Patched(self.rooms.take(at))
        return Column(places, self.kinds[at], self.stocks, usage, rooms)

    def by_slot(self, numbers: Numbers, size: int) -> Numbers:
        """Return an array by slot from one that runs parallel to `slots`; 0 without inventory."""
        found = np.zeros(size, numbers.dtype)
        if _is_run(self.slots):
            found[self.slots[0] : self.slots[-1] + 1] = numbers
        else:
            found[self.slots] = numbers
        return found

    def stock(self, at: int) -> OfferedStock:
        """Return the inventory at `at`."""
        kind = int(self.kinds[at])
        return OfferedStock(*(getattr(self.stocks, name)[kind].item() for name in _STOCK))

    def used_at(self, at: int) -> int:
        """Return the usage of the inventory at `at`."""
        return int(self.usage.take(np.array([at]))[0])

    def capacity(self, at: int) -> int:
        """Return (total - reserved) * ratio, cut to an integer, of the inventory at `at`."""
        stock = self.stock(at)
        return int((stock.total - stock.reserved) * stock.ratio)

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def nbytes(self) -> int:
        """How many bytes its arrays take."""
        parts = (self.slots, self.kinds, self.usage, self.rooms)
        stocks = sum(getattr(self.stocks, name).nbytes for name in _STOCK)
        return stocks + sum(part.nbytes for part in parts)

    def with_usage(self, used: Mapping[int, int]) -> "Column":
        """Return the column with other usage of slots that have inventory."""
        at = np.searchsorted(self.slots, np.fromiter(used, np.int32, len(used)))
        return self._with(at, self.kinds, self.stocks, np.fromiter(used.values(), np.int64))

    def _with(self, at: Numbers, kinds: Numbers, stocks: Stocks, used: Numbers) -> "Column":
        """Return the column with other kinds and usage of the inventories at some places."""
        rooms = self.rooms.changed(at, stocks.room(kinds[at], used))
        return Column(self.slots, kinds, stocks, self.usage.changed(at, used), rooms)

    def changed(self, stocks: Mapping[int, Record | None]) -> "Column":
        """Return the column with other inventories of some slots; None: none any more.

        If the same providers have inventories as before, all arrays but the changed places are
        shared; otherwise the arrays are laid out anew.
        """
        records = {slot: stock[:-1] for slot, stock in stocks.items() if stock is not None}
        new = {record: None for record in records.values() if record not in self.stocks.places}
        known = self.stocks.with_more(new) if new else self.stocks
        named = np.fromiter(stocks, np.int32, len(stocks))
        slots = np.fromiter(records, np.int32, len(records))
        kinds = np.fromiter((known.places[record] for record in records.values()), np.int32)
        used = np.fromiter((stock[-1] for stock in stocks.values() if stock), np.int64)
        there, at = self.find(named)
        if len(slots) == len(named) and there.all():
            now = self.kinds.copy()
            now[at] = kinds
            return self._with(at, now, known, used)
        keep = ~np.isin(self.slots, named)
        all_slots = np.concatenate([self.slots[keep], slots])
        order = np.argsort(all_slots, kind="stable")
        return Column.of_kinds(
            all_slots[order],
            np.concatenate([self.kinds[keep], kinds])[order],
            known,
            np.concatenate([self.usage.whole()[keep], used])[order],
        )


def _plain(value: object) -> object:
    """Return a number of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _is_run(slots: Slots) -> bool:
    """Say whether the slots follow each other without a gap, so that a slice can be used."""
    return len(slots) > 0 and int(slots[-1]) - int(slots[0]) + 1 == len(slots)


def empty_column() -> Column:
    """Return a column without any inventory."""
    return Column.of([], [[]] * (len(_STOCK) + 1))
