"""The change feed: which providers each write touched (architecture.rst D4).

Written inside the operation's own transaction, so that whoever reads the feed after a commit knows
of everything that commit did. A reader's `Cursor` says how far it has read in each lane. Within a
lane, places are given in commit order (see `placement.storage.feed_lanes`): a row that isn't there
yet is none that comes later, however long a commit takes, and whatever ids the database gives.

Reading checks that the rows follow what was read before, one by one and by the mark of the write
before. Where they don't – trimmed, restored, failed over to a copy without the last writes –, the
reader is told to read all tables again.
"""

import dataclasses
import enum
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.storage import feed_lanes
from placement.storage.compiled_select import CompiledSelect
from placement.storage.engine import Connection, Database
from placement.storage.feed_lanes import NO_LANE
from placement.storage.tables import change_lanes, provider_changes, utcnow

#: how many rows of the feed are kept, and after how many in one lane the rest is dropped
KEPT = 100_000
TRIM_EVERY = 1_000
#: so many lanes, ids, or rows without a lane are named or taken in by one statement
_AT_ONCE = 500


class Kind(enum.IntFlag):
    """What changed of a provider."""

    ROW = 1  # created, renamed or moved
    INVENTORY = 2
    USAGE = 4
    TRAITS = 8
    AGGREGATES = 16
    DELETED = 32
    NAMES = 64  # a resource class or a trait came, went or was renamed; no provider is named


_INSERT = sa.insert(provider_changes).inline()
#: in rows that name no provider
NO_PROVIDER = 0


def record(connection: Connection, provider_ids: Iterable[int], kind: Kind) -> None:
    """Append one row per provider."""
    record_each(connection, dict.fromkeys(provider_ids, kind))


def record_names(connection: Connection) -> None:
    """Append that the names of resource classes or traits changed."""
    record(connection, [NO_PROVIDER], Kind.NAMES)


def record_each(connection: Connection, kinds: Mapping[int, Kind]) -> None:
    """Append one row per provider, each with its own kind of change.

    To be called near the end of the transaction, which has its lane for itself from here on.
    """
    if not kinds:
        return
    stretch = feed_lanes.take(connection, len(kinds))
    now = utcnow()
    rows = [
        {
            "created_at": now,
            "resource_provider_id": provider_id,
            "kind": int(kind),
            "lane": stretch.lane,
            "position": position,
            "before": stretch.before,
        }
        for position, (provider_id, kind) in enumerate(kinds.items(), stretch.first)
    ]
    connection.execute(_INSERT, rows[0] if len(rows) == 1 else rows)
    # the many rows of one write may step over the multiple, so the whole stretch is looked at
    if (stretch.first - 1) // TRIM_EVERY != (stretch.first - 1 + len(rows)) // TRIM_EVERY:
        _trim(connection, 2 * max(TRIM_EVERY, len(rows)))


def _trim(connection: Connection, most: int) -> None:
    """Drop the oldest rows, at most so many, but keep the newest `KEPT`.

    Counted, as ids may come in steps or jump. Rows that another transaction has are left alone:
    nobody waits here.
    """
    ids = provider_changes.c.id
    oldest_kept = connection.execute(
        sa.select(ids).order_by(ids.desc()).offset(KEPT - 1).limit(1)
    ).scalar()
    if oldest_kept is None:
        return
    old = sa.select(ids).where(ids < oldest_kept, ids > 0).order_by(ids).limit(most)
    found = connection.execute(old.with_for_update(skip_locked=True)).scalars().all()
    for part in _parts(found):
        connection.execute(sa.delete(provider_changes).where(ids.in_(part)))


def _parts(items: Sequence[Any]) -> list[Sequence[Any]]:
    return [items[start : start + _AT_ONCE] for start in range(0, len(items), _AT_ONCE)]


@dataclasses.dataclass(frozen=True)
class Cursor:
    """How far a reader has read.

    :param lanes: by lane, the last position and the mark of the write that took it
    """

    lanes: Mapping[int, tuple[int, int]] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def totals(self) -> tuple[int, int, int]:
        """How many lanes there are, the sum of their positions, and of their marks."""
        states = self.lanes.values()
        return (len(states), sum(state[0] for state in states), sum(state[1] for state in states))


@dataclasses.dataclass(frozen=True)
class News:
    """What a reader hasn't seen yet: kinds of change by provider id, and where it is now."""

    kinds: dict[int, Kind]
    cursor: Cursor


_LANES = sa.select(change_lanes.c.id, change_lanes.c.position, change_lanes.c.mark)
_WITHOUT_LANE = provider_changes.c.lane == sa.literal_column(str(NO_LANE), sa.BigInteger)
#: one row, however many lanes there are
_SUMS: tuple[sa.ColumnElement[Any], ...] = (
    sa.func.count(change_lanes.c.id),
    sa.func.sum(change_lanes.c.position),
    sa.func.sum(change_lanes.c.mark),
)
_TOTALS = CompiledSelect(sa.select(sa.exists().where(_WITHOUT_LANE), *_SUMS))


