"""Reads the change feed for clients: which providers changed, a page at a time (extensions.md 7).

A snapshot reads all new rows of the feed at once (`change_feed.read`). A client may ask for a few,
so a page may end inside a lane, even between two rows of one write. The cursor after the page is an
ordinary one: for each lane, the position of the last row that was read, and the mark of the write
that appended it. A row doesn't have the mark of its own write, but that of the write before:

    position  before            a page that ends at position 2 has the cursor (2, m2): the mark m2
    1         m1  ┐ a write     of its write stands in the row at position 3. The mark of the last
    2         m1  ┘             write of a lane stands in the lane itself
    3         m2    the next

The lane whose first unread row is the oldest comes first. So a lane in which writers are quicker
than the client doesn't keep it from the changes of other lanes, however small its pages are.
"""

import dataclasses
import itertools
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import sqlalchemy as sa

from placement.storage.database.engine import Connection
from placement.storage.driver.list_parameters import among, parts
from placement.storage.feed import feed_lanes
from placement.storage.feed.change_feed import KEPT, NO_PROVIDER, ChangeKind, Cursor
from placement.storage.tables import provider_changes, resource_providers

#: the maximum number of rows of one page, and of lanes that one statement names
MOST_ROWS = 10_000
_LANES_AT_ONCE = 500


@dataclasses.dataclass(frozen=True)
class ChangePage:
    """Some of the changes after a cursor.

    :param providers: the uuids of providers that changed, each once
    :param cursor: where the next page begins
    :param complete: whether there were no further changes
    :param others: whether another service wrote meanwhile without naming its changes
    """

    providers: list[str]
    cursor: Cursor
    complete: bool
    others: bool


class _Stretch(NamedTuple):
    """The rows of a lane at the positions after `after`, up to `last`."""

    lane: int
    after: int
    last: int


class _ChangeRow(NamedTuple):
    lane: int
    position: int
    before: int
    provider_id: int
    kind: int
    uuid: str | None


_C = provider_changes.c
_ROWS = sa.select(
    _C.lane, _C.position, _C.before, _C.resource_provider_id, _C.kind, _C.resource_provider_uuid
)
_NEXT_WRITE = (
    sa.select(_C.before)
    .where(
        _C.lane == sa.bindparam("in_lane"),
        _C.position > sa.bindparam("after"),
        _C.before != sa.bindparam("not_before"),
    )
    .order_by(_C.position)
    .limit(1)
)
_UUIDS = sa.select(resource_providers.c.id, resource_providers.c.uuid).where(
    among(resource_providers.c.id, "ids")
)


def read(connection: Connection, cursor: Cursor, now: Cursor, limit: int) -> ChangePage | None:
    """Return the next page after the cursor; None if the client has to read everything again.

    That is so if the feed doesn't go back to the cursor; if a provider was deleted whose uuid isn't
    known any more, because a worker of an earlier version deleted it; and if the new cursor would
    have many ended lanes, because its text would be long. Rows without a lane aren't read:
    `change_feed.has_news` gives them one before.

    :param now: what `change_feed.start` returns in this transaction
    :param limit: the maximum number of providers, at least 1
    """
    lanes_to_read = feed_lanes.with_ended(connection, cursor.lanes, now.lanes)
    if lanes_to_read is None:
        return None
    page = _page(connection, cursor, Cursor(lanes_to_read), limit)
    if page is None:
        return None
    if page.complete:
        return dataclasses.replace(page, cursor=now)
    ended = page.cursor.lanes.keys() - now.lanes.keys()
    return page if len(ended) <= feed_lanes.MOST_LANES else None


def _page(connection: Connection, cursor: Cursor, now: Cursor, limit: int) -> ChangePage | None:
    """Return the next page, or None.

    :param now: the state of the lanes that exist, and of those that ended after the cursor
    """
    if any(
        lane not in now.lanes or now.lanes[lane][0] < position
        for lane, (position, _) in cursor.lanes.items()
    ):
        return None
    moved = {
        lane: cursor.lanes.get(lane, (0, 0))
        for lane, state in sorted(now.lanes.items())
        if cursor.lanes.get(lane) != state
    }
    unread = sum(now.lanes[lane][0] - position for lane, (position, _) in moved.items())
    if unread > 2 * KEPT or any(
        lane in cursor.lanes and now.lanes[lane][0] == position
        for lane, (position, _) in moved.items()
    ):
        # the client is too far behind; or, after a restored database, another write than the one
        # that the client knows has the last position
        return None
    stretches = _first_stretches(
        [
            _Stretch(lane, moved[lane][0], now.lanes[lane][0])
            for lane in _oldest_first(connection, moved)
        ]
    )
    by_lane = _rows_of(connection, stretches)
    reading = _Reading(connection, now, dict(cursor.lanes), limit)
    for stretch in stretches:
        lane = stretch.lane
        is_cut = stretch.last < now.lanes[lane][0]
        if not reading.read_lane(lane, by_lane.get(lane, []), moved[lane], is_cut):
            return None
        if reading.is_full:
            break
    lanes = reading.lanes
    uuids = _uuids(connection, reading.ids)
    named = [*reading.deleted, *(uuids[i] for i in reading.ids if i in uuids)]
    return ChangePage(list(dict.fromkeys(named)), Cursor(lanes), lanes == now.lanes, reading.others)


