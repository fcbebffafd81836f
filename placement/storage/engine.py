"""The database: one view per read, one transaction per write, bounded retry (DESIGN D3)."""

import collections
import contextlib
import dataclasses
import itertools
import logging
import os
import pathlib
import random
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DataError, DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.pool import StaticPool

from placement.errors import LostRace, OutcomeUnknown, TooMuchAtOnce, ValueNotStorable
from placement.storage.dialects import (
    DEADLOCK,
    DISCONNECT,
    MYSQL,
    OUTAGES,
    failure_of,
    is_too_large,
    is_unreachable,
    prepare,
    read_url,
)
from placement.storage.outages import refusal_of
from placement.storage.question import Question, Rows

LOG = logging.getLogger(__name__)
T = TypeVar("T")
Connection = sa.Connection
Operation = Callable[[Connection], T]
Turn = contextlib.AbstractContextManager[Any]

_PACKAGE = pathlib.Path(__file__).parents[1]
#: usual tries of one transaction, and the longest pause between two of them in seconds
TRIES = 10
LONGEST_PAUSE = 1.0
#: seconds after which no further try is begun
PATIENCE = 30.0
#: the cause of a further try when an operation found its locks outdated, and raised LostRace
RACE = "race"


def inserted_id(result: sa.CursorResult) -> int:
    """The id that a one-row INSERT was given."""
    key = result.inserted_primary_key
    if key is None:
        raise LookupError("the statement inserted no row")
    return key[0]


@dataclasses.dataclass(frozen=True)
class DatabaseSettings:
    """What group [placement_database] says, without oslo.config around it."""

    connection: str
    connection_parameters: str = ""
    sqlite_synchronous: bool = True
    mysql_sql_mode: str = "TRADITIONAL"
    connection_recycle_time: int = 3600
    max_pool_size: int | None = None
    max_overflow: int | None = None
    pool_timeout: int | None = None
    max_retries: int = 10
    retry_interval: int = 10
    connection_debug: int = 0
    connection_trace: bool = False

    @classmethod
    def of(cls, group: Any) -> "DatabaseSettings":
        """From the option group [placement_database]."""
        return cls(**{field.name: getattr(group, field.name) for field in dataclasses.fields(cls)})


