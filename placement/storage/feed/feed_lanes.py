"""Lanes: positions in the change feed that are in commit order (architecture.rst D4).

A write locks the row of a lane and keeps the lock until its transaction ends. So within a lane
positions follow commit order without a gap; the positions of a write that is rolled back go to the
next write. Concurrent writes use different lanes and never wait for each other. If all lanes are
locked, a write adds a lane, so there are as many lanes as there ever were concurrent writes.

Each write stores a mark, a random number, in its lane, and each row of the feed has the mark of the
write before. If a database is restored and then changed in another way, the marks differ from those
that a reader has read.
"""

import dataclasses
import secrets
from typing import Any

import sqlalchemy as sa

from placement.storage.database.compiled import Compiled
from placement.storage.database.connection import Connection
from placement.storage.driver.mysql_sessions import CLUSTER
from placement.storage.tables import change_lanes

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


def advance_free(count: sa.ColumnElement[int]) -> Any:
    """Make a statement that takes so many positions of a free lane.

    `advance` makes its parameters, except those of the count.

    For databases with UPDATE … RETURNING.
    """
    return (
        sa.update(change_lanes)
        .where(_HERE, change_lanes.c.id == _FOUND.c.id)
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
    found = connection.execute(_FREE_AND_STATE, {"here": here}).first()
    if found is None:
        return None
    lane, position, mark = found
    connection.execute(
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
