"""Lanes: positions in the change feed that are in commit order (architecture.rst D4).

A write locks the row of a lane and keeps the lock until its transaction ends. So within a lane
positions follow commit order without a gap; the positions of a write that is rolled back go to the
next write. Concurrent writes use different lanes and never wait for each other. If all lanes are
locked, a write adds a lane, so there are as many lanes as there ever were concurrent writes.

Each write stores a mark, a random number, in its lane, and each row of the feed has the mark of the
write before. If a database is restored and then changed in another way, the marks differ from those
that a reader has read.

A client's position names every lane, so there must be few. If they are many when a client needs a
position, all lanes *end* that no write has locked. They are deleted from the table of lanes, and
rows in one special lane, ENDS, say which position each of them had. A reader who hasn't read these
rows reads the ended lanes up to there, as if they still existed. So it misses nothing, whether it
knew a lane or not. If such rows are trimmed, it reads all tables again.

Ends take every second position of ENDS: after position 6, the next two ends get 8 and 10. A worker
of the version before takes the gaps for rows that it lacks, and reads all tables again. So it needs
to know nothing of ends.
"""

import base64
import dataclasses
import datetime
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.storage.database.compiled import Compiled
from placement.storage.database.connection import Connection
from placement.storage.driver.mysql_sessions import CLUSTER
from placement.storage.feed.feed_kinds import NO_PROVIDER, ChangeKind
from placement.storage.tables import change_lanes, provider_changes, utcnow

#: the lane of rows from workers of an earlier version, which have no lanes
NO_LANE = 0
#: bits of a lane's id and of a mark. So the sum of thousands of marks fits into 64 bits
_BITS = 48
#: the greatest id that `open_lane` gives
LARGEST_ID = 1 << _BITS
#: bytes of a lane's id, of a position and of a mark
_SIZES = (7, 7, 6)
#: how long `packed` is
LENGTH = sum(_SIZES)


@dataclasses.dataclass(frozen=True)
class Stretch:
    """The positions of one write.

    :param first: the first position; the others follow without a gap
    :param before: the mark of the write before in this lane; 0 for the first write
    """

    lane: int
    first: int
    before: int


_HERE = change_lanes.c.home == sa.bindparam("here")
#: lanes that another write has locked are skipped; SQLite has one writer at a time
_FREE = (
    sa.select(change_lanes.c.id)
    .where(_HERE)
    .order_by(change_lanes.c.id)
    .limit(1)
    .with_for_update(skip_locked=True)
)
_FREE_AND_STATE = Compiled(_FREE.add_columns(change_lanes.c.position, change_lanes.c.mark))
#: joined, and not a subquery of the condition: PostgreSQL evaluates a condition again if the lane
#: was advanced a moment ago. The subquery may find another lane then, so that no lane is advanced
_FOUND = _FREE.cte("free")


def advance_free(count: sa.ColumnElement[int], *conditions: sa.ColumnElement[bool]) -> Any:
    """Make a statement that takes so many positions of a free lane if these conditions hold.

    `advance` makes its parameters, except those of the count.

    For databases with UPDATE … RETURNING.
    """
    return (
        sa.update(change_lanes)
        .where(_HERE, change_lanes.c.id == _FOUND.c.id, *conditions)
        .values(
            position=change_lanes.c.position + count,
            before=change_lanes.c.mark,
            mark=sa.bindparam("new_mark"),
        )
        .returning(change_lanes.c.id, change_lanes.c.position, change_lanes.c.before)
    )


#: the count as a parameter
COUNT = sa.bindparam("count", type_=sa.BigInteger)
_ADVANCE_FREE = Compiled(advance_free(COUNT))
_ADVANCE_KNOWN = Compiled(
    sa.update(change_lanes)
    .where(_HERE, change_lanes.c.id == sa.bindparam("lane"))
    .values(
        position=sa.bindparam("last"), before=sa.bindparam("old"), mark=sa.bindparam("new_mark")
    )
)


def take(connection: Connection, count: int) -> Stretch:
    """Give a write `count` positions in a lane that it keeps until its transaction ends.

    The nodes of a Galera cluster don't see each other's locks, so each node has its own lanes.
    """
    here = home(connection)
    stretch = _advance(connection, here, count)
    return open_lane(connection, here, count) if stretch is None else stretch


