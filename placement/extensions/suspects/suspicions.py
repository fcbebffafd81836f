"""What is suspicious at one moment, kind by kind, and what to say of it (extensions.md 12)."""

import dataclasses
import datetime
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

import numpy as np

from placement.candidates.cloud.snapshot import Snapshot
from placement.extensions.suspects import rows, rules, snapshot_suspects
from placement.extensions.suspects.rows import ConsumerShare, NamedProviderRow, Spread, Time
from placement.extensions.suspects.rules import KINDS, SuspectMark, pci_address, short_name
from placement.extensions.suspects.snapshot_suspects import Places
from placement.storage.database.engine import Connection


@dataclasses.dataclass(frozen=True)
class Suspect:
    """What may be wrong, and what to look at.

    :param provider: uuid and name; None if it is about a consumer that holds nothing
    :param consumer: uuid
    :param first_seen: since when the tables say so, in UTC
    """

    kind: str
    provider: tuple[str, str] | None
    consumer: str | None
    resource_class: str | None
    detail: str
    first_seen: datetime.datetime


class FoundSuspects:
    """How many suspects there are of a kind, and the first of them after a mark.

    :param notes: by mark, what was seen of each
    """

    def __init__(self, kind: str, after: SuspectMark | None, limit: int) -> None:
        self.rank = KINDS.index(kind)
        self.after = max(after or SuspectMark(0, 0), SuspectMark(self.rank, 0))
        self.limit = limit
        self.count = 0
        self.notes: dict[SuspectMark, Any] = {}

    def add(self, key: int, note: Any = None, class_id: int = 0) -> None:
        """Take in one, with ids that are greater than those of the one before."""
        self.count += 1
        mark = SuspectMark(self.rank, key, class_id)
        if len(self.notes) < self.limit and mark > self.after:
            self.notes[mark] = note

    def add_slots(self, snapshot: Snapshot, places: Places) -> None:
        """Take in slots and classes of a snapshot."""
        slots, classes = places
        self.count += len(slots)
        ids = snapshot.register.ids[slots]
        later = (ids > self.after.id) | ((ids == self.after.id) & (classes > self.after.class_id))
        if self.after.rank > self.rank:
            later[:] = False
        slots, ids, classes = slots[later], ids[later], classes[later]
        for at in np.lexsort((classes, ids))[: self.limit].tolist():
            self.notes[SuspectMark(self.rank, int(ids[at]), int(classes[at]))] = int(slots[at])