class _Reading:
    """Reads the rows of one page, until it is full.

    :param now: the state of all lanes
    :ivar lanes: the state of the lanes as far as they are read
    :ivar ids: the ids of changed providers, in the order of the feed
    :ivar deleted: the uuids of deleted providers, in the order of the feed
    """

    def __init__(
        self,
        connection: Connection,
        now: Cursor,
        lanes: dict[int, tuple[int, int]],
        limit: int,
    ) -> None:
        self._connection = connection
        self._now = now
        self._limit = limit
        self.lanes = lanes
        self.ids: dict[int, None] = {}
        self.deleted: dict[str, None] = {}
        self.others = False
        self.is_full = False

    def read_lane(
        self, lane: int, rows: Sequence[_ChangeRow], begun: tuple[int, int], is_cut: bool
    ) -> bool:
        """Read a lane's rows, up to the limit; return whether they continue from the cursor.

        :param rows: the rows after the cursor
        :param begun: the lane's state in the cursor
        :param is_cut: whether the lane may have further rows
        """
        position, mark = begun
        last, _ = self._now.lanes[lane]
        if not rows:
            # a lane without a row, that nobody has used yet
            if last == position == 0:
                self.lanes[lane] = self._now.lanes[lane]
                return True
            return False
        has_gaps = any(row.position != expected for expected, row in enumerate(rows, position + 1))
        if has_gaps or not (is_cut or rows[-1].position == last):
            return False
        # the cursor has the mark of the write before these rows; between two rows of one write, it
        # has that write's own mark
        if rows[0].before != mark and self._mark_of(lane, rows, 0) != mark:
            return False
        read = 0
        for row in rows:
            if not self._takes(row):
                self.is_full = True
                break
            if ChangeKind.DELETED in ChangeKind(row.kind) and row.uuid is None:
                return False
            read += 1
        if read:
            self.lanes[lane] = (rows[read - 1].position, self._mark_of(lane, rows, read - 1))
        return True

    def _takes(self, row: _ChangeRow) -> bool:
        """Add what a row names; return whether that stays within the limit."""
        if row.provider_id == NO_PROVIDER:
            self.others = self.others or ChangeKind.OTHERS in ChangeKind(row.kind)
            return True
        is_new = (
            row.uuid not in self.deleted
            if row.uuid is not None
            else row.provider_id not in self.ids
        )
        if is_new and len(self.ids) + len(self.deleted) == self._limit:
            return False
        if row.uuid is None:
            self.ids[row.provider_id] = None
        else:
            self.deleted[row.uuid] = None
        return True

    def _mark_of(self, lane: int, rows: Sequence[_ChangeRow], index: int) -> int:
        """Return the mark of the write that a row belongs to."""
        own = rows[index].before
        for row in rows[index + 1 :]:
            if row.before != own:
                return row.before
        last, mark = self._now.lanes[lane]
        if rows[-1].position < last:
            values = {"in_lane": lane, "after": rows[-1].position, "not_before": own}
            found: int | None = self._connection.execute(_NEXT_WRITE, values).scalar()
            if found is not None:
                return found
        return mark


def _oldest_first(connection: Connection, moved: Mapping[int, tuple[int, int]]) -> list[int]:
    """Return the lanes in the order of the ids of their first unread rows.

    Ids follow the order of the writes, if not exactly. It is enough that a row written much later
    has a greater id. A lane without an unread row comes first.

    :param moved: by lane, its state in the cursor
    """
    if len(moved) < 2:
        return list(moved)
    found: dict[int, int] = {}
    for part in parts(list(moved.items()), _LANES_AT_ONCE):
        heads = [
            sa.and_(_C.lane == lane, _C.position == position + 1) for lane, (position, _) in part
        ]
        rows = connection.execute(sa.select(_C.lane, _C.id).where(sa.or_(*heads)))
        found |= {lane: row_id for lane, row_id in rows}
    return sorted(moved, key=lambda lane: (found.get(lane, 0), lane))


def _first_stretches(stretches: Sequence[_Stretch]) -> list[_Stretch]:
    """Return the first stretches, with at most MOST_ROWS rows in all; the last may be shortened."""
    chosen, left = [], MOST_ROWS
    for lane, after, last in stretches:
        if not left and last > after:
            break
        chosen.append(_Stretch(lane, after, min(last, after + left)))
        left -= chosen[-1].last - after
    return chosen


def _rows_of(connection: Connection, stretches: Sequence[_Stretch]) -> dict[int, list[_ChangeRow]]:
    """Return the rows of some stretches in their order, by lane."""
    found: dict[int, list[_ChangeRow]] = {}
    for part in parts(stretches, _LANES_AT_ONCE):
        ranges = [
            sa.and_(_C.lane == lane, _C.position > after, _C.position <= last)
            for lane, after, last in part
        ]
        rows = connection.execute(_ROWS.where(sa.or_(*ranges)).order_by(_C.lane, _C.position))
        for lane, group in itertools.groupby(
            (_ChangeRow(*row) for row in rows), attrgetter("lane")
        ):
            found[lane] = list(group)
    return found


def _uuids(connection: Connection, ids: Collection[int]) -> dict[int, str]:
    if not ids:
        return {}
    return {key: uuid for key, uuid in connection.execute(_UUIDS, {"ids": sorted(ids)})}
