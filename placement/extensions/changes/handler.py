"""/berth/v1/changes (extensions.md 7)."""

import functools

from placement.errors import BadQueryValue, PositionGone
from placement.extensions.changes import rows
from placement.extensions.changes import schema as schemas
from placement.extensions.changes.rows import ChangePage
from placement.http.call import NOW, Answer, Call
from placement.schemas.json_schema import Json
from placement.storage.database.engine import Connection
from placement.storage.feed import change_feed, feed_position
from placement.storage.feed.change_feed import Cursor

#: the number of providers if the client names none
LIMIT = 1000

_OTHERS = (
    "Another service writes to this database without naming its changes, or did within the last "
    "hour. Until that is over, changes can't be followed: read all again when you need to."
)
_OTHERS_WROTE = (
    "Another service wrote to this database after this position, without naming its changes. "
    "Read all again, and go on from the position of that answer."
)
_GONE = (
    "The changes after this position can't be told any more: there were too many, or the database "
    "was restored. Read all again, and go on from the position of that answer."
)


def list_all(call: Call) -> Answer:
    """GET /berth/v1/changes"""
    call.authorize("berth:changes")
    query = call.query(schemas.LIST)
    query.refuse_repeated(schemas.OWN)
    after = query.get("after")
    if after is None:
        found = feed_position.ask(call.database, functools.partial(_start, call))
        return _reply(call, found)
    try:
        cursor = feed_position.parsed(after)
    except ValueError as unknown:
        raise BadQueryValue(f"Invalid query string parameters: after: {unknown}") from unknown
    limit, wait = int(query.get("limit") or LIMIT), int(query.get("wait") or 0)
    page = _page(call, cursor, limit)
    if page.cursor == cursor and _waited(call, cursor, wait):
        page = _page(call, cursor, limit)
    return _reply(call, page)


def _waited(call: Call, cursor: Cursor, seconds: int) -> bool:
    """Wait for changes if the worker lets requests wait; return whether there are any now."""
    if not seconds or not call.waits:
        return False
    return call.watch.wait(
        cursor, seconds, call.waits, lambda: call.client_left() or call.server_stops()
    )


def _start(call: Call, connection: Connection, now: Cursor) -> ChangePage:
    """Return the page for a client without a position; it raises what `_refuse_others` raises."""
    _refuse_others(call, connection, now)
    return ChangePage([], now, True, False)


def _page(call: Call, cursor: Cursor, limit: int) -> ChangePage:
    """Return the changes after the cursor, of at most `limit` providers.

    Raises PositionGone if the client has to read everything again.
    """

    def read(connection: Connection, now: Cursor) -> ChangePage:
        _refuse_others(call, connection, now)
        page = rows.read(connection, cursor, now, limit)
        if page is None:
            raise PositionGone(_GONE)
        if page.others:
            # also if they don't write any more: the client's copy lacks what they wrote
            raise PositionGone(_OTHERS_WROTE)
        return page

    has_news = change_feed.has_news(call.database, cursor)
    if not has_news and feed_position.is_short(cursor) and call.others.knows(cursor):
        if call.others.may_write:
            raise PositionGone(_OTHERS)
        return ChangePage([], cursor, True, False)
    return feed_position.ask(call.database, read)


def _refuse_others(call: Call, connection: Connection, now: Cursor) -> None:
    """Raise PositionGone if another service may write without naming its changes."""
    if call.others.may_write_now(connection, now):
        raise PositionGone(_OTHERS)


def _reply(call: Call, page: ChangePage) -> Answer:
    body: Json = {
        "position": feed_position.written(page.cursor),
        "providers": page.providers,
        "complete": page.complete,
    }
    return call.reply(body, modified=NOW)
