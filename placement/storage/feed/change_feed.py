"""The change feed: which providers each write touched (architecture.rst D4).

Each operation appends its rows inside its own transaction, so a reader sees them as soon as the
operation is committed. A reader's `Cursor` says how far it has read in each lane. Within a lane,
positions are in commit order (see `placement.storage.feed.feed_lanes`). So no row can appear later
at a position that a reader has passed, however long commits take and whatever ids the database
gives.

For example, a reader has read lane 7 up to position 3, which a write with the mark 55 took. Another
write appends rows for two providers, at the positions 4 and 5. Both rows name the mark before, 55.

A reader checks that each row follows the row that it read before, by the position and by the mark
before. The rows don't follow if the feed was trimmed, if the database was restored, or if it failed
over to a copy without the last writes. Then the reader has to read all tables again.
"""

import dataclasses
import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.storage.database.compiled import Compiled
from placement.storage.database.engine import Connection, Database
from placement.storage.driver.list_parameters import parts
from placement.storage.feed import feed_lanes
from placement.storage.feed.feed_append import ADVANCE_AND_APPEND
from placement.storage.feed.feed_kinds import NO_PROVIDER as NO_PROVIDER
from placement.storage.feed.feed_kinds import ChangeKind as ChangeKind
from placement.storage.feed.feed_lanes import NO_LANE
from placement.storage.tables import change_lanes, provider_changes, utcnow

#: how many rows of the feed are kept, and after how many rows of one lane older rows are deleted
KEPT = 100_000
TRIM_EVERY = 1_000
#: the maximum number of lanes, ids, or rows without a lane in one statement
_AT_ONCE = 500
#: up to so many lanes, their new rows are asked for together with the lanes: most have none
_FEW_LANES = 32

_INSERT = Compiled(sa.insert(provider_changes))


def record(connection: Connection, provider_ids: Iterable[int], kind: ChangeKind) -> None:
    """Append one row per provider."""
    record_each(connection, dict.fromkeys(provider_ids, kind))


def record_names(connection: Connection) -> None:
    """Append that the names of resource classes or traits changed."""
    record(connection, [NO_PROVIDER], ChangeKind.NAMES)


def record_others(connection: Connection) -> None:
    """Append that others write to the tables, so that every worker looks for their writes.

    Workers of an earlier version take that for a change of names.
    """
    record(connection, [NO_PROVIDER], ChangeKind.OTHERS)


def record_deleted(connection: Connection, uuids: Mapping[int, str]) -> None:
    """Append that providers were deleted, given as uuids by id."""
    record_each(connection, dict.fromkeys(uuids, ChangeKind.DELETED), uuids)


def record_each(
    connection: Connection,
    kinds: Mapping[int, ChangeKind],
    deleted: Mapping[int, str] | None = None,
) -> None:
    """Append one row per provider, each with its own kind of change.

    Call it near the end of the transaction: from here on, the transaction keeps its lane locked.

    :param deleted: uuids by id of the providers that were deleted: no other table knows them then
    """
    if not kinds:
        return
    first, is_new = _append(connection, kinds, deleted or {})
    # trim when a lane passes a multiple of TRIM_EVERY, also amid the rows of one write. A lane may
    # end before it has so many rows, so a write that opens a lane trims, too
    if is_new or (first - 1) // TRIM_EVERY != (first - 1 + len(kinds)) // TRIM_EVERY:
        _trim(connection, 2 * max(TRIM_EVERY, len(kinds)))


def _append(
    connection: Connection, kinds: Mapping[int, ChangeKind], deleted: Mapping[int, str]
) -> tuple[int, bool]:
    """Append the rows; return the first position, and whether this write opened a new lane."""
    here, count, now = feed_lanes.home(connection), len(kinds), utcnow()
    if connection.dialect.name == "postgresql":
        given = {
            "providers": list(kinds),
            "kinds": [int(kind) for kind in kinds.values()],
            "uuids": [deleted.get(provider_id) for provider_id in kinds],
            "count": count,
            "now": now,
        }
        last = connection.execute(ADVANCE_AND_APPEND, feed_lanes.advance(here) | given)
        if last.scalar() is not None:
            return last.scalar() - count + 1, False
        stretch = feed_lanes.open_lane(connection, here, count)
    else:
        stretch = feed_lanes.take(connection, count)
    rows = [
        {
            "created_at": now,
            "resource_provider_id": provider_id,
            "kind": int(kind),
            "lane": stretch.lane,
            "position": position,
            "before": stretch.before,
            "resource_provider_uuid": deleted.get(provider_id),
        }
        for position, (provider_id, kind) in enumerate(kinds.items(), stretch.first)
    ]
    connection.later(_INSERT, rows)
    return stretch.first, stretch.before == 0


