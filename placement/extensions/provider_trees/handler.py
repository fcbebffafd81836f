"""/berth/v1/provider_trees (extensions.md 2)."""

import contextlib
from collections.abc import Callable, Iterator

from placement.extensions.provider_trees import rows
from placement.extensions.provider_trees.query import TreesQuery, read_query
from placement.extensions.provider_trees.tree_pages import TREES_OF_PAGE, Pages
from placement.http import entity_tags
from placement.http.call import Answer, Call
from placement.http.environ import NDJSON
from placement.http.spool import Spool, kept
from placement.storage.database.engine import Connection
from placement.storage.feed import change_feed, feed_position
from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind, Cursor

#: changes that may move a provider into another tree, whichever provider it is
_ANYWHERE = ChangeKind.ROW | ChangeKind.DELETED
#: at most so many changes are looked at: if there are more, reading the trees anew costs no more
_MOST_NEWS = 1000


def list_all(call: Call) -> Answer:
    """GET /berth/v1/provider_trees"""
    call.authorize("berth:provider_trees:show")
    query = read_query(call.environ.get("QUERY_STRING", ""), call.version)
    unchanged = _unchanged(call, query)
    return _read(call, query) if unchanged is None else unchanged


def _read(call: Call, query: TreesQuery) -> Answer:
    is_stream = call.form == NDJSON
    limit = query.limit if is_stream or query.limit is not None else TREES_OF_PAGE

    # the cursor is read before the trees: a change that the answer lacks is in the feed after it
    def write(connection: Connection, cursor: Cursor) -> tuple[Cursor, bool]:
        position = feed_position.written(cursor)
        is_watched = not call.others.may_write_now(connection, cursor)
        pages = Pages(connection, query, limit, call.client_left)
        body.restart()
        for piece in (pages.as_lines if is_stream else pages.as_json)(position):
            body.write(piece)
        body.finish()
        return cursor, is_watched

    with kept(Spool()) as body:
        cursor, is_watched = feed_position.ask(call.database, write)
        return call.stream(body, _tag(call, query, cursor) if is_watched else None)


def _tag(call: Call, query: TreesQuery, cursor: Cursor) -> str | None:
    """Return the tag; None if it might be too long for a header, as with many writers at a time."""
    if not feed_position.is_short(cursor):
        return None
    return f"{feed_position.written(cursor)}.{_about(call, query)}"


def _about(call: Call, query: TreesQuery) -> str:
    """Return the part of a tag that says what was asked."""
    return query.digest + ("n" if call.form == NDJSON else "j")


def _unchanged(call: Call, query: TreesQuery) -> Answer | None:
    """Return the response to a client that has the answer already; None if it hasn't.

    The feed lacks changes by other services. So while one may write, the answer is read anew.
    """
    tags = entity_tags.named(call.environ.get("HTTP_IF_NONE_MATCH"))
    if not tags:
        return None
    if tags == [entity_tags.ANY]:
        # `*`: any answer that the client has is good enough. It gets no tag: it isn't known which
        # answer it has
        call.database.read(lambda connection: rows.refuse_unknown(connection, query.wanted))
        return call.unchanged(None)
    if call.others.may_write:
        return None
    for cursor in _cursors(tags, _about(call, query)):
        if not change_feed.has_news(call.database, cursor):
            return call.unchanged(_tag(call, query, cursor))
        if query.depends_on_names_alone:
            newer = feed_position.ask(call.database, _still_true(call, query, cursor))
            if newer is not None:
                return call.unchanged(_tag(call, query, newer))
    return None


def _cursors(tags: list[str], about: str) -> Iterator[Cursor]:
    """Yield the cursors in tags for the same query, but no long ones: see `_tag`."""
    for tag in tags:
        position, _, of = tag.rpartition(".")
        if of == about:
            with contextlib.suppress(ValueError):
                cursor = feed_position.parsed(position)
                if feed_position.is_short(cursor):
                    yield cursor


def _still_true(
    call: Call, query: TreesQuery, cursor: Cursor
) -> Callable[[Connection, Cursor], Cursor | None]:
    """Return a function that returns the cursor up to which the answer is unchanged.

    It returns None if the answer may have changed.
    """

    def ask(connection: Connection, now: Cursor) -> Cursor | None:
        news = change_feed.read(connection, cursor, _MOST_NEWS)
        if news is None or call.others.may_write_now(connection, now):
            return None
        kinds = news.kinds
        if NO_PROVIDER in kinds or any(kind & _ANYWHERE for kind in kinds.values()):
            return None
        if kinds and rows.have_any(connection, query.named, kinds):
            return None
        return now

    return ask
