"""What each new session of PostgreSQL is set to, and what it allows.

A pooler such as PgBouncer may give each transaction another session of the server. So only a
session without a pooler keeps settings and prepared statements: its process is the one that the
server named at the start of the connection, which a pooler answers itself.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import ConnectionPoolEntry

from placement.storage.driver.drivers import BATCHES

#: key in the `info`: whether it keeps the limit for locks
LIMITS_LOCKS = "limits_locks"

#: Seconds of one wait for a lock: while the transaction may hold others, and when it holds none
#: (`lock_waits.py`). A transaction that isn't the first to wait for a row waits twice: first to
#: become the first in line, then for the row. Both waits must end before the server seems silent
#: (`dialects.py`).
SHORT_WAIT, LONG_WAIT = 0.5, 6
#: the longer limit of a session that keeps both
_KEPT = "berth.long_wait"


def limit_of_locks(seconds: float) -> str:
    """Return the statement that limits each wait of a transaction for a lock.

    An operator's shorter limit stays.
    """
    return f"SELECT set_config('lock_timeout', {_limit(seconds)}, true)"


def _limit(seconds: float) -> str:
    own = "extract(epoch FROM CAST(current_setting('lock_timeout') AS interval))"
    return f"CAST(CAST(1000 * least(nullif({own}, 0), {seconds}) AS integer) AS text)"


#: keeps the limits in a session
_KEEP_LIMITS = (
    f"SELECT set_config('{_KEPT}', {_limit(LONG_WAIT)}, false), "
    f"set_config('lock_timeout', {_limit(SHORT_WAIT)}, false)"
)
#: lets a transaction of such a session wait for longer
WAIT_LONGER = f"SELECT set_config('lock_timeout', current_setting('{_KEPT}'), true)"


def set_up_postgresql(engine: sa.Engine, patient: bool, silence: float | None) -> None:
    """Find out what each session of psycopg allows, and limit its waits for locks if it keeps that.

    The pool ends a transaction that is open when a connection comes back.

    :param patient: whether statements wait for locks as long as the server allows
    :param silence: for how many seconds a server may be silent; None: as long as it likes
    """
    # PostgreSQL's driver is an optional dependency
    from psycopg import pq

    from placement.storage.driver.postgresql_driver import PREPARED, Prepared, limit_silence

    # before SQLAlchemy reads the first text
    @event.listens_for(engine, "connect", insert=True)
    def encode(connection: Any, record: ConnectionPoolEntry) -> None:
        if silence is not None:
            limit_silence(connection, silence)
        # psycopg would return bytes for texts of a database that has no character set
        if connection.info.encoding == "ascii":
            connection.execute("SET client_encoding TO 'UTF8'")

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: ConnectionPoolEntry) -> None:
        # libpq has pipelines since version 14; texts are written in UTF-8
        record.info[BATCHES] = pq.version() >= 140000 and connection.info.encoding == "utf-8"
        (process,) = connection.execute("SELECT pg_backend_pid()").fetchone()
        if process == connection.info.backend_pid and not patient:
            record.info[PREPARED] = Prepared()
            connection.execute(_KEEP_LIMITS)
            record.info[LIMITS_LOCKS] = True

    @event.listens_for(engine, "reset")
    def reset(connection: Any, record: ConnectionPoolEntry, state: object) -> None:
        # Without a transaction there is nothing to roll back. psycopg would find that out, too, but
        # more slowly.
        if connection.pgconn.transaction_status != pq.TransactionStatus.IDLE:
            connection.rollback()


def set_up_psycopg2(engine: sa.Engine) -> None:
    """Have texts in UTF-8 also where the database has no character set."""

    # before SQLAlchemy reads the first text
    @event.listens_for(engine, "connect", insert=True)
    def encode(connection: Any, record: ConnectionPoolEntry) -> None:
        # psycopg2 would take texts for ASCII
        if connection.encoding == "SQLASCII":
            connection.set_client_encoding("UTF8")
