"""The change feed: which providers each write touched (DESIGN D4).

Written inside the operation's own transaction, so that whoever reads the feed after a commit knows
of everything that commit did. Ids are given at insert, not at commit: a reader may see row 7 before
row 6, and a row 6 that never comes (rolled back, or a cluster that counts in steps). A `Cursor`
remembers such gaps and looks for them again until they are older than any write may be.
"""

import dataclasses
import enum
from collections.abc import Iterable

import sqlalchemy as sa

from placement.storage.engine import Connection, Database, inserted_id
from placement.storage.question import Question
from placement.storage.tables import provider_changes

#: how many rows of the feed are kept, and how often the rest is dropped
KEPT = 100_000
TRIM_EVERY = 1_000
#: seconds after which a missing row is taken never to come: no write takes as long
LONGEST_WRITE = 60.0
#: how many rows below the newest a new reader searches for gaps
GAP_WINDOW = 1_000
#: up to so many gaps are asked for by id; beyond, everything from the first gap on is read again
MAX_NAMED_GAPS = 200


class Kind(enum.IntFlag):
    """What changed of a provider."""

    ROW = 1  # created, renamed or moved
    INVENTORY = 2
    USAGE = 4
    TRAITS = 8
    AGGREGATES = 16
    DELETED = 32
    NAMES = 64  # a resource class or a trait came, went or was renamed; no provider is named


_INSERT = sa.insert(provider_changes)
#: in rows that name no provider
NO_PROVIDER = 0


def record(connection: Connection, provider_ids: Iterable[int], kind: Kind) -> None:
    """Append one row per provider."""
    record_each(connection, dict.fromkeys(provider_ids, kind))


def record_names(connection: Connection) -> None:
    """Append that the names of resource classes or traits changed."""
    record(connection, [NO_PROVIDER], Kind.NAMES)


def record_each(connection: Connection, kinds: dict[int, Kind]) -> None:
    """Append one row per provider, each with its own kind of change."""
    if not kinds:
        return
    rows = [
        {"resource_provider_id": provider_id, "kind": int(kind)}
        for provider_id, kind in kinds.items()
    ]
    first, *more = rows
    last = inserted_id(connection.execute(_INSERT, first))
    if more:
        connection.execute(_INSERT, more)
    # the many rows of one write may step over the multiple, so the whole stretch is looked at
    if last // TRIM_EVERY != (last + len(rows)) // TRIM_EVERY:
        connection.execute(sa.delete(provider_changes).where(provider_changes.c.id <= last - KEPT))


@dataclasses.dataclass(frozen=True)
class Cursor:
    """How far a reader has read.

    :param newest: the greatest id it has seen
    :param gaps: ids below `newest` it hasn't seen, with the time when it noticed
    """

    newest: int
    gaps: dict[int, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class News:
    """What a reader hasn't seen yet: kinds of change by provider id, and where it is now."""

    kinds: dict[int, Kind]
    cursor: Cursor


_COLUMNS = (
    provider_changes.c.id,
    provider_changes.c.resource_provider_id,
    provider_changes.c.kind,
)
_AFTER = (
    sa.select(*_COLUMNS)
    .where(provider_changes.c.id > sa.bindparam("after"))
    .order_by(provider_changes.c.id)
)
_AFTER_OR_GAPS = (
    sa.select(*_COLUMNS)
    .where(
        sa.or_(
            provider_changes.c.id > sa.bindparam("after"),
            provider_changes.c.id.in_(sa.bindparam("gaps", expanding=True)),
        )
    )
    .order_by(provider_changes.c.id)
)
_BOUNDS = sa.select(sa.func.min(provider_changes.c.id), sa.func.max(provider_changes.c.id))
_NEWEST = Question(sa.select(sa.func.max(provider_changes.c.id)))
_IDS_AFTER = sa.select(provider_changes.c.id).where(provider_changes.c.id > sa.bindparam("after"))


def start(connection: Connection, now: float) -> Cursor:
    """Where a reader stands that reads all tables in this very transaction.

    Writes that took their ids but aren't committed yet show as gaps.
    """
    newest = connection.execute(_BOUNDS).one()[1] or 0
    first = max(0, newest - GAP_WINDOW)
    seen = set(connection.execute(_IDS_AFTER, {"after": first}).scalars())
    missing = (i for i in range(first + 1, newest) if i not in seen)
    return Cursor(newest, dict.fromkeys(missing, now))


def read(connection: Connection, cursor: Cursor, now: float) -> News | None:
    """What happened since; None if the feed doesn't reach to the cursor, or not back to it.

    :param now: the reader's clock, in seconds
    """
    gaps = cursor.gaps
    if not gaps:
        rows = connection.execute(_AFTER, {"after": cursor.newest}).all()
        if not rows:
            # a database that was restored, or whose last writes a failover lost, has gone back
            return News({}, cursor) if newest_id(connection) >= cursor.newest else None
    elif len(gaps) > MAX_NAMED_GAPS:
        found = connection.execute(_AFTER, {"after": min(gaps) - 1})
        rows = [row for row in found if row[0] > cursor.newest or row[0] in gaps]
    else:
        rows = connection.execute(
            _AFTER_OR_GAPS, {"after": cursor.newest, "gaps": list(gaps)}
        ).all()
    seen = {row[0] for row in rows}
    newest = max(cursor.newest, max(seen, default=0))
    if newest > cursor.newest and cursor.newest + 1 not in seen:
        oldest = connection.execute(_BOUNDS).one()[0]
        if oldest is None or oldest > cursor.newest + 1:
            return None
    open_gaps = {
        i: noticed
        for i, noticed in gaps.items()
        if i not in seen and now - noticed <= LONGEST_WRITE
    }
    open_gaps |= {i: now for i in range(cursor.newest + 1, newest) if i not in seen}
    kinds: dict[int, Kind] = {}
    for _, provider_id, kind in rows:
        kinds[provider_id] = kinds.get(provider_id, Kind(0)) | Kind(kind)
    return News(kinds, Cursor(newest, open_gaps))


def has_news(database: Database, cursor: Cursor) -> bool:
    """Whether a reader should read on: cheaper than to read, if there is nothing to be read."""
    if cursor.gaps:
        return True
    ((newest,),) = database.ask(_NEWEST)
    return (newest or 0) != cursor.newest


def newest_id(connection: Connection) -> int:
    """The greatest id in the feed, 0 if it is empty."""
    return connection.execute(_BOUNDS).one()[1] or 0
