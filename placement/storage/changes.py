"""The change feed: which providers each write touched (DESIGN D4).

Written inside the operation's own transaction, so that whoever reads the feed after a commit knows
of everything that commit did.
"""

import enum
from collections.abc import Iterable

import sqlalchemy as sa

from placement.storage.engine import Connection, inserted_id
from placement.storage.tables import provider_changes

#: how many rows of the feed are kept, and how often the rest is dropped
KEPT = 100_000
TRIM_EVERY = 1_000


class Kind(enum.IntFlag):
    """What changed of a provider."""

    ROW = 1  # created, renamed or moved
    INVENTORY = 2
    USAGE = 4
    TRAITS = 8
    AGGREGATES = 16
    DELETED = 32
    NAMES = 64  # a resource class was renamed; the row names no provider


_INSERT = sa.insert(provider_changes)
#: in rows that name no provider
NO_PROVIDER = 0


def record(connection: Connection, provider_ids: Iterable[int], kind: Kind) -> None:
    """Append one row per provider."""
    record_each(connection, dict.fromkeys(provider_ids, kind))


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
    if last % TRIM_EVERY == 0:
        connection.execute(sa.delete(provider_changes).where(provider_changes.c.id <= last - KEPT))