class SuspectLook:
    """A look at the cloud.

    :param now: the time, in UTC
    :param is_settled: says whether an instance on two hosts is told
    :param untouched_before: trees in which nothing changed since are told; None: none is
    """

    def __init__(
        self,
        snapshot: Snapshot,
        connection: Connection,
        now: datetime.datetime,
        is_settled: Callable[[Spread], bool],
        untouched_before: Time,
    ) -> None:
        self._snapshot = snapshot
        self._connection = connection
        self._now = now
        self._is_settled = is_settled
        self._untouched_before = untouched_before

    def find(self, kind: str, after: SuspectMark | None, limit: int) -> FoundSuspects:
        """Count the suspects of a kind, and note the first `limit` of them after the mark."""
        found = FoundSuspects(kind, after, limit)
        getattr(self, f"_find_{kind}")(found)
        return found

    def describe(self, found: FoundSuspects) -> Iterator[tuple[SuspectMark, Suspect]]:
        """Yield what was noted, in its order; what is gone meanwhile is left out."""
        if found.notes:
            yield from getattr(self, f"_describe_{KINDS[found.rank]}")(found.notes)

    def _find_two_roots(self, found: FoundSuspects) -> None:
        for one in rows.spread(self._connection):
            if self._is_settled(one):
                found.add(one.consumer_id, one.since)

    def _describe_two_roots(
        self, notes: Mapping[SuspectMark, Any]
    ) -> Iterator[tuple[SuspectMark, Suspect]]:
        parts = self._parts(notes)
        for mark, since in notes.items():
            theirs = [
                part for part in parts.get(mark.id, ()) if part.resource_class in rules.OF_ONE_HOST
            ]
            homes = list(dict.fromkeys((part.root_uuid, part.root_name) for part in theirs))
            if len(homes) < 2:
                continue
            uuid, name = homes[0]
            detail = (
                f"The instance holds {_held(theirs)}, and no migration of its project is beside "
                f"it. Unless it is being evacuated, one of these is left over: see what runs it, "
                f"and what `nova-manage placement audit --resource_provider {uuid}` says on "
                f"{name}."
            )
            yield mark, self._suspect(mark, homes[0], detail, since, theirs[0].consumer)

    def _find_consumer_type_unknown(self, found: FoundSuspects) -> None:
        found.count = rows.untyped_count(self._connection)
        if found.after.rank == found.rank and found.limit:
            for key, since in rows.untyped(self._connection, found.after.id, found.limit):
                found.notes[SuspectMark(found.rank, key)] = since

    def _describe_consumer_type_unknown(
        self, notes: Mapping[SuspectMark, Any]
    ) -> Iterator[tuple[SuspectMark, Suspect]]:
        parts = self._parts(notes)
        for mark, since in notes.items():
            theirs = parts.get(mark.id, [])
            if not theirs:
                continue
            first = theirs[0]
            holds = first.root_uuid is not None
            detail = (
                f"The consumer has no type, because a client below microversion 1.38 wrote it. It "
                f"holds {_held(theirs) if holds else 'nothing'}. `openstack resource provider "
                f"allocation show {first.consumer}` shows all of it; its owner gives it a type "
                f"with the next write."
            )
            home = (first.root_uuid, first.root_name) if holds else None
            yield mark, self._suspect(mark, home, detail, since, first.consumer)

    def _find_over_capacity(self, found: FoundSuspects) -> None:
        found.add_slots(self._snapshot, snapshot_suspects.over_capacity(self._snapshot))

    def _describe_over_capacity(
        self, notes: Mapping[SuspectMark, Any]
    ) -> Iterator[tuple[SuspectMark, Suspect]]:
        names, ids = self._named(notes), sorted({mark.id for mark in notes})
        stocks = rows.stock_times(self._connection, ids)
        usages = rows.usage_times(self._connection, ids)
        for mark, slot in notes.items():
            place = names.get(mark.id)
            if place is None:
                continue
            class_name = self._class(mark.class_id)
            detail = (
                f"{self._too_much(slot, mark.class_id)}. It gets nothing new. Correct the "
                f"inventory, the ratio or what is reserved; or move consumers away: `nova-manage "
                f"placement drain --host {place.uuid} --over-capacity --plan` says which and where "
                f"to."
            )
            key = (mark.id, mark.class_id)
            since = _newest(stocks.get(key), usages.get(key))
            yield mark, self._of_provider(mark, place, detail, since, class_name)

    def _too_much(self, slot: int, class_id: int) -> str:
        column, name = self._snapshot.column(class_id), self._class(class_id)
        has, at = column.find(np.array([slot]))
        if not has[0]:
            used = self._snapshot.stray_usage.get((slot, class_id), 0)
            return f"{used} of {name} are allocated, and there is no inventory of it"
        stock, place = column.stock(int(at[0])), int(at[0])
        return (
            f"{column.used_at(place)} of {name} are allocated, more than there is room for: "
            f"{max(column.capacity(place), 0)} (total {stock.total}, reserved {stock.reserved}, "
            f"ratio {stock.ratio})"
        )

    def _find_empty_root(self, found: FoundSuspects) -> None:
        roots = snapshot_suspects.empty_roots(self._snapshot)
        found.add_slots(self._snapshot, (roots, np.zeros(len(roots), np.int64)))

    def _describe_empty_root(
        self, notes: Mapping[SuspectMark, Any]
    ) -> Iterator[tuple[SuspectMark, Suspect]]:
        times = rows.tree_times(self._connection, [mark.id for mark in notes])
        for mark, place in self._places(notes):
            detail = (
                f"Nothing in the tree of {place.name} has an inventory: its agent has not "
                f"reported any, or the host is gone. If no agent has this name any more, "
                f"`openstack resource provider delete {place.uuid}` removes it."
            )
            yield mark, self._of_provider(mark, place, detail, times.get(mark.id))

    def _find_untouched(self, found: FoundSuspects) -> None:
        if self._untouched_before is not None:
            for key, since in rows.untouched(self._connection, self._untouched_before):
                found.add(key, since)

    def _describe_untouched(
        self, notes: Mapping[SuspectMark, Any]
    ) -> Iterator[tuple[SuspectMark, Suspect]]:
        for mark, place in self._places(notes):
            detail = (
                f"Nothing in the tree of {place.name} changed for a long time: its agent may be "
                f"gone. See `openstack compute service list --host {quote(place.name)}`, and "
                f"`openstack resource provider usage show {place.uuid}`."
            )
            yield mark, self._of_provider(mark, place, detail, notes[mark])

    def _find_duplicate_device(self, found: FoundSuspects) -> None:
        first: dict[tuple[int, str], NamedProviderRow] = {}
        for row in rows.devices(self._connection):
            address = pci_address(row.name)
            if address is not None:
                other = first.setdefault((row.root_id, address), row)
                if other is not row:
                    found.add(row.id, (other.name, other.uuid, address))

    def _describe_duplicate_device(
        self, notes: Mapping[SuspectMark, Any]
    ) -> Iterator[tuple[SuspectMark, Suspect]]:
        for mark, place in self._places(notes):
            name, uuid, address = notes[mark]
            detail = (
                f"{place.name} and {name} ({uuid}) both stand for the PCI device {address} of one "
                f"host, which may be given away twice. `openstack resource provider tree show "
                f"{place.uuid}` shows what each has and who holds it; let one service alone "
                f"report the device."
            )
            yield mark, self._of_provider(mark, place, detail, place.created)

    def _find_burned_device(self, found: FoundSuspects) -> None:
        found.add_slots(self._snapshot, snapshot_suspects.burned_devices(self._snapshot))

    def _describe_burned_device(
        self, notes: Mapping[SuspectMark, Any]
    ) -> Iterator[tuple[SuspectMark, Suspect]]:
        times = rows.stock_times(self._connection, sorted({mark.id for mark in notes}))
        for mark, place in self._places(notes):
            class_name = self._class(mark.class_id)
            detail = (
                f"All {class_name} of this device for one use are reserved, and nobody holds any: "
                f"its last user left, and it was not set back. When it is clean, `nova-manage "
                f"placement devices --release {place.uuid}` does that."
            )
            since = times.get((mark.id, mark.class_id))
            yield mark, self._of_provider(mark, place, detail, since, class_name)

    def _find_alike_names(self, found: FoundSuspects) -> None:
        first: dict[str, tuple[str, str]] = {}
        for row in rows.roots(self._connection):
            mine = (row.name, row.uuid)
            other = first.setdefault(short_name(mine[0]), mine)
            if other is not mine:
                found.add(row.id, other)

    def _describe_alike_names(
        self, notes: Mapping[SuspectMark, Any]
    ) -> Iterator[tuple[SuspectMark, Suspect]]:
        for mark, place in self._places(notes):
            name, uuid = notes[mark]
            detail = (
                f"{place.name} and {name} ({uuid}) differ by domain or case alone: one host may "
                f"have reported under two names. If it has, and has the second one now, "
                f"`nova-manage placement adopt_provider --name {quote(name)} --uuid {place.uuid} "
                f"--as {quote(place.name)} --dry-run` says what giving it all of the first one "
                f"would do. If they are two hosts, nothing is wrong."
            )
            yield mark, self._of_provider(mark, place, detail, place.created)

    def _parts(self, notes: Mapping[SuspectMark, Any]) -> Mapping[int, Sequence[ConsumerShare]]:
        return rows.parts(self._connection, [mark.id for mark in notes])

    def _named(self, notes: Iterable[SuspectMark]) -> Mapping[int, NamedProviderRow]:
        return rows.named(self._connection, sorted({mark.id for mark in notes}))

    def _places(
        self, notes: Mapping[SuspectMark, Any]
    ) -> Iterator[tuple[SuspectMark, NamedProviderRow]]:
        names = self._named(notes)
        return ((mark, names[mark.id]) for mark in notes if mark.id in names)

    def _class(self, class_id: int) -> str:
        return self._snapshot.names.classes.get(class_id, str(class_id))

    def _of_provider(
        self,
        mark: SuspectMark,
        place: NamedProviderRow,
        detail: str,
        since: Time,
        class_name: str | None = None,
    ) -> Suspect:
        return self._suspect(mark, (place.uuid, place.name), detail, since, None, class_name)

    def _suspect(
        self,
        mark: SuspectMark,
        provider: tuple[str, str] | None,
        detail: str,
        since: Time,
        consumer: str | None = None,
        class_name: str | None = None,
    ) -> Suspect:
        # a clock of another host may be ahead, and rows of other programs may have no time
        first_seen = self._now if since is None else min(since, self._now)
        kind = KINDS[mark.rank]
        return Suspect(kind, provider, consumer, class_name, detail, first_seen)


#: how many trees a sentence names
_TOLD = 4


def _held(parts: Sequence[ConsumerShare]) -> str:
    """Return `2 VCPU, 512 MEMORY_MB of host1 (uuid) and 2 VCPU of host2 (uuid)`."""
    said = []
    for (name, uuid), theirs in itertools.groupby(
        sorted(parts, key=_by_root(parts)), key=lambda part: (part.root_name, part.root_uuid)
    ):
        amounts = ", ".join(f"{part.used} {part.resource_class}" for part in theirs)
        said.append(f"{amounts} of {name} ({uuid})")
    if len(said) > _TOLD:
        said = [*said[: _TOLD - 1], f"something of {len(said) - _TOLD + 1} other trees"]
    return " and ".join(said)


def _by_root(parts: Sequence[ConsumerShare]) -> Callable[[ConsumerShare], int]:
    order = list(dict.fromkeys(part.root_uuid for part in parts))
    return lambda part: order.index(part.root_uuid)


def _newest(*times: Time) -> Time:
    return max((time for time in times if time is not None), default=None)
