"""The deletion of a consumer with its allocations, in one message (see `statement`)."""

from typing import Any

import sqlalchemy as sa

from placement.storage.at_once.statement import LOCKED, changes, end, lock_consumers, telling
from placement.storage.database.compiled import Compiled
from placement.storage.database.connection import Connection
from placement.storage.feed.feed_kinds import ChangeKind
from placement.storage.tables import allocations, consumers

_CONSUMER = sa.bindparam("consumer", type_=sa.String)


def _delete() -> sa.Select[Any]:
    # one that was stored after the lock isn't locked
    is_locked = sa.cast(consumers.c.id, sa.String) == LOCKED
    known = sa.select(consumers.c.id).where(consumers.c.uuid == _CONSUMER, is_locked).cte("known")
    of_it = allocations.c.consumer_id == _CONSUMER
    held = sa.select(allocations.c.resource_provider_id.label("provider_id")).where(of_it)
    each = held.distinct().subquery("each")
    place = sa.func.row_number().over(order_by=each.c.provider_id)
    changed = changes(each, ChangeKind.USAGE, place).cte("changed")
    number = sa.select(sa.func.count().label("n")).select_from(changed).cte("number")
    taken, appending = telling(changed, number.c.n, sa.exists().select_from(known), sa.exists(held))
    so = taken.c.id.is_not(None)
    gone = sa.delete(allocations).where(of_it, so).cte("gone")
    nobody = sa.delete(consumers).where(consumers.c.uuid == _CONSUMER, so).cte("nobody")
    return sa.select(taken.c.id).add_cte(gone, nobody, appending)


_DELETE = Compiled(_delete())


def delete(connection: Connection, consumer: str) -> None:
    """Delete a consumer and its allocations; raise Unusual at the end if it has none."""
    lock_consumers(connection, [consumer])
    end(connection, _DELETE, {"consumer": consumer})
