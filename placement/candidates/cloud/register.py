"""Which provider has which slot: by id, by uuid, and back; the uuids of all providers.

In a dictionary, each provider of a large cloud would take several Python objects. So the ids, and
hashes of the uuids, are sorted arrays, in which a binary search finds one. A change copies none of
these arrays: the providers that came and went since are in a small dictionary and a set beside it.
"""

import bisect
import dataclasses
import functools
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from placement.candidates.cloud.columns import Slots
from placement.candidates.slots import WholeSlot
from placement.storage.uuid_rows import LENGTH, Rows, Uuids, uuid_rows

#: with more changes than this, the arrays of an index are laid out anew
_MANY = 4_096
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


class SlotsById(Mapping[int, WholeSlot]):
    """The slots of providers by their ids. A change gives a new one.

    :param ids: ascending; `slots` runs parallel
    :param more: the slots of providers that came later
    :param gone: ids among `ids` of providers that were deleted
    """

    __slots__ = ("_gone", "_ids", "_more", "_slots")

    def __init__(
        self,
        ids: npt.NDArray[np.int64],
        slots: Slots,
        more: Mapping[int, WholeSlot] | None = None,
        gone: frozenset[int] = frozenset(),
    ) -> None:
        self._ids, self._slots = ids, slots
        self._more, self._gone = more or {}, gone

    def __getitem__(self, provider_id: int) -> WholeSlot:
        found = self._more.get(provider_id)
        if found is not None:
            return found
        at = bisect.bisect_left(self._ids, provider_id)
        if at < len(self._ids) and self._ids[at] == provider_id and provider_id not in self._gone:
            return WholeSlot(int(self._slots[at]))
        raise KeyError(provider_id)

    def __iter__(self) -> Iterator[int]:
        yield from (key for key in self._ids.tolist() if key not in self._gone)
        yield from self._more

    def __len__(self) -> int:
        return len(self._ids) - len(self._gone) + len(self._more)

    def slots(self, ids: npt.NDArray[np.int64]) -> Slots:
        """Return the slots of several providers; -1 for those that aren't there."""
        found = _found(self._ids, self._slots, ids)
        if self._gone:
            found[np.isin(ids, list(self._gone))] = -1
        if self._more:
            more = np.array(sorted(self._more.items()), np.int64)
            of_more = _found(more[:, 0], more[:, 1].astype(np.int32), ids)
            found = np.where(of_more >= 0, of_more, found)
        return found

    def changed(self, added: Mapping[int, WholeSlot], removed: Iterable[int]) -> "SlotsById":
        """Return them with more providers, and without some."""
        more, gone = dict(self._more), set(self._gone)
        for provider_id in removed:
            if more.pop(provider_id, None) is None:
                gone.add(provider_id)
        more |= added
        new = SlotsById(self._ids, self._slots, more, frozenset(gone))
        if len(more) + len(gone) <= _MANY:
            return new
        kept = ~np.isin(self._ids, list(gone))
        ids = np.concatenate([self._ids[kept], np.array(list(more), np.int64)])
        slots = np.concatenate([self._slots[kept], np.array(list(more.values()), np.int32)])
        order = np.argsort(ids)
        return SlotsById(ids[order], slots[order])


def _found(known: npt.NDArray[np.int64], slots: Slots, ids: npt.NDArray[np.int64]) -> Slots:
    """Return the slots of ids by parallel arrays of ids, ascending, and slots; -1: not known."""
    if not len(known):
        return np.full(len(ids), -1, np.int32)
    at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return np.where(known[at] == ids, slots[at], np.int32(-1))


