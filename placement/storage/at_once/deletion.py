"""The deletion of a consumer with its allocations, in one message (see `statement`)."""

from typing import Any

import sqlalchemy as sa

from placement.storage.at_once.statement import end, telling_usage
from placement.storage.database.compiled import Compiled, RowLock
from placement.storage.database.connection import Connection
from placement.storage.driver.list_parameters import among
from placement.storage.tables import allocations, consumers

_CONSUMER = sa.bindparam("consumer", type_=sa.String)
_KEY = sa.literal_column("'berth.consumer'", sa.String)
_FOUND = sa.select(consumers.c.id).where(among(consumers.c.uuid, "locked"))


def _lock() -> sa.Select[Any]:
    """Lock the consumer, and note its id, for a consumer may be stored after that."""
    noted = sa.cast(_FOUND.with_for_update().subquery("locked").c.id, sa.String)
    return sa.select(sa.func.set_config(_KEY, noted, sa.true()))


def _delete() -> sa.Select[Any]:
    is_locked = sa.cast(consumers.c.id, sa.String) == sa.func.current_setting(_KEY, sa.true())
    known = sa.select(consumers.c.id).where(consumers.c.uuid == _CONSUMER, is_locked).cte("known")
    of_it = allocations.c.consumer_id == _CONSUMER
    held = sa.select(allocations.c.resource_provider_id.label("provider_id")).where(of_it)
    taken, appending = telling_usage(held, sa.exists().select_from(known), sa.exists(held))
    so = taken.c.id.is_not(None)
    gone = sa.delete(allocations).where(of_it, so).cte("gone")
    nobody = sa.delete(consumers).where(consumers.c.id == known.c.id, so).cte("nobody")
    return sa.select(taken.c.id).add_cte(gone, nobody, appending)


_LOCK = Compiled(_lock(), waits=RowLock(_FOUND, consumers, consumers.c.uuid))
_DELETE = Compiled(_delete())


def delete(connection: Connection, consumer: str) -> None:
    """Delete a consumer and its allocations; raise Unusual at the end if it has none."""
    connection.later(_LOCK, {"locked": [consumer]})
    end(connection, _DELETE, {"consumer": consumer})