def _trim(connection: Connection, most: int) -> None:
    """Delete the oldest rows, at most `most` of them, but keep the newest `KEPT` rows.

    The rows are counted, because ids may have gaps. Rows that another transaction has locked stay,
    so that no writer waits here.
    """
    ids = provider_changes.c.id
    newest = sa.select(ids).order_by(ids.desc())
    oldest_kept = connection.execute(newest.offset(KEPT - 1).limit(1)).scalar()
    if oldest_kept is None:
        return
    old = sa.select(ids).where(ids < oldest_kept, ids > 0).order_by(ids).limit(most)
    found = connection.execute(old.with_for_update(skip_locked=True)).scalars().all()
    for part in parts(found, _AT_ONCE):
        connection.execute(sa.delete(provider_changes).where(ids.in_(part)))


@dataclasses.dataclass(frozen=True)
class Cursor:
    """How far a reader has read.

    :param lanes: by lane, the last position and the mark of the write that took it
    """

    lanes: Mapping[int, tuple[int, int]] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def totals(self) -> tuple[int, int, int]:
        """The number of lanes, the sum of their positions, and the sum of their marks."""
        states = self.lanes.values()
        return (len(states), sum(state[0] for state in states), sum(state[1] for state in states))


@dataclasses.dataclass(frozen=True)
class News:
    """What a reader hasn't read yet: kinds of changes by provider id, and its cursor after that."""

    kinds: dict[int, ChangeKind]
    cursor: Cursor


_LANES = sa.select(change_lanes.c.id, change_lanes.c.position, change_lanes.c.mark)
_ALL_LANES = Compiled(_LANES)
_WITHOUT_LANE = provider_changes.c.lane == sa.literal_column(str(NO_LANE), sa.BigInteger)
#: one row, however many lanes there are: whether there are rows without a lane, and the totals of
#: all lanes (see `is_behind`)
TOTALS: tuple[sa.ColumnElement[Any], ...] = (
    sa.exists().where(_WITHOUT_LANE),
    sa.func.count(change_lanes.c.id),
    sa.func.sum(change_lanes.c.position),
    sa.func.sum(change_lanes.c.mark),
)
_TOTALS = Compiled(sa.select(*TOTALS))


def start(connection: Connection) -> Cursor:
    """Return the cursor of a reader that reads all tables in this transaction."""
    rows = connection.execute(_ALL_LANES)
    return Cursor({lane: (position, mark) for lane, position, mark in rows})


def read(connection: Connection, cursor: Cursor, most: int = 2 * KEPT) -> News | None:
    """Return the changes after the cursor; None if the feed doesn't continue from there.

    :param most: how many rows to read at most; None is returned if there are more
    """
    rows: list[Any] | None = None
    if len(cursor.lanes) <= _FEW_LANES and most >= KEPT:
        now, rows = _state_and_rows(connection, cursor)
    else:
        now = start(connection)
    # lanes that ended are read to their ends, as if they still existed
    lanes = feed_lanes.with_ended(connection, cursor.lanes, now.lanes)
    if lanes is None or any(
        lane not in lanes or lanes[lane][0] < position
        for lane, (position, _) in cursor.lanes.items()
    ):
        return None
    moved = {
        lane: cursor.lanes.get(lane, (0, 0))
        for lane, state in lanes.items()
        if cursor.lanes.get(lane) != state
    }
    unread = sum(lanes[lane][0] - position for lane, (position, _) in moved.items())
    if unread > most:
        return None
    if rows is None:
        rows = _rows_after(connection, moved)
    elif moved.keys() - cursor.lanes.keys():
        new = {lane: state for lane, state in moved.items() if lane not in cursor.lanes}
        rows += _rows_after(connection, new)
    kinds: dict[int, ChangeKind] = {}
    # by lane, the last position that was read, and the mark of the write that took it
    follows = dict(moved)
    for lane, position, before, provider_id, kind in rows:
        if lane == feed_lanes.ENDS:
            continue
        kinds[provider_id] = kinds.get(provider_id, ChangeKind(0)) | ChangeKind(kind)
        if lane == NO_LANE:
            continue
        last, mark = follows[lane]
        if position != last + 1 or (last == moved[lane][0] and before != mark):
            return None
        follows[lane] = (position, mark)
    if any(
        follows[lane][0] != lanes[lane][0] or lanes[lane][0] == position
        for lane, (position, _) in moved.items()
    ):
        # rows are missing, or another write has the position that the reader read last
        return None
    return News(kinds, now)


