"""How transactions begin: in one of two modes, one for reads and one for writes."""

import contextlib
import dataclasses
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from placement.errors import LostRace
from placement.storage.database.connection import Connection
from placement.storage.driver.dialects import MYSQL
from placement.storage.driver.mysql_sessions import wait_longer
from placement.storage.driver.postgresql_sessions import (
    LIMITS_LOCKS,
    LONG_WAIT,
    SHORT_WAIT,
    WAIT_LONGER,
    limit_of_locks,
)

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
#: in the SQL mode ORACLE, `BEGIN` begins a block of statements
_MYSQL = "START TRANSACTION"


class Turn:
    """Lets one thread at a time use the database.

    :param lock: None: all threads may use it at once
    """

    def __init__(self, lock: "threading.Lock | None") -> None:
        self._lock = lock

    @contextlib.contextmanager
    def taken(self, seconds: float) -> Iterator[None]:
        """Hold the turn in a block. Raises LostRace if waiting takes longer than `seconds`."""
        if self._lock is None:
            yield
            return
        if not self._lock.acquire(timeout=max(0.0, seconds)):
            raise LostRace()
        try:
            yield
        finally:
            self._lock.release()


_AT_ONCE = Turn(None)


@dataclasses.dataclass(frozen=True)
class Mode:
    """How transactions of one kind begin.

    :param begin: called first in each transaction, also with whether the transaction waits longer
        than shortly for each lock (`lock_waits.py`). It is not a listener of SQLAlchemy's: an
        engine with such a listener costs each request more than the statement itself
    :param ending: what commits, if it can go in one message with the last statements
    :param turn: is held during a transaction
    """

    engine: sa.Engine
    begin: Callable[[Connection, bool], object]
    ending: str | None = None
    turn: Turn = _AT_ONCE


def modes(engine: sa.Engine, patient: bool = False, read_only: bool = False) -> tuple[Mode, Mode]:
    """Return the mode for reads and the mode for writes.

    SQLite lets one writer in at a time and makes the others poll, so the writers of a process queue
    here instead. An in-memory database is a single connection, so its readers queue with them.

    :param patient: whether writes wait for locks as long as the database allows
    :param read_only: whether PostgreSQL refuses to write in transactions of the first mode
    """
    if engine.dialect.name == "sqlite":
        writers = Turn(threading.Lock())
        readers = writers if isinstance(engine.pool, StaticPool) else _AT_ONCE
        return (
            Mode(engine, _sending("BEGIN"), turn=readers),
            Mode(engine, _sending("BEGIN IMMEDIATE"), turn=writers),
        )
    if engine.dialect.driver == "pymysql":
        return Mode(engine, _sending(_MYSQL)), Mode(engine, _begin_pymysql_write, "COMMIT")
    if engine.dialect.name in MYSQL:
        return Mode(engine, _begin_nothing), Mode(engine, _begin_mysql_write)
    if engine.dialect.driver == "psycopg":
        read = f"{_READ} READ ONLY" if read_only else _READ
        return (
            Mode(engine, functools.partial(_begin_postgresql, read, False)),
            Mode(engine, functools.partial(_begin_postgresql, _WRITE, not patient), "COMMIT"),
        )
    reading: dict[str, Any] = {"isolation_level": "REPEATABLE READ"}
    if read_only:
        reading["postgresql_readonly"] = True
    writer = engine.execution_options(isolation_level="READ COMMITTED")
    return (
        Mode(engine.execution_options(**reading), _begin_nothing),
        Mode(writer, _begin_nothing if patient else _begin_psycopg2_write),
    )


def _sending(text: str) -> Callable[[Connection, bool], object]:
    return lambda connection, longer: connection.begin(text)


def _begin_nothing(connection: Connection, longer: bool) -> None:
    """Do nothing: the driver begins the transaction with the first statement."""


def _begin_postgresql(text: str, limits: bool, connection: Connection, longer: bool) -> None:
    """Begin, and limit the waits for locks if the session doesn't do that already.

    :param limits: whether there is a limit for a transaction that waits shortly. Reads wait for the
        lock of a table that is rebuilt
    """
    connection.begin(text)
    session_limits = connection.info.get(LIMITS_LOCKS)
    if longer:
        connection.begin(WAIT_LONGER if session_limits else limit_of_locks(LONG_WAIT))
    elif limits and not session_limits:
        connection.begin(limit_of_locks(SHORT_WAIT))


def _begin_psycopg2_write(connection: Connection, longer: bool) -> None:
    # the driver begins the transaction with it
    connection.plain.exec_driver_sql(limit_of_locks(LONG_WAIT if longer else SHORT_WAIT))


def _begin_mysql_write(connection: Connection, longer: bool) -> None:
    if longer:
        connection.begin(wait_longer(connection.info))
    # for this transaction alone; SQLAlchemy would set the session's level and then set it back
    connection.begin("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")


def _begin_pymysql_write(connection: Connection, longer: bool) -> None:
    _begin_mysql_write(connection, longer)
    connection.begin(_MYSQL)
