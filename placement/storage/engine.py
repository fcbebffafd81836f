"""The database: one view per read, one transaction per write, bounded retry (DESIGN D3)."""

import collections
import contextlib
import dataclasses
import logging
import random
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from placement.errors import ConcurrentUpdate
from placement.storage.dialects import failure_of, prepare

LOG = logging.getLogger(__name__)
T = TypeVar("T")
Connection = sa.Connection
Operation = Callable[[Connection], T]
Turn = contextlib.AbstractContextManager[Any]

#: tries of one write, and the longest pause between two of them in seconds
WRITE_TRIES = 10
LONGEST_PAUSE = 1.0


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

    @classmethod
    def of(cls, group: Any) -> "DatabaseSettings":
        """From the option group [placement_database]."""
        return cls(**{field.name: getattr(group, field.name) for field in dataclasses.fields(cls)})


class Database:
    """Runs questions and operations, each a function of one connection.

    `retries` counts how often a write was run again, by cause.
    """

    def __init__(self, settings: DatabaseSettings, pause: Callable[[float], None] = time.sleep):
        self.engine = _make_engine(settings)
        self._sqlite = self.engine.dialect.name == "sqlite"
        self._reader = self.engine.execution_options(berth_mode="read")
        self._writer = self.engine.execution_options(berth_mode="write")
        if not self._sqlite:
            self._reader = self._reader.execution_options(isolation_level="REPEATABLE READ")
            self._writer = self._writer.execution_options(isolation_level="READ COMMITTED")
        self._pause = pause
        # SQLite lets one writer in at a time and makes others poll; within a process we queue
        # instead. An in-memory database is one connection, so there readers queue as well.
        no_queue: Turn = contextlib.nullcontext()
        self._turn: Turn = threading.Lock() if self._sqlite else no_queue
        self._read_turn = self._turn if isinstance(self.engine.pool, StaticPool) else no_queue
        self.retries: collections.Counter[str] = collections.Counter()

    def read(self, question: Operation[T]) -> T:
        """Answer a question from one consistent snapshot of the database."""
        with self._read_turn, self._reader.begin() as connection:
            return question(connection)

    def write(self, operation: Operation[T]) -> T:
        """Run an operation in one transaction: all of it happens, or nothing.

        Failures that another writer caused (deadlock, serialization, lost connection before the
        commit, a row of the same name inserted meanwhile) run the operation again from the start,
        at most WRITE_TRIES times; then ConcurrentUpdate is raised.
        """
        for attempt in range(1, WRITE_TRIES + 1):
            try:
                with self._turn, self._writer.begin() as connection:
                    return operation(connection)
            except DBAPIError as error:
                cause = failure_of(error)
                if cause is None:
                    raise
                self.retries[cause] += 1
                if attempt == WRITE_TRIES:
                    LOG.error("Gave up a write after %d tries: %s", attempt, cause)
                    raise ConcurrentUpdate() from error
                LOG.debug("Write runs again after %s (try %d)", cause, attempt)
                self._pause(random.uniform(0, min(LONGEST_PAUSE, 0.01 * 2**attempt)))
        raise AssertionError("unreachable: the last try returns or raises")

    def close(self) -> None:
        """Give all pooled connections back."""
        self.engine.dispose()


def _make_engine(settings: DatabaseSettings) -> sa.Engine:
    url = sa.make_url(settings.connection)
    if settings.connection_parameters:
        joined = "&" if url.query else "?"
        text = url.render_as_string(hide_password=False)
        url = sa.make_url(f"{text}{joined}{settings.connection_parameters}")
    url, options = prepare(url, settings)
    engine = sa.create_engine(url, **options)
    if engine.dialect.name == "sqlite":
        _set_up_sqlite(engine, settings)
    elif engine.dialect.name in ("mysql", "mariadb"):
        _set_up_mysql(engine, settings)
    return engine


def _set_up_sqlite(engine: sa.Engine, settings: DatabaseSettings) -> None:
    """WAL so that readers never wait, explicit BEGIN so that writers queue before they read."""

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA busy_timeout = 30000")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(
            f"PRAGMA synchronous = {'FULL' if settings.sqlite_synchronous else 'OFF'}"
        )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        mode = connection.get_execution_options().get("berth_mode", "write")
        connection.exec_driver_sql("BEGIN" if mode == "read" else "BEGIN IMMEDIATE")


def _set_up_mysql(engine: sa.Engine, settings: DatabaseSettings) -> None:
    if not settings.mysql_sql_mode:
        return

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION sql_mode = %s", (settings.mysql_sql_mode,))