class Database:
    """Runs questions and operations, each a function of one connection.

    `retries` counts how often something was run again, by cause; `statements` how many SQL
    statements the calling thread has sent since it began, those that begin transactions apart.
    """

    def __init__(
        self,
        settings: DatabaseSettings,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self.engine = _make_engine(settings)
        self._sqlite = self.engine.dialect.name == "sqlite"
        self._tally = _count_statements(self.engine)
        self._reader, self._writer = _modes(self.engine)
        self._pause = pause
        self._clock = clock
        # SQLite lets one writer in at a time and makes others poll; within a process we queue
        # instead. An in-memory database is one connection, so there readers queue as well.
        no_queue: Turn = contextlib.nullcontext()
        self._turn: Turn = threading.Lock() if self._sqlite else no_queue
        self._read_turn = self._turn if isinstance(self.engine.pool, StaticPool) else no_queue
        self.retries: collections.Counter[str] = collections.Counter()
        self._preparation: Callable[[], object] | None = None
        self._preparing = threading.RLock()
        self._is_preparing = False
        # what SQLAlchemy doesn't see it can't show
        self._asks_directly = not (settings.connection_debug or settings.connection_trace)
        # also at the end of the process: SQLite then puts all into the one file that is copied
        self._end = weakref.finalize(self, _dispose, self.engine, os.getpid())

    @property
    def statements(self) -> int:
        """What the calling thread has sent."""
        return self._tally.count

    def read(self, question: Operation[T]) -> T:
        """Answer a question from one consistent snapshot of the database.

        A lost connection is replaced and the question asked again. Raises ValueNotStorable when
        the database can't even compare with a value, TooMuchAtOnce with so many of them, and
        DatabaseUnavailable when it can't be asked or no connection of the pool gets free.
        """
        try:
            self._prepare()
            return self._run(self._reader, self._read_turn, question)
        except (DBAPIError, PoolExhausted) as error:
            refusal = refusal_of(error)
            if refusal is None:
                raise
            raise refusal from error

    def ask(self, question: Question, **values: Any) -> Rows:
        """The rows that one small question is answered with; raises what `read` does.

        The driver is asked without SQLAlchemy, whose way to it costs several times as much as
        such a statement; should that fail in any way, it is asked again as by `read`.
        """
        if self._asks_directly and self._preparation is None:
            try:
                with self._read_turn:
                    return self._asked(question, values)
            except PoolExhausted as error:
                raise refusal_of(error) or error from error
            except Exception as error:
                LOG.debug("Asks again: %s", error)
        return self.read(
            lambda connection: [
                tuple(row) for row in connection.execute(question.statement, values)
            ]
        )

    def _asked(self, question: Question, values: Mapping[str, Any]) -> Rows:
        connection = self.engine.raw_connection()
        try:
            rows = question.put(connection.cursor(), self.engine.dialect, values)
        except BaseException:
            connection.invalidate()
            raise
        finally:
            connection.close()
        self._tally.count += 1
        return rows

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction like those of `write`, but tried once and without waiting for a turn."""
        with self._writer.engine.connect() as connection, connection.begin():
            self._writer.begin(connection)
            yield connection

    def write(self, operation: Operation[T], tries: int = TRIES) -> T:
        """Run an operation in one transaction: all of it happens, or nothing.

        Failures that another writer caused (deadlock, serialization, lost connection before the
        commit, a row of the same name inserted meanwhile) run the operation again from the start,
        at most so many times and for PATIENCE; then LostRace is raised. Raises ValueNotStorable
        where SQLite, which minds neither length nor range, would not, TooMuchAtOnce for a statement
        beyond the database's limits, and DatabaseUnavailable or StorageFull when it is for the
        database's operator to act; then nothing happened. A connection that is lost while it
        commits is OutcomeUnknown.
        """
        if tries < 1:
            raise LostRace()
        try:
            self._prepare()
            return self._run(self._writer, self._turn, operation, tries)
        except (DBAPIError, PoolExhausted) as error:
            cause = failure_of(error) if isinstance(error, DBAPIError) else None
            if cause is not None and cause not in OUTAGES:
                LOG.error("Gave up a write: %s", cause)
                raise LostRace() from error
            refusal = refusal_of(error)
            if refusal is None:
                raise
            raise refusal from error

    def prepare_first(self, preparation: Callable[[], object]) -> None:
        """Have this done once, before the next question or operation is run.

        It may read and write itself. What it raises is that question's failure, and the next one
        tries it again; a failure to reach the database is told as such.
        """
        self._preparation = preparation

    def _prepare(self) -> None:
        if self._preparation is None:
            return
        with self._preparing:
            # who comes here while it goes on is itself; all others wait
            if self._preparation is None or self._is_preparing:
                return
            self._is_preparing = True
            try:
                self._preparation()
                self._preparation = None
            finally:
                self._is_preparing = False

    def _run(self, mode: "_Mode", turn: Turn, operation: Operation[T], tries: int = TRIES) -> T:
        """Run in a transaction, again while a failure may pass; raises the last one.

        Deadlocks don't use up tries: we lock in one order, so it is the nodes of a cluster that met
        in the same rows. One of them was let through, and this one may lose many times in a row.
        """
        end = self._clock() + PATIENCE
        cause: str | None
        for attempt in itertools.count(1):
            committing = False
            try:
                with turn, mode.engine.connect() as connection, connection.begin():
                    mode.begin(connection)
                    result = operation(connection)
                    committing = mode is self._writer
                return result
            except LostRace:
                # what was to be locked changed before it was
                cause, tries = RACE, tries - 1
                if not tries or self._clock() >= end:
                    raise
            except (DataError, OverflowError, UnicodeEncodeError) as error:
                # the latter are SQLite's driver's words for what is beyond 64 bits or no UTF-8
                raise ValueNotStorable() from error
            except DBAPIError as error:
                if is_too_large(error):
                    raise TooMuchAtOnce() from error
                cause = failure_of(error)
                if committing and cause == DISCONNECT:
                    LOG.error("A connection was lost while a change was stored: %s", error.orig)
                    raise OutcomeUnknown() from error
                if cause is None:
                    raise
                if cause != DEADLOCK:
                    tries -= 1
                if not tries or self._clock() >= end:
                    raise
            self.retries[cause] += 1
            LOG.debug("Runs again after %s (try %d)", cause, attempt)
            self._pause(random.uniform(0, min(LONGEST_PAUSE, 0.01 * 2 ** min(attempt, 10))))
        raise AssertionError("unreachable: the last try returns or raises")

    def wait_until_reachable(self) -> None:
        """Connect, as often and in such intervals as the settings say; for the start of a process.

        Raises OperationalError when the last try failed, or when waiting is of no use. A SQLite
        file is there or not, so that is tried once.
        """
        tries = 0
        while True:
            try:
                self.engine.connect().close()
            except DBAPIError as error:
                tries += 1
                limit = self._settings.max_retries
                if not is_unreachable(error) or (limit >= 0 and tries > limit):
                    raise
                left = "" if limit < 0 else f", {limit - tries + 1} tries left"
                LOG.warning("The database can't be reached%s: %s", left, error.orig)
                self._pause(self._settings.retry_interval)
            else:
                return

    def close(self) -> None:
        """Give all pooled connections back."""
        self.engine.dispose()


def _dispose(engine: sa.Engine, process: int) -> None:
    """Close the connections, but not those that are another process's."""
    engine.dispose(close=os.getpid() == process)


@dataclasses.dataclass(frozen=True)
class _Mode:
    """How transactions of one kind begin.

    :param begin: what each does first. No listener of SQLAlchemy's for it: engines that have one
        cost each request more than the statement
    """

    engine: sa.Engine
    begin: Callable[[Connection], object]


def _modes(engine: sa.Engine) -> tuple[_Mode, _Mode]:
    """How questions and how operations begin."""
    if engine.dialect.name == "sqlite":
        return _Mode(engine, _begin_sqlite_read), _Mode(engine, _begin_sqlite_write)
    if engine.dialect.name in MYSQL:
        return _Mode(engine, _begin_nothing), _Mode(engine, _begin_mysql_write)
    return (
        _Mode(engine.execution_options(isolation_level="REPEATABLE READ"), _begin_nothing),
        _Mode(engine.execution_options(isolation_level="READ COMMITTED"), _begin_nothing),
    )


def _begin_nothing(connection: Connection) -> None:
    """The driver begins with the first statement, as it should."""


def _begin_sqlite_read(connection: Connection) -> None:
    driver = connection.connection.driver_connection
    if driver is not None:
        # SQLAlchemy's way costs more than the statement; this one can't fail
        driver.execute("BEGIN")


def _begin_sqlite_write(connection: Connection) -> None:
    # a lock it meets must come as SQLAlchemy's error, which is tried again
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_mysql_write(connection: Connection) -> None:
    # for this transaction alone; SQLAlchemy would set the session's and then set it back
    connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")


def _make_engine(settings: DatabaseSettings) -> sa.Engine:
    url = read_url(settings.connection, settings.connection_parameters)
    url, options = prepare(url, settings)
    if settings.connection_debug:
        options["logging_name"] = _log_statements(settings.connection_debug)
    engine = sa.create_engine(url, **options)
    _keep_to_process(engine)
    if settings.connection_trace:
        _name_callers(engine)
    if engine.dialect.name == "sqlite":
        _set_up_sqlite(engine, settings)
    elif engine.dialect.name in MYSQL:
        _set_up_mysql(engine, settings)
    return engine


class _Tally(threading.local):
    count = 0


def _count_statements(engine: sa.Engine) -> _Tally:
    """Count them where they are handed to the driver, which costs least."""
    tally = _Tally()

    def count(cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith(("BEGIN", "SET TRANSACTION")):
            tally.count += 1

    for moment in ("do_execute", "do_executemany", "do_execute_no_params"):
        event.listen(engine, moment, count)
    return tally


def _log_statements(level: int) -> str:
    """Let engines of the name we give log their statements, from 100 on with the rows found."""
    name = f"placement.{level}"
    verbosity = logging.DEBUG if level >= 100 else logging.INFO if level >= 50 else logging.WARNING
    logging.getLogger(f"sqlalchemy.engine.Engine.{name}").setLevel(verbosity)
    return name


def _name_callers(engine: sa.Engine) -> None:
    """End each statement with a comment that says which function of ours asked for it."""

    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def comment(
        connection: Connection, cursor: Any, statement: str, parameters: Any, *_: Any
    ) -> tuple[str, Any]:
        # no `%`, which drivers would read as a parameter, and no end of the comment in it
        callers = [
            f"{frame.filename.removeprefix(str(_PACKAGE))}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_stack()
            if frame.filename.startswith(str(_PACKAGE)) and frame.filename != __file__
        ]
        text = " < ".join(reversed(callers)).replace("%", "").replace("*/", "")
        return f"{statement} /* {text} */", parameters


def _keep_to_process(engine: sa.Engine) -> None:
    """Servers may fork after the application was made; a child opens connections of its own."""

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: Any) -> None:
        record.info["process"] = os.getpid()

    @event.listens_for(engine, "checkout")
    def checkout(connection: Any, record: Any, proxy: Any) -> None:
        if record.info["process"] != os.getpid():
            # forgotten, not closed: the parent still talks through it
            record.dbapi_connection = proxy.dbapi_connection = None
            raise DisconnectionError("The connection belongs to the process this one came from")


def _set_up_sqlite(engine: sa.Engine, settings: DatabaseSettings) -> None:
    """WAL so that readers never wait; transactions begin when we say so."""

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA busy_timeout = 30000")
        connection.execute("PRAGMA journal_mode = WAL")
        # in KiB, used as far as there is something to keep; the default holds a few hundred hosts
        connection.execute("PRAGMA cache_size = -16384")
        connection.execute(
            f"PRAGMA synchronous = {'FULL' if settings.sqlite_synchronous else 'OFF'}"
        )


#: set in the `info` of connections to a node of a Galera cluster
CLUSTER = "cluster"
#: before which statements a node of a Galera cluster waits for the others: SELECT and BEGIN, UPDATE
#: and DELETE, INSERT, SHOW
_GALERA_WAITS = 1 | 2 | 4 | 8


def _set_up_mysql(engine: sa.Engine, settings: DatabaseSettings) -> None:
    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: Any) -> None:
        with connection.cursor() as cursor:
            if settings.mysql_sql_mode:
                cursor.execute("SET SESSION sql_mode = %s", (settings.mysql_sql_mode,))
            # the first resource class has the id 0, which otherwise asks for the next free one
            cursor.execute(
                "SET SESSION sql_mode = CONCAT(@@SESSION.sql_mode, ',NO_AUTO_VALUE_ON_ZERO')"
            )
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("SHOW VARIABLES LIKE 'wsrep_on'")
            if any(value == "ON" for _, value in cursor.fetchall()):
                record.info[CLUSTER] = True
                # each transaction begins with all that was committed on any node of the cluster
                cursor.execute(f"SET SESSION wsrep_sync_wait = {_GALERA_WAITS}")