class SlotsByUuid:
    """The slots of providers by their uuids. A change gives a new one.

    Two uuids may have the same hash, so a uuid that was found by its hash is compared with `table`.

    :param table: the uuids by slot
    :param hashes: ascending hashes of uuids; `slots` runs parallel
    :param more: the slots of providers that came later, or whose uuid is of another length
    :param gone: slots in `slots` that are not to be found there
    """

    __slots__ = ("_gone", "_hashes", "_more", "_slots", "_table")

    def __init__(
        self,
        table: UuidTable,
        hashes: npt.NDArray[np.uint32],
        slots: Slots,
        more: Mapping[str, WholeSlot],
        gone: frozenset[int] = frozenset(),
    ) -> None:
        self._table, self._hashes, self._slots = table, hashes, slots
        self._more, self._gone = more, gone

    @classmethod
    def of(cls, table: UuidTable) -> "SlotsByUuid":
        """Index the uuids of a table."""
        hashes = hashes_of(table.rows)
        order = np.argsort(hashes).astype(np.int32)
        more = {uuid: WholeSlot(slot) for slot, uuid in table.odd.items()}
        return cls(table, hashes[order], order, more, frozenset(table.odd))

    def get(self, uuid: str) -> WholeSlot | None:
        """Return the slot of a provider, or None if there is no such provider."""
        found = self._more.get(uuid)
        if found is not None:
            return found
        text = uuid.encode()
        if len(text) != LENGTH:
            return None
        key = hashes_of(np.frombuffer(text, np.uint8).reshape(1, LENGTH))[0]
        first = int(np.searchsorted(self._hashes, key, "left"))
        last = int(np.searchsorted(self._hashes, key, "right"))
        for slot in self._slots[first:last].tolist():
            if slot not in self._gone and self._table[slot] == uuid:
                return WholeSlot(slot)
        return None

    def __getitem__(self, uuid: str) -> WholeSlot:
        found = self.get(uuid)
        if found is None:
            raise KeyError(uuid)
        return found

    def changed(
        self,
        table: UuidTable,
        added: Mapping[str, WholeSlot],
        removed: Mapping[WholeSlot, str],
    ) -> "SlotsByUuid":
        """Return them with more providers, and without some.

        :param table: all uuids, those of the added providers included
        :param removed: uuids by slot
        """
        more, gone = dict(self._more), set(self._gone)
        for slot, uuid in removed.items():
            gone.add(slot)
            if more.get(uuid) == slot:
                del more[uuid]
        more |= added
        if len(more) + len(gone) - 2 * len(table.odd) <= _MANY:
            return SlotsByUuid(table, self._hashes, self._slots, more, frozenset(gone))
        kept = ~np.isin(self._slots, list(gone))
        later = [slot for slot in more.values() if slot not in table.odd]
        slots = np.concatenate([self._slots[kept], np.array(later, np.int32)])
        hashes = np.concatenate(
            [self._hashes[kept], hashes_of(table.rows[slots[len(slots) - len(later) :]])]
        )
        order = np.argsort(hashes)
        odd = {uuid: slot for uuid, slot in more.items() if slot in table.odd}
        return SlotsByUuid(table, hashes[order], slots[order], odd)


@dataclasses.dataclass(frozen=True, eq=False)
class Register:
    """Which provider has which slot. A change gives a new one; slots are never given again.

    :param ids: by slot; 0 for slots whose provider was deleted
    :param uuids: by slot
    """

    ids: npt.NDArray[np.int64]
    uuids: UuidTable
    slot_of_id: SlotsById
    slot_of_uuid: SlotsByUuid

    @classmethod
    def of(cls, ids: npt.NDArray[np.int64], uuids: UuidTable) -> "Register":
        """Build the register from ascending ids, and uuids in their order."""
        slots = np.arange(len(ids), dtype=np.int32)
        return cls(ids, uuids, SlotsById(ids, slots), SlotsByUuid.of(uuids))

    @functools.cached_property
    def ascends(self) -> bool:
        """Whether the ids of existing providers ascend with their slots."""
        return bool(np.all(np.diff(self.ids[self.ids > 0]) > 0))

    @property
    def known_ids(self) -> npt.NDArray[np.int64]:
        """The ids of existing providers, ascending."""
        known = self.ids[self.ids > 0]
        return known if self.ascends else np.sort(known)

    def changed(self, added: Sequence[tuple[int, str]], removed: Iterable[int]) -> "Register":
        """Return it with more providers, at the next slots, and without those of some ids."""
        gone = {provider_id: self.slot_of_id[provider_id] for provider_id in removed}
        ids = np.concatenate([self.ids, np.array([key for key, _ in added], np.int64)])
        ids[list(gone.values())] = 0
        uuids = self.uuids.with_more([uuid for _, uuid in added])
        slots = [WholeSlot(slot) for slot in range(len(self.ids), len(ids))]
        return Register(
            ids,
            uuids,
            self.slot_of_id.changed(
                {key: slot for slot, (key, _) in zip(slots, added, strict=True)}, gone
            ),
            self.slot_of_uuid.changed(
                uuids,
                {uuid: slot for slot, (_, uuid) in zip(slots, added, strict=True)},
                {slot: uuids[slot] for slot in gone.values()},
            ),
        )
