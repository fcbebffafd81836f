"""The snapshot's building blocks: columns of inventories, sets of providers, lists in blocks.

Providers are known by *slot*: a dense index 0 … size-1 that a provider keeps while the snapshot
lives. All of these are immutable; a change gives a new one that shares what it can.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from placement.domain.capacity import MAX_AMOUNT

T = TypeVar("T")
Slots = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]

#: a set of more than 1/16 of the providers is kept as bits; such a column has a dense twin
_CROWDED = 16

#: total, reserved, min_unit, max_unit, step_size, allocation_ratio, used
Stock = tuple[int, int, int, int, int, float, int]
_FIELDS = ("total", "reserved", "min_unit", "max_unit", "step_size", "ratio", "used")


class SlotSet:
    """Which providers have something: a trait, an aggregate."""

    __slots__ = ("_bits", "_slots", "count")

    def __init__(self, slots: Slots, size: int) -> None:
        self.count = len(slots)
        self._slots: Slots | None = slots
        self._bits: npt.NDArray[np.uint8] | None = None
        if self.count * _CROWDED > size:
            mask = np.zeros(size, np.bool_)
            mask[slots] = True
            self._bits, self._slots = np.packbits(mask), None

    def mask(self, size: int) -> Mask:
        """Return the set as booleans by slot."""
        if self._bits is not None:
            known = np.unpackbits(self._bits).view(np.bool_)
            if len(known) >= size:
                return known[:size]
            mask = np.zeros(size, np.bool_)
            mask[: len(known)] = known
            return mask
        mask = np.zeros(size, np.bool_)
        mask[self._slots] = True
        return mask

    def slots(self) -> Slots:
        """Return the set as ascending slots."""
        if self._slots is not None:
            return self._slots
        assert self._bits is not None
        return np.flatnonzero(np.unpackbits(self._bits)).astype(np.int32)

    def among(self, slots: Slots) -> "SlotSet":
        """Return which of some providers are in the set, as places in `slots`."""
        if self._bits is not None:
            # providers that are newer than the bits are not in the set
            known = np.minimum(slots >> 3, len(self._bits) - 1)
            found = (self._bits[known] >> (7 - (slots & 7))) & 1 > 0
            found &= slots >> 3 < len(self._bits)
        else:
            assert self._slots is not None
            found = is_among(self._slots, slots)
        return SlotSet(np.flatnonzero(found).astype(np.int32), len(slots))

    @property
    def few(self) -> Slots | None:
        """The set as ascending slots; None if it is so large that it is kept as bits."""
        return self._slots

    def changed(self, added: Iterable[int], removed: Iterable[int], size: int) -> "SlotSet":
        """Return the set with some slots added and some removed."""
        mask = self.mask(size).copy()
        mask[list(removed)] = False
        mask[list(added)] = True
        return SlotSet(np.flatnonzero(mask).astype(np.int32), size)


def is_among(ascending: Slots, slots: Slots) -> Mask:
    """Return which of the slots are among ascending ones."""
    if not len(ascending):
        return np.zeros(len(slots), np.bool_)
    at = np.minimum(np.searchsorted(ascending, slots), len(ascending) - 1)
    return ascending[at] == slots


@dataclasses.dataclass(frozen=True, eq=False)
class Column:
    """All inventories of one resource class.

    :param slots: which providers have one, ascending; the other arrays run parallel
    :param capacities: (total - reserved) * ratio, at least 0, not rounded
    :param room: most that one request can still get of each: what is free, or max_unit if less
    :param dense: `room` by slot, -1 where there is no inventory; None for rare classes and where
        `slots` is one run
    :param odd: whether any min_unit or step_size is not 1
    """

    slots: Slots
    total: Numbers
    reserved: Numbers
    min_unit: Numbers
    max_unit: Numbers
    step_size: Numbers
    ratio: Numbers
    used: Numbers
    capacities: Numbers
    room: Numbers
    dense: Numbers | None
    odd: bool

    @classmethod
    def of(cls, slots: Sequence[int] | Slots, fields: Sequence[Any], size: int) -> "Column":
        """Build a column from parallel sequences by ascending slot: slots, fields of `Stock`."""
        arrays = [
            np.asarray(field, np.float64 if name == "ratio" else np.int64)
            for name, field in zip(_FIELDS, fields, strict=True)
        ]
        total, reserved, min_unit, max_unit, step_size, ratio, used = arrays
        at = np.asarray(slots, np.int32)
        room = _room(total, reserved, max_unit, ratio, used)
        dense = None
        if len(at) * _CROWDED > size and not _is_run(at):
            dense = np.full(size, -1, np.int32)
            dense[at] = room
        odd = bool(np.any(min_unit > 1) or np.any(step_size != 1))
        return cls(
            at,
            total,
            reserved,
            min_unit,
            max_unit,
            step_size,
            ratio,
            used,
            np.maximum((total - reserved) * ratio, 0),
            room,
            dense,
            odd,
        )

    def fits(self, amount: int, size: int) -> Mask:
        """Return which providers pass the single-request test (allocation-candidates.md 3)."""
        mask = np.zeros(size, np.bool_)
        if amount > MAX_AMOUNT:
            return mask
        if self.dense is not None and not self.odd:
            np.greater_equal(self.dense, amount, out=mask[: len(self.dense)])
            return mask
        ok = self.room >= amount
        if self.odd:
            ok &= self.min_unit <= amount
            ok &= amount % np.maximum(self.step_size, 1) == 0
        if _is_run(self.slots):
            mask[self.slots[0] : self.slots[-1] + 1] = ok
        else:
            mask[self.slots[ok]] = True
        return mask

    def fitting(self, amount: int) -> Slots:
        """Return the providers with room for the amount, ascending (min_unit and step aside)."""
        if amount > MAX_AMOUNT:
            return np.zeros(0, np.int32)
        return self.slots[self.room >= amount]

    def count_fitting(self, amount: int) -> int:
        """Return how many providers `fitting` returns."""
        return 0 if amount > MAX_AMOUNT else int(np.count_nonzero(self.room >= amount))

    def has_room(self, amount: int, size: int) -> Mask:
        """Return which providers have room for a sum of amounts (min_unit and step_size aside)."""
        mask = np.zeros(size, np.bool_)
        mask[self.fitting(amount)] = True
        return mask

    def rooms_at(self, slots: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """Return `room` of providers, in the shape of `slots`; -1 where there is no inventory."""
        found, at = self.find(slots)
        return np.where(found, self.room[at], -1) if len(self.slots) else np.full(slots.shape, -1)

    def find(self, slots: npt.NDArray[Any]) -> tuple[Mask, npt.NDArray[np.intp]]:
        """Return which of the providers have inventory, and where it is in the arrays."""
        at = np.searchsorted(self.slots, slots)
        np.minimum(at, max(len(self.slots) - 1, 0), out=at)
        if not len(self.slots):
            return np.zeros(slots.shape, np.bool_), at
        return self.slots[at] == slots, at

    def among(self, slots: Slots) -> "Column":
        """Return the inventories of some providers, which it knows by their places in `slots`."""
        found, at = self.find(slots)
        at = at[found]
        return dataclasses.replace(
            self,
            slots=np.flatnonzero(found).astype(np.int32),
            dense=None,
            **{name: getattr(self, name)[at] for name in (*_FIELDS, "capacities", "room")},
        )

    def by_slot(self, numbers: Numbers, size: int) -> Numbers:
        """Return numbers that run parallel to `slots` by slot; 0 where there is no inventory."""
        found = np.zeros(size, numbers.dtype)
        if _is_run(self.slots):
            found[self.slots[0] : self.slots[-1] + 1] = numbers
        else:
            found[self.slots] = numbers
        return found

    def capacity(self, at: int) -> int:
        """Return (total - reserved) * ratio, cut to an integer, of the inventory at `at`."""
        return int((int(self.total[at]) - int(self.reserved[at])) * float(self.ratio[at]))

    def with_usage(self, used: Mapping[int, int]) -> "Column":
        """Return the column with other usage of slots that have inventory."""
        slots = np.fromiter(used, np.int32, len(used))
        at = np.searchsorted(self.slots, slots)
        new_used = self.used.copy()
        new_used[at] = np.fromiter(used.values(), np.int64, len(used))
        room, dense = self.room.copy(), self.dense
        room[at] = _room(
            self.total[at], self.reserved[at], self.max_unit[at], self.ratio[at], new_used[at]
        )
        if dense is not None:
            dense = dense.copy()
            dense[slots] = room[at]
        return dataclasses.replace(self, used=new_used, room=room, dense=dense)

    def changed(self, stocks: Mapping[int, Stock | None], size: int) -> "Column":
        """Return the column with other inventories of some slots; None: the slot has none now."""
        keep = ~np.isin(self.slots, np.fromiter(stocks, np.int32, len(stocks)))
        added = [(slot, *stock) for slot, stock in stocks.items() if stock is not None]
        columns = list(zip(*added, strict=True)) if added else [()] * (len(_FIELDS) + 1)
        slots = np.concatenate([self.slots[keep], np.asarray(columns[0], np.int32)])
        order = np.argsort(slots, kind="stable")
        fields = [
            np.concatenate([getattr(self, name)[keep], np.asarray(more, getattr(self, name).dtype)])
            for name, more in zip(_FIELDS, columns[1:], strict=True)
        ]
        return Column.of(slots[order], [field[order] for field in fields], size)


def _is_run(slots: Slots) -> bool:
    """Say whether the slots follow each other without a gap, so that a slice can be used."""
    return len(slots) > 0 and int(slots[-1]) - int(slots[0]) + 1 == len(slots)


def _room(
    total: Numbers, reserved: Numbers, max_unit: Numbers, ratio: Numbers, used: Numbers
) -> npt.NDArray[np.int32]:
    capacity = np.minimum((total - reserved) * ratio, 2.0**62).astype(np.int64)
    return np.clip(np.minimum(capacity - used, max_unit), 0, MAX_AMOUNT).astype(np.int32)


def empty_column() -> Column:
    """Return a column without any inventory."""
    return Column.of([], [[]] * len(_FIELDS), 0)


class Blocks(Generic[T]):
    """A long list that is replaced cheaply: a change copies only the blocks it touches."""

    __slots__ = ("_blocks", "size")
    SHIFT = 8
    LOW = (1 << SHIFT) - 1

    def __init__(self, blocks: list[list[T]], size: int) -> None:
        self._blocks = blocks
        self.size = size

    @classmethod
    def of(cls, items: Sequence[T]) -> "Blocks[T]":
        """Build the list from a sequence."""
        step = cls.LOW + 1
        blocks = [list(items[start : start + step]) for start in range(0, len(items), step)]
        return cls(blocks, len(items))

    def __getitem__(self, index: int) -> T:
        return self._blocks[index >> 8][index & 255]

    def take(self, indexes: Iterable[int]) -> list[T]:
        """Return several items."""
        blocks = self._blocks
        return [blocks[i >> 8][i & 255] for i in indexes]

    def changed(self, items: Mapping[int, T], size: int, filler: Callable[[], T]) -> "Blocks[T]":
        """Return the list with other items at some indexes, grown to `size` with fillers."""
        blocks = list(self._blocks)
        copied: set[int] = set()
        if size > self.size:
            if blocks and len(blocks[-1]) <= self.LOW:
                blocks[-1] = list(blocks[-1])
                copied.add(len(blocks) - 1)
            for _ in range(self.size, size):
                if not blocks or len(blocks[-1]) > self.LOW:
                    blocks.append([])
                    copied.add(len(blocks) - 1)
                blocks[-1].append(filler())
        for index, item in items.items():
            number = index >> self.SHIFT
            if number not in copied:
                blocks[number] = list(blocks[number])
                copied.add(number)
            blocks[number][index & self.LOW] = item
        return Blocks(blocks, size)
