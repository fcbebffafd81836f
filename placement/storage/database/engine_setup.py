"""Connections to the configured database, set up as Berth needs them.

A server may accept a connection and never answer, or stop in the middle of an answer: the server
hangs, its machine was paused, the network drops packets. So each statement of a request has a time
limit: it ends when the server was silent for `read_timeout` seconds, or when a row stayed locked
for some seconds (`lock_waits.py`). What locks several rows ends before the server seems silent
(`lock_limits.py`).

Here is also what is done before the first use, and what counts and times statements.
"""

import contextlib
import logging
import pathlib
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager

import sqlalchemy as sa
from sqlalchemy import event

from placement.storage.database.lock_limits import limit_several
from placement.storage.driver.database_settings import DatabaseSettings
from placement.storage.driver.dialects import MYSQL, prepare, read_url
from placement.storage.driver.drivers import StatementDriver
from placement.storage.driver.error_log import shorten
from placement.storage.driver.mysql_driver import PyMySQLDriver
from placement.storage.driver.mysql_sessions import set_up_mysql
from placement.storage.driver.postgresql_sessions import set_up_postgresql, set_up_psycopg2
from placement.storage.driver.sqlite_sessions import read_only_url, set_up_sqlite


def make_engine(
    settings: DatabaseSettings, patient: bool = False, read_only: bool = False
) -> sa.Engine:
    """Make an engine for the configured database.

    Raises DatabaseUnusable if the URL is unusable or its driver is missing.

    :param patient: for changes of the schema, which may take long and run one after the other:
        without time limits and without a pool
    :param read_only: whether the database refuses to write. With PostgreSQL that is a matter of
        each transaction (`connection.modes`)
    """
    url = read_url(settings.connection, settings.connection_parameters)
    url, options, silence = prepare(url, settings, patient)
    if read_only and url.get_backend_name() == "sqlite":
        url = read_only_url(url)
    if settings.connection_debug:
        options["logging_name"] = logging_name(settings.connection_debug)
    engine = sa.create_engine(url, **options)
    shorten(logging.getLogger("sqlalchemy.pool.impl.QueuePool"))
    if settings.connection_trace:
        name_callers(engine)
    if engine.dialect.name == "sqlite":
        set_up_sqlite(engine, settings.sqlite_synchronous, read_only)
    elif engine.dialect.name in MYSQL:
        set_up_mysql(engine, settings.mysql_sql_mode, patient, read_only)
    elif engine.dialect.driver == "psycopg":
        set_up_postgresql(engine, patient, silence)
    elif engine.dialect.driver == "psycopg2":
        set_up_psycopg2(engine)
    if engine.dialect.name != "sqlite" and not patient:
        limit_several(engine, options["connect_args"].get("read_timeout", silence))
    return engine


_SQLITE: list[StatementDriver] = []


def driver_of(engine: sa.Engine) -> StatementDriver:
    """Return what sends statements to the engine's driver.

    All engines of SQLite share one: statements are compiled once in a process that opens many
    databases. The other dialects learn from their server how it wants its statements.
    """
    dialect = engine.dialect
    if dialect.driver == "psycopg":
        # PostgreSQL's driver is an optional dependency
        from placement.storage.driver.postgresql_driver import PsycopgDriver

        return PsycopgDriver(dialect)
    if dialect.driver == "pymysql":
        return PyMySQLDriver(dialect)
    if dialect.name != "sqlite":
        return StatementDriver(dialect)
    if not _SQLITE:
        _SQLITE.append(StatementDriver(dialect))
    return _SQLITE[0]


#: the context is a wait of the calling thread
StandIn = Callable[[], AbstractContextManager[None]]


class Preparation:
    """Work that is put off until the database is first used, and then done once.

    The work may use the database itself.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._lock = threading.RLock()
        self._is_running = self.is_done = False

    def run(self) -> None:
        """Do the work if it isn't done. Other threads wait until it is.

        Raises what the work raises; the next call then tries again.
        """
        with self._lock:
            # The work itself uses the database, and so comes here again. The lock lets it in,
            # because the thread has the lock already.
            if self.is_done or self._is_running:
                return
            self._is_running = True
            try:
                self._work()
                self.is_done = True
            finally:
                self._is_running = False


class StatementCount(threading.local):
    """The number of statements that the calling thread has sent.

    `seconds` is the time that it waited for the database, complete only after `time_statements`.
    """

    count = 0
    #: how many of them the meter knows; None: the thread answers a request, with which they count
    told: int | None = 0
    #: has another thread answer requests while this one waits for others' locks
    stand_in: StandIn = staticmethod(contextlib.nullcontext)
    #: how often a transaction was run again
    repetitions = 0
    seconds = 0.0
    #: when the thread began to wait; None: it doesn't wait
    begun: float | None = None

    def begin(self, *_: object) -> None:
        """Note that the thread waits from now on."""
        self.begun = time.perf_counter()

    def end(self, *_: object) -> None:
        """Add the time since `begin`, if there was one."""
        if self.begun is not None:
            self.seconds += time.perf_counter() - self.begun
            self.begun = None


def count_statements(engine: sa.Engine) -> StatementCount:
    """Count the statements of an engine, except those that begin transactions.

    They are counted where SQLAlchemy hands them to the driver, which costs least.
    """
    statements = StatementCount()

    def count(cursor: object, statement: str, *_: object) -> None:
        if not statement.startswith(("BEGIN", "SET TRANSACTION")):
            statements.count += 1

    for moment in ("do_execute", "do_executemany", "do_execute_no_params"):
        event.listen(engine, moment, count)
    return statements


def time_statements(engine: sa.Engine, statements: StatementCount) -> None:
    """Time new connections, and the statements that SQLAlchemy sends.

    It costs some microseconds for each statement.
    """
    for moment in ("do_connect", "before_cursor_execute"):
        event.listen(engine, moment, statements.begin)
    # an error may also come before anything was sent: then `begin` wasn't called
    for moment in ("connect", "after_cursor_execute", "handle_error"):
        event.listen(engine, moment, statements.end)


_PACKAGE = pathlib.Path(__file__).parents[2]
#: files that every statement passes: they don't say who sent it
_BETWEEN = (__file__, str(_PACKAGE / "storage" / "database" / "connection.py"))


def logging_name(level: int) -> str:
    """Set up a logger of statements and return the name that an engine must have to use it.

    :param level: `[placement_database]connection_debug`: from 50 on statements are logged, from
        100 on also the rows found
    """
    name = f"placement.{level}"
    verbosity = logging.DEBUG if level >= 100 else logging.INFO if level >= 50 else logging.WARNING
    logging.getLogger(f"sqlalchemy.engine.Engine.{name}").setLevel(verbosity)
    return name


def name_callers(engine: sa.Engine) -> None:
    """End each statement with a comment that names the functions of this package that called."""

    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def comment(
        connection: sa.Connection, cursor: object, statement: str, parameters: object, *_: object
    ) -> tuple[str, object]:
        # without `%`, which drivers would read as a parameter, and without an end of the comment
        callers = [
            f"{frame.filename.removeprefix(str(_PACKAGE))}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_stack()
            if frame.filename.startswith(str(_PACKAGE)) and frame.filename not in _BETWEEN
        ]
        text = " < ".join(reversed(callers)).replace("%", "").replace("*/", "")
        return f"{statement} /* {text} */", parameters
