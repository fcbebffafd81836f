"""Whether others, who don't append to the change feed, wrote lately: what the tables show of it."""

import datetime

import sqlalchemy as sa

from placement.storage.database.engine import Connection
from placement.storage.driver.list_parameters import parts
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import Cursor
from placement.storage.feed.feed_lanes import IS_OF_OTHERS, NO_LANE
from placement.storage.tables import provider_changes, resource_providers

#: by how much the clock of a write may differ between a provider's row and the feed's
_SLACK = datetime.timedelta(seconds=2)
#: the maximum number of lanes in one statement
_AT_ONCE = 500

_FEED = provider_changes.c
_RP = resource_providers.c


def were_noticed(
    connection: Connection, cursor: Cursor | None, now: Cursor, since: datetime.datetime
) -> bool:
    """Say whether a row after the cursor, and after `since` (UTC), tells of a write by others.

    :param cursor: None: all rows count
    :param now: what `change_feed.start` returns in this transaction
    """
    of_others = sa.select(sa.literal(1)).where(IS_OF_OTHERS, _FEED.created_at >= since).limit(1)
    if cursor is None:
        return connection.execute(of_others).first() is not None
    moved = [
        (lane, cursor.lanes.get(lane, (0, 0))[0])
        for lane, state in now.lanes.items()
        if cursor.lanes.get(lane) != state
    ]
    for part in parts([(NO_LANE, -1), *moved], _AT_ONCE):
        unread = [sa.and_(_FEED.lane == lane, _FEED.position > after) for lane, after in part]
        if connection.execute(of_others.where(sa.or_(*unread))).first() is not None:
            return True
    return False


def have_written(connection: Connection, since: datetime.datetime) -> bool:
    """Say whether others wrote after `since` (UTC): the feed says so, or a provider shows it.

    A provider shows it if it was changed later than the feed says. That is a hint: a change of
    others that a write of ours followed doesn't show. Nor does one from before the oldest row of a
    feed that was trimmed, as the rows of our own writes from then are gone, too.
    """
    is_said = sa.exists().where(IS_OF_OTHERS, _FEED.created_at >= since)
    if connection.execute(sa.select(is_said)).scalar():
        return True
    oldest = _oldest_if_trimmed(connection)
    if oldest is not None:
        since = max(since, oldest + _SLACK)
    changed_at = sa.func.coalesce(_RP.updated_at, _RP.created_at)
    changed = connection.execute(sa.select(_RP.id, changed_at).where(changed_at >= since)).all()
    if not changed:
        return False
    last_rows = connection.execute(
        sa.select(_FEED.resource_provider_id, sa.func.max(_FEED.created_at))
        .where(_FEED.created_at >= since - _SLACK)
        .group_by(_FEED.resource_provider_id)
    )
    last: dict[int, datetime.datetime] = {key: at for key, at in last_rows}
    return any(key not in last or at > last[key] + _SLACK for key, at in changed)


def _oldest_if_trimmed(connection: Connection) -> datetime.datetime | None:
    """Return when the oldest row was written (UTC); None if the feed was never trimmed.

    A feed of fewer rows than are kept was never trimmed.
    """
    ids = _FEED.id
    newest = sa.select(ids).order_by(ids.desc())
    if connection.execute(newest.offset(change_feed.KEPT - 1).limit(1)).first() is None:
        return None
    return connection.execute(
        sa.select(_FEED.created_at).where(ids > 0).order_by(ids).limit(1)
    ).scalar()