def start(connection: Connection) -> Cursor:
    """Where a reader stands that reads all tables in this very transaction."""
    return Cursor({lane: (position, mark) for lane, position, mark in connection.execute(_LANES)})


def read(connection: Connection, cursor: Cursor) -> News | None:
    """What happened since; None if the feed doesn't continue what the cursor has seen."""
    now = start(connection)
    if any(
        lane not in now.lanes or now.lanes[lane][0] < position
        for lane, (position, _) in cursor.lanes.items()
    ):
        return None
    moved = {
        lane: cursor.lanes.get(lane, (0, 0))
        for lane, state in now.lanes.items()
        if cursor.lanes.get(lane) != state
    }
    owed = sum(now.lanes[lane][0] - position for lane, (position, _) in moved.items())
    if owed > 2 * KEPT:
        return None
    kinds: dict[int, Kind] = {}
    follows = dict(moved)
    for lane, position, before, provider_id, kind in _rows_after(connection, moved):
        kinds[provider_id] = kinds.get(provider_id, Kind(0)) | Kind(kind)
        if lane == NO_LANE:
            continue
        last, mark = follows[lane]
        if position != last + 1 or (last == moved[lane][0] and before != mark):
            return None
        follows[lane] = (position, mark)
    if any(
        follows[lane][0] != now.lanes[lane][0] or now.lanes[lane][0] == position
        for lane, (position, _) in moved.items()
    ):
        # rows are missing, or another write took the place that the reader saw taken last
        return None
    return News(kinds, now)


def _rows_after(connection: Connection, lanes_seen: Mapping[int, tuple[int, int]]) -> list[Any]:
    """(lane, position, mark before, provider id, kind) after these positions, in order.

    With them come the rows that have no lane yet: what they tell of is in the tables.
    """
    found: list[Any] = []
    seen = [(NO_LANE, -1), *((lane, position) for lane, (position, _) in lanes_seen.items())]
    for part in _parts(seen):
        values: dict[str, int] = {}
        for number, (lane, position) in enumerate(part):
            values[f"lane_{number}"], values[f"after_{number}"] = lane, position
        found += connection.execute(_after_places(len(part)), values).all()
    return found


@functools.lru_cache(maxsize=_AT_ONCE)
def _after_places(count: int) -> sa.Select[Any]:
    """The question about what comes after so many places. To make it costs more than to ask it."""
    columns = provider_changes.c
    shown: tuple[sa.Column[Any], ...] = (
        columns.lane,
        columns.position,
        columns.before,
        columns.resource_provider_id,
        columns.kind,
    )
    places = [
        sa.and_(
            columns.lane == sa.bindparam(f"lane_{number}"),
            columns.position > sa.bindparam(f"after_{number}"),
        )
        for number in range(count)
    ]
    return sa.select(*shown).where(sa.or_(*places)).order_by(columns.lane, columns.position)


def has_news(database: Database, cursor: Cursor) -> bool:
    """Whether a reader should read on: one small statement, if there is nothing to be read.

    Raises what `Database.read` does. Rows without a lane get one here: until they have it, no
    reader knows which of them it has seen.
    """
    ((without_lane, *totals),) = database.ask(_TOTALS)
    if not without_lane:
        return tuple(int(total or 0) for total in totals) != cursor.totals
    while database.write(adopt) == _AT_ONCE:
        pass
    return True


def adopt(connection: Connection) -> int:
    """Append again, in a lane, what workers of an earlier version appended; says how many it saw.

    Their rows are told from this transaction's commit on, to readers of either version.
    """
    ids = provider_changes.c.id
    among = sa.select(ids).where(_WITHOUT_LANE, ids > 0).order_by(ids).limit(_AT_ONCE)
    seen = connection.execute(among).scalars().all()
    # by id: a search by lane would wait for writes that aren't committed yet. What another reader
    # is adopting is waited for, as it must be told before this one answers
    rows = connection.execute(
        sa.select(ids, provider_changes.c.resource_provider_id, provider_changes.c.kind)
        .where(ids.in_(seen), _WITHOUT_LANE)
        .order_by(ids)
        .with_for_update()
    ).all()
    kinds: dict[int, Kind] = {}
    for _, provider_id, kind in rows:
        kinds[provider_id] = kinds.get(provider_id, Kind(0)) | Kind(kind)
    record_each(connection, kinds)
    if rows:
        connection.execute(sa.delete(provider_changes).where(ids.in_([row[0] for row in rows])))
    return len(seen)