def ask_along(connection: Connection) -> None:
    """Look for a free lane with the next message, if that saves one.

    It is locked from then on. Nobody waits for a lane, so it may be locked before other rows.
    """
    if not connection.dialect.update_returning:
        connection.ask_along((_FREE_AND_STATE, {"here": home(connection)}))


def home(connection: Connection) -> int:
    """Return whose lanes this session uses: the number of a cluster's node; 0 without a cluster."""
    return int(connection.info.get(CLUSTER, 0))


def advance(here: int) -> dict[str, int]:
    """Return the parameters of `advance_free`."""
    return {"here": here, "new_mark": new_mark()}


def new_mark() -> int:
    """Return a mark for one write."""
    return secrets.randbits(_BITS)


def _advance(connection: Connection, here: int, count: int) -> Stretch | None:
    """Take the next positions of a free lane; return None if no lane is free."""
    if connection.dialect.update_returning:
        found = connection.execute(_ADVANCE_FREE, {**advance(here), "count": count}).first()
        return None if found is None else Stretch(found[0], found[1] - count + 1, found[2])
    asked = connection.answered_along() or connection.execute(_FREE_AND_STATE, {"here": here})
    found = asked.first()
    if found is None:
        return None
    lane, position, mark = found
    connection.later(
        _ADVANCE_KNOWN,
        {
            "here": here,
            "lane": lane,
            "last": position + count,
            "old": mark,
            "new_mark": new_mark(),
        },
    )
    return Stretch(lane, position + 1, mark)


def open_lane(connection: Connection | sa.Connection, here: int = 0, count: int = 0) -> Stretch:
    """Add a lane, and take its first positions.

    Its id is random, so that two writers add different lanes.
    """
    lane = 1 + secrets.randbits(_BITS)
    connection.execute(
        sa.insert(change_lanes),
        {
            "home": here,
            "id": lane,
            "position": count,
            "mark": new_mark(),
            "before": 0,
        },
    )
    return Stretch(lane, 1, 0)


def packed(lane: int, position: int, mark: int) -> bytes:
    """Return the state of a lane as bytes."""
    values = zip((lane, position, mark), _SIZES, strict=True)
    return b"".join(value.to_bytes(size) for value, size in values)


def unpacked(content: bytes) -> tuple[int, int, int]:
    """Return the lane, the position and the mark that `packed` got."""
    end_of_id, end_of_position = _SIZES[0], _SIZES[0] + _SIZES[1]
    return (
        int.from_bytes(content[:end_of_id]),
        int.from_bytes(content[end_of_id:end_of_position]),
        int.from_bytes(content[end_of_position:]),
    )


#: with more lanes than these, those that no write has locked end
MOST_LANES = 32
#: the lane whose rows name the ends of others. It belongs to no node, so no write takes it
ENDS = LARGEST_ID + 1
_NOBODY = -1
#: how many lanes end in one transaction at most
AT_ONCE = 500
#: with more unread ends than these, a reader reads all tables again
_MOST_UNREAD = 10_000
#: a lane that another node of a cluster used so long ago is probably not in use any more
_LATELY = datetime.timedelta(seconds=10)

_L, _C = change_lanes.c, provider_changes.c
_LANE_OF_ENDS = sa.and_(_L.home == _NOBODY, _L.id == ENDS)

_STATE = sa.select(_L.home, _L.id, _L.position, _L.mark)
_FREE_OF_ALL = (
    _STATE.where(_L.id != ENDS)
    .order_by(_L.home, _L.id)
    .limit(AT_ONCE)
    .with_for_update(skip_locked=True)
)
_THIS = sa.and_(_L.home == sa.bindparam("of_home"), _L.id == sa.bindparam("of_id"))
_ONE_IF_FREE = _STATE.where(_THIS).with_for_update(skip_locked=True)

#: a row tells that a worker noticed a write of others, who don't append to the feed
IS_OF_OTHERS = sa.and_(
    _C.resource_provider_id == NO_PROVIDER,
    _C.kind.bitwise_and(int(ChangeKind.OTHERS)) != 0,
)

#: by lane, the last position and the mark of the write that took it
Lanes = Mapping[int, tuple[int, int]]


