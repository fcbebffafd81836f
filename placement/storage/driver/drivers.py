"""How texts and their values go to the driver of each kind of database."""

import copy
import select
import time
from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import PoolProxiedConnection

from placement.storage.driver import mysql_batches
from placement.storage.driver.postgresql_sessions import BATCHES, PREPARED

#: parameters are written as `$1`, `$2`, …
NUMBERED = "numeric_dollar"
#: by the driver's name, how a text marks its parameters: `$1`, `?` or `%s`, all of them by position
_STYLES = {"psycopg": NUMBERED, "pysqlite": "qmark"}
_OTHER_STYLE = "format"

#: key of what is known of a session: when it last answered
_ANSWERED = "berth_answered"
#: for how many seconds after its last answer a session is taken for connected: only the next
#: message shows that the server failed over
_IS_THERE = 30

#: a text; its values by position, or a list of such values for one row each; whether it is a list
Call = tuple[str, Any, bool]
#: sends statements on a pooled connection; returns what each found
Run = Callable[[PoolProxiedConnection, Sequence[Call]], list[Any]]


class StatementDriver:
    """The driver of an engine.

    :param dialect: the engine's. The attribute `dialect` is a copy that writes parameters as the
        driver itself reads them
    """

    def __init__(self, dialect: sa.Dialect) -> None:
        self.dialect = copy.copy(dialect)
        self.dialect.paramstyle = _STYLES.get(dialect.driver, _OTHER_STYLE)
        self.dialect.positional = True
        # how it writes a percent sign depends on the style
        self.dialect.identifier_preparer = dialect.preparer(self.dialect)
        self.style = self.dialect.paramstyle

    def batches(self, pooled: PoolProxiedConnection) -> bool:
        """Return whether statements to this connection can go in one message."""
        return pooled.info.get(BATCHES, False)

    #: a function that returns whether nothing is open on a connection; None: the pool has to look
    is_free: Callable[[PoolProxiedConnection], bool] | None = None

    def run(self, pooled: PoolProxiedConnection, calls: Sequence[Call]) -> list[object]:
        """Send statements; return for each a cursor, or an object with a cursor's methods."""
        return [_executed(pooled.cursor(), call) for call in calls]

    def may_commit_with(self, pooled: PoolProxiedConnection) -> bool:
        """Return whether COMMIT can go in one message with other statements.

        If the server has ended the session meanwhile, it has said so or closed the connection. To
        send all in one message would leave the outcome unknown then.
        """
        return False

    def stopped_before_the_last(self, error: BaseException) -> bool:
        """Return whether the last statement of a message surely wasn't run."""
        return False

    def text_of(self, error: BaseException) -> str | None:
        """Return the statement of a message that failed; None: it isn't known."""
        return None

    @property
    def arrays(self) -> Run | None:
        """A function that sends statements like `run`, but reads arrays as numpy's.

        It returns the only row of each statement. None: the driver has no such function.
        """
        return None

    def may_end_with_writes(self, pooled: PoolProxiedConnection) -> bool:
        """Return whether COMMIT can go in one message with writes whose answers nobody needs.

        The server has answered in this transaction already.
        """
        return False


class PyMySQLDriver(StatementDriver):
    """MariaDB's and MySQL's: several statements go in one message."""

    def run(self, pooled: PoolProxiedConnection, calls: Sequence[Call]) -> list[Any]:
        if not self.batches(pooled):
            return super().run(pooled, calls)
        return mysql_batches.run(pooled.driver_connection, calls)

    def may_end_with_writes(self, pooled: PoolProxiedConnection) -> bool:
        return self.batches(pooled) and not mysql_batches.is_heard(pooled.driver_connection)

    def stopped_before_the_last(self, error: BaseException) -> bool:
        return mysql_batches.stopped_before_the_last(error)

    def text_of(self, error: BaseException) -> str | None:
        return mysql_batches.text_of(error)


class PsycopgDriver(StatementDriver):
    """PostgreSQL's: several statements go in one message.

    They are prepared if the session keeps prepared statements, that is, without a pooler.
    """

    def __init__(self, dialect: sa.Dialect) -> None:
        super().__init__(dialect)
        # PostgreSQL's driver is an optional dependency
        from psycopg import RawCursor

        from placement.storage.driver import postgresql_batches

        self._cursor, self._batches = RawCursor, postgresql_batches
        self.is_free = _is_idle

    def run(self, pooled: PoolProxiedConnection, calls: Sequence[Call]) -> list[object]:
        connection = pooled.driver_connection
        if not self.batches(pooled):
            return [_executed(self._cursor(connection), call) for call in calls]
        flat = [
            (text, values) for text, given, many in calls for values in (given if many else [given])
        ]
        try:
            found = iter(self._batches.run(connection, flat, pooled.info.get(PREPARED)))
        except self._batches.NOT_PREPARED:
            # A pooler gave the transaction another session, or tables were made anew. The next try
            # prepares nothing.
            pooled.info.pop(PREPARED, None)
            raise
        pooled.info[_ANSWERED] = time.monotonic()
        return [
            [next(found) for _ in range(len(given) if many else 1)][-1] for _, given, many in calls
        ]

    def may_commit_with(self, pooled: PoolProxiedConnection) -> bool:
        now = time.monotonic()
        # a new session has just answered to its start
        if PREPARED not in pooled.info or now - pooled.info.setdefault(_ANSWERED, now) > _IS_THERE:
            return False
        connection: Any = pooled.driver_connection
        heard = select.poll()
        heard.register(connection.pgconn.socket, select.POLLIN)
        return not heard.poll(0)

    def stopped_before_the_last(self, error: BaseException) -> bool:
        return self._batches.stopped_before_the_last(error)

    def text_of(self, error: BaseException) -> str | None:
        return self._batches.text_of(error)

    @property
    def arrays(self) -> Run | None:
        return _arrays


def _is_idle(pooled: PoolProxiedConnection) -> bool:
    connection: Any = pooled.driver_connection
    # IDLE; another number if the connection is lost
    return bool(connection.pgconn.transaction_status == 0)


def _executed(cursor: Any, call: Call) -> object:
    text, values, many = call
    if many:
        cursor.executemany(text, values)
    else:
        cursor.execute(text, values)
    return cursor


def _arrays(pooled: PoolProxiedConnection, calls: Sequence[Call]) -> list[object]:
    # an idle worker has no numpy
    from placement.storage.driver import postgresql_arrays

    connection = pooled.driver_connection
    return [postgresql_arrays.read(connection, text, values) for text, values, _ in calls]


_DRIVERS = {"psycopg": PsycopgDriver, "pymysql": PyMySQLDriver}
_SQLITE: list[StatementDriver] = []


def driver_of(engine: sa.Engine) -> StatementDriver:
    """Return the engine's driver.

    All engines of SQLite share one: statements are compiled once in a process that opens many
    databases. The other dialects learn from their server how it wants its statements.
    """
    dialect = engine.dialect
    if dialect.name != "sqlite":
        return _DRIVERS.get(dialect.driver, StatementDriver)(dialect)
    if not _SQLITE:
        _SQLITE.append(StatementDriver(dialect))
    return _SQLITE[0]
