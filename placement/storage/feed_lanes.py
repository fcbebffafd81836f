"""Lanes: places in the change feed that are given in commit order (architecture.rst D4).

A write takes a lane that no other write has, and keeps it until it ends: the row lock sees to that.
So within a lane places follow each other as the commits do, without a gap, and what a rolled back
write was given is given again. Writes that run at the same time have a lane each and never wait for
each other; where all lanes are taken, a write makes one more. There are as many as writes ever ran
at the same time.

Each write leaves a mark, a random number, and every row of the feed names the mark before it. A
history that was set back and went on otherwise therefore never looks like the one that was read.
"""

import dataclasses
import secrets

import sqlalchemy as sa

from placement.storage.connections import Connection
from placement.storage.mysql_sessions import CLUSTER
from placement.storage.tables import change_lanes

#: in rows that workers of an earlier version wrote, which know no lanes
NO_LANE = 0
#: bits of a lane's id, and of a mark: thousands of marks can be added up in 64 bits
_BITS = 48


@dataclasses.dataclass(frozen=True)
class Stretch:
    """The places that one write was given.

    :param first: the first of them; the others follow
    :param before: the mark of the write before, in this lane; 0 if there was none
    """

    lane: int
    first: int
    before: int


_HERE = change_lanes.c.home == sa.bindparam("here")
#: what another write has is passed over; SQLite has one writer at a time
_FREE = (
    sa.select(change_lanes.c.id)
    .where(_HERE)
    .order_by(change_lanes.c.id)
    .limit(1)
    .with_for_update(skip_locked=True)
)
_FREE_AND_STATE = _FREE.add_columns(change_lanes.c.position, change_lanes.c.mark)
_ADVANCE = (
    sa.update(change_lanes)
    .where(_HERE)
    .values(
        position=change_lanes.c.position + sa.bindparam("count"),
        before=change_lanes.c.mark,
        mark=sa.bindparam("new_mark"),
    )
)
_ADVANCE_FREE = _ADVANCE.where(change_lanes.c.id == _FREE.scalar_subquery()).returning(
    change_lanes.c.id, change_lanes.c.position, change_lanes.c.before
)
_ADVANCE_KNOWN = (
    sa.update(change_lanes)
    .where(_HERE, change_lanes.c.id == sa.bindparam("lane"))
    .values(
        position=sa.bindparam("last"), before=sa.bindparam("old"), mark=sa.bindparam("new_mark")
    )
)


def take(connection: Connection, count: int) -> Stretch:
    """Give a write its places, which it has for itself until its transaction ends.

    Nodes of a Galera cluster don't see each other's locks, so each has lanes of its own.
    """
    here = int(connection.info.get(CLUSTER, 0))
    stretch = _advance(connection, here, count)
    return open_lane(connection, here, count) if stretch is None else stretch


def _advance(connection: Connection, here: int, count: int) -> Stretch | None:
    """The next places of a free lane; None if there is none."""
    new_mark = secrets.randbits(_BITS)
    if connection.dialect.update_returning:
        values = {"here": here, "count": count, "new_mark": new_mark}
        found = connection.execute(_ADVANCE_FREE, values).first()
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
            "new_mark": new_mark,
        },
    )
    return Stretch(lane, position + 1, mark)


def open_lane(connection: Connection, here: int = 0, count: int = 0) -> Stretch:
    """Add a lane with its first places. Its id is random: nobody else adds the same."""
    lane = 1 + secrets.randbits(_BITS)
    connection.execute(
        sa.insert(change_lanes),
        {
            "home": here,
            "id": lane,
            "position": count,
            "mark": secrets.randbits(_BITS),
            "before": 0,
        },
    )
    return Stretch(lane, 1, 0)
