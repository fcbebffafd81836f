"""The uuids of providers as rows of bytes, for texts that are made a table at a time."""

import threading
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from placement.candidates.slots import WholeSlot
from placement.storage.uuid_rows import LENGTH, Rows, Uuids, uuid_rows

#: room for so many more uuids, as a share of those that are there, and at least
_SPARE, _LEAST_SPARE = 32, 64
_FACTORS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], np.uint64
)


def hashes_of(rows: Rows) -> npt.NDArray[np.uint32]:
    """Return a hash for each row of a table of uuids."""
    words = np.ascontiguousarray(rows[:, :32]).view(np.uint64)
    last = np.ascontiguousarray(rows[:, 32:]).view(np.uint32)[:, 0]
    # the sum may overflow: only its bits matter
    mixed = (words * _FACTORS).sum(axis=1, dtype=np.uint64) + last * _FACTORS[0]
    return (mixed >> np.uint64(32)).astype(np.uint32)


class _Buffer:
    """Rows with spare ones behind them.

    :param used: how many rows have a uuid, of the largest table that shares the buffer
    """

    def __init__(self, rows: Rows, used: int) -> None:
        self.rows, self.used = rows, used
        self.lock = threading.Lock()


class UuidTable(Sequence[str]):
    """Uuids by slot. A table with more uuids shares the rows of the table that it comes from.

    A uuid is a row of 36 bytes, so that texts of many candidates are copied in one go. A database
    may have names of other lengths in place of uuids; these are kept beside the rows.

    :param odd: the uuids of other lengths, by slot; their rows mean nothing
    """

    __slots__ = ("_buffer", "odd", "rows")

    def __init__(self, buffer: _Buffer, size: int, odd: Mapping[int, str]) -> None:
        self._buffer = buffer
        #: a row of `LENGTH` bytes each
        self.rows = buffer.rows[:size]
        self.odd = odd

    @classmethod
    def of_rows(cls, rows: Rows, odd: Mapping[int, str]) -> "UuidTable":
        """Build the table from rows, and the uuids of other lengths by their slots."""
        return cls(_Buffer(rows, len(rows)), len(rows), odd)

    @property
    def even(self) -> bool:
        """Say whether all are of the usual length."""
        return not self.odd

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, slot: WholeSlot) -> str:  # type: ignore[override]
        if slot in self.odd:
            return self.odd[slot]
        return self.rows[slot].tobytes().decode()

    def are_at(self, slots: npt.NDArray[np.int32], uuids: Uuids) -> bool:
        """Say whether some slots have these uuids."""
        odd = (
            [place for place, slot in enumerate(slots.tolist()) if slot in self.odd]
            if self.odd
            else []
        )
        if uuids.odd != {place: self.odd[int(slots[place])] for place in odd}:
            return False
        differ = np.any(self.rows[slots] != uuids.rows, axis=1)
        # compared above; their rows mean nothing
        differ[odd] = False
        return not differ.any()

    def with_more(self, uuids: Sequence[str]) -> "UuidTable":
        """Return the table with the uuids of the next slots."""
        if not uuids:
            return self
        more, odd = uuid_rows(uuids)
        size, new_size = len(self), len(self) + len(more)
        all_odd = {**self.odd, **{size + place: uuid for place, uuid in odd.items()}}
        buffer = self._buffer
        with buffer.lock:
            fits = buffer.used == size and new_size <= len(buffer.rows)
            if fits:
                # from now on no other table can use these rows
                buffer.used = new_size
        if not fits:
            room = new_size + max(new_size // _SPARE, _LEAST_SPARE)
            rows = np.empty((room, LENGTH), np.uint8)
            rows[:size] = self.rows
            buffer = _Buffer(rows, new_size)
        buffer.rows[size:new_size] = more
        return UuidTable(buffer, new_size, all_odd)


class UuidRows:
    """Collects uuids, as rows, while they are read."""

    def __init__(self) -> None:
        self._parts: list[Rows] = []
        self._odd: dict[int, str] = {}
        self._count = 0

    def add(self, uuids: Uuids) -> None:
        """Add the next ones."""
        self._odd |= {self._count + place: uuid for place, uuid in uuids.odd.items()}
        self._parts.append(uuids.rows)
        self._count += len(uuids.rows)

    def table(self, order: npt.NDArray[np.intp] | None) -> UuidTable:
        """Return all of them.

        :param order: places in the order in which they were added; None: that order
        """
        rows = np.concatenate(self._parts) if self._parts else np.zeros((0, LENGTH), np.uint8)
        if order is None:
            return UuidTable.of_rows(rows, self._odd)
        odd = self._odd
        if odd:
            odd = {new: odd[old] for new, old in enumerate(order.tolist()) if old in odd}
        return UuidTable.of_rows(rows[order], odd)