def _state_and_rows(connection: Connection, cursor: Cursor) -> tuple[Cursor, list[Any]]:
    """Return what `start` and `_rows_after` return, for the cursor's lanes, with one statement."""
    places = _places(cursor.lanes)
    found = connection.execute(_lanes_and_rows(len(places)), _values(places)).all()
    lanes = {lane: (position, mark) for lane, position, mark, _, kind in found if kind is None}
    rows = [row for row in found if row[4] is not None]
    return Cursor(lanes), sorted(rows, key=operator.itemgetter(0, 1))


def _rows_after(connection: Connection, lanes_seen: Mapping[int, tuple[int, int]]) -> list[Any]:
    """Return (lane, position, mark before, provider id, kind) after these positions, in order.

    Rows that have no lane yet are included: their changes are in the tables already.
    """
    found: list[Any] = []
    for part in parts(_places(lanes_seen), _AT_ONCE):
        rows = connection.execute(_after_places(len(part)), _values(part)).all()
        found += sorted(rows, key=operator.itemgetter(0, 1))
    return found


def _places(lanes_seen: Mapping[int, tuple[int, int]]) -> list[tuple[int, int]]:
    """Return lanes with the positions after which to read, and all of the rows without a lane."""
    return [(NO_LANE, -1), *((lane, position) for lane, (position, _) in lanes_seen.items())]


def _values(places: Sequence[tuple[int, int]]) -> dict[str, int]:
    """Return the parameters of `_after_places` and `_lanes_and_rows`."""
    values: dict[str, int] = {}
    for number, (lane, position) in enumerate(places):
        values[f"lane_{number}"], values[f"after_{number}"] = lane, position
    return values


@functools.lru_cache(maxsize=_AT_ONCE)
def _lanes_and_rows(count: int) -> Compiled:
    """Make the query for the state of all lanes, and for the rows of `count` lanes.

    Rows of the first kind have NULL in the columns that lanes lack.
    """
    nothing = sa.null(), sa.null()
    return Compiled(sa.union_all(_LANES.add_columns(*nothing), _select_after(count)))


@functools.lru_cache(maxsize=_AT_ONCE)
def _after_places(count: int) -> Compiled:
    """Make the query for `count` lanes. It is cached, as making it costs more than running it."""
    return Compiled(_select_after(count))


def _select_after(count: int) -> sa.Select[Any]:
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
    return sa.select(*shown).where(sa.or_(*places))


def has_news(database: Database, cursor: Cursor) -> bool:
    """Return whether there are rows after the cursor. If not, it costs one small statement.

    Gives a lane to rows without one: until then, no reader knows which of them it has read. Raises
    what `Database.read` raises.
    """
    return is_behind(database, cursor, database.ask(_TOTALS)[0])


def is_behind(database: Database, cursor: Cursor, totals: Sequence[Any]) -> bool:
    """Return what `has_news` returns.

    :param totals: what the database just answered to `TOTALS`
    """
    without_lane, *sums = totals
    if not without_lane:
        return tuple(int(total or 0) for total in sums) != cursor.totals
    while database.write(adopt) == _AT_ONCE:
        pass
    return True


def adopt(connection: Connection) -> int:
    """Append the rows of workers of an earlier version again, with a lane; return their number.

    After the commit of this transaction, readers of both versions see them.
    """
    ids = provider_changes.c.id
    among = sa.select(ids).where(_WITHOUT_LANE, ids > 0).order_by(ids).limit(_AT_ONCE)
    seen = connection.execute(among).scalars().all()
    # by id: a search by lane would wait for writes that aren't committed yet. Rows that another
    # reader adopts now are waited for, as this reader must not answer without them
    rows = connection.execute(
        sa.select(ids, provider_changes.c.resource_provider_id, provider_changes.c.kind)
        .where(ids.in_(seen), _WITHOUT_LANE)
        .order_by(ids)
        .with_for_update()
    ).all()
    kinds: dict[int, ChangeKind] = {}
    for _, provider_id, kind in rows:
        kinds[provider_id] = kinds.get(provider_id, ChangeKind(0)) | ChangeKind(kind)
    record_each(connection, kinds)
    if rows:
        connection.execute(sa.delete(provider_changes).where(ids.in_([row[0] for row in rows])))
    return len(seen)