def end_lanes(connection: Connection, is_repeated: bool = False) -> int:
    """End lanes that no write has locked, at most AT_ONCE; return their number.

    Lanes with a row that tells of others who write stay: workers of the version before look for
    such rows only in lanes that exist.

    :param is_repeated: whether this was tried before and failed. Probably another node of a
        cluster, whose locks aren't seen here, used one of the lanes meanwhile. So this time, lanes
        that other nodes used lately are not locked
    """
    # lock ENDS first: so one transaction at a time ends lanes, and the next one sees these ends
    of_ends = sa.select(_L.position, _L.mark).where(_LANE_OF_ENDS).with_for_update()
    known = connection.execute(of_ends).first()
    if known is None:
        row = {"home": _NOBODY, "id": ENDS, "position": 0, "mark": 0, "before": 0}
        connection.execute(sa.insert(change_lanes), row)
    position, mark = known or (0, 0)
    here = home(connection)
    locked = (
        _idle(connection, here) if here and is_repeated else connection.execute(_FREE_OF_ALL).all()
    )
    staying = _with_rows_of_others(connection, [row.id for row in locked])
    ended = [row for row in locked if row.id not in staying]
    if not ended:
        return 0
    connection.execute(
        sa.delete(change_lanes).where(_THIS),
        [{"of_home": row.home, "of_id": row.id} for row in ended],
    )
    now = utcnow()
    connection.execute(
        sa.insert(provider_changes),
        [
            _row(now, end, mark, packed(row.id, row.position, row.mark))
            for end, row in zip(_positions_after(position, len(ended)), ended, strict=True)
        ],
    )
    connection.execute(
        sa.update(change_lanes)
        .where(_LANE_OF_ENDS)
        .values(position=position + 2 * len(ended), before=mark, mark=new_mark())
    )
    return len(ended)


def _positions_after(after: int, count: int) -> range:
    """Return the positions of the next `count` ends after a position of ENDS."""
    return range(after + 2, after + 2 * count + 1, 2)


def _row(now: datetime.datetime, position: int, before: int, ended: bytes) -> dict[str, object]:
    return {
        "created_at": now,
        "resource_provider_id": NO_PROVIDER,
        "kind": int(ChangeKind.ENDED),
        "lane": ENDS,
        "position": position,
        "before": before,
        "resource_provider_uuid": base64.urlsafe_b64encode(ended).rstrip(b"=").decode(),
    }


def _with_rows_of_others(connection: Connection, lanes: Sequence[int]) -> set[int]:
    """Return which of the lanes have a row that tells of others who write."""
    found = sa.select(_C.lane).where(_C.lane.in_(lanes), IS_OF_OTHERS)
    return set(connection.execute(found).scalars())


def _idle(connection: Connection, here: int) -> list[sa.Row[Any]]:
    """Lock the lanes that no write has locked, except those that other nodes used lately."""
    lately = sa.exists().where(
        _C.lane == _L.id, _C.position == _L.position, _C.created_at >= utcnow() - _LATELY
    )
    idle = sa.select(_L.home, _L.id).where(_L.id != ENDS, sa.or_(_L.home == here, ~lately))
    # one by one by key: one statement for all would lock other lanes on its way
    rows = [
        connection.execute(_ONE_IF_FREE, {"of_home": home, "of_id": lane}).first()
        for home, lane in connection.execute(idle.limit(AT_ONCE)).all()
    ]
    return [row for row in rows if row is not None]


def with_ended(connection: Connection, seen: Lanes, now: Lanes) -> Lanes | None:
    """Return the lanes that exist now, and those whose ends a reader hasn't read; None if unknown.

    ENDS itself is returned as the reader knows it, so that nobody reads its rows as changes.

    :param seen: the lanes of the reader's cursor
    :param now: the lanes that exist
    """
    nothing = (0, 0)
    (after, mark), (last, last_mark) = seen.get(ENDS, nothing), now.get(ENDS, nothing)
    lanes = {lane: state for lane, state in now.items() if lane != ENDS}
    if ENDS in seen:
        lanes[ENDS] = after, mark
    if (after, mark) == (last, last_mark):
        return lanes
    unread = last - after
    if not 0 < unread <= 2 * _MOST_UNREAD:
        return None
    rows = connection.execute(
        sa.select(_C.position, _C.before, _C.resource_provider_uuid)
        .where(_C.lane == ENDS, _C.position > after)
        .order_by(_C.position)
    ).all()
    expected = list(_positions_after(after, unread // 2))
    if not expected or [row.position for row in rows] != expected or rows[0].before != mark:
        return None
    for _, _, ended in rows:
        if ended is None:
            # whatever emptied the column: which lane ended isn't known any more
            return None
        lane, position, mark = unpacked(base64.urlsafe_b64decode(ended + "="))
        lanes[lane] = position, mark
    return lanes
