"""How transactions begin: in one of two modes, one for reads and one for writes."""

import contextlib
import dataclasses
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
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


#: returns a context in which a thread may use the database; it waits at most so many seconds
Turn = Callable[[float], AbstractContextManager[object]]


def one_by_one() -> Turn:
    """Return a turn that one thread has at a time. It raises LostRace after a longer wait."""
    lock = threading.Lock()

    @contextlib.contextmanager
    def turn(seconds: float) -> Iterator[None]:
        if not lock.acquire(timeout=max(0.0, seconds)):
            raise LostRace()
        try:
            yield
        finally:
            lock.release()

    return turn


@dataclasses.dataclass(frozen=True)
class Mode:
    """How transactions of one kind begin.

    :param begin: called first in each transaction, also with whether the transaction waits longer
        than shortly for each lock (`lock_waits.py`). It is not a listener of SQLAlchemy's: an
        engine with such a listener costs each request more than the statement itself
    :param ending: what commits, if it can go in one message with the last statements
    :param turn: is held during a transaction; by default all threads may use the database at once
    """

    engine: sa.Engine
    begin: Callable[[Connection, bool], object]
    ending: str | None = None
    turn: Turn = contextlib.nullcontext


def modes(engine: sa.Engine, patient: bool = False, read_only: bool = False) -> tuple[Mode, Mode]:
    """Return the mode for reads and the mode for writes.

    SQLite lets one writer in at a time and makes the others poll, so the writers of a process queue
    here instead. An in-memory database is a single connection, so its readers queue with them.

    :param patient: whether writes wait for locks as long as the database allows
    :param read_only: whether PostgreSQL refuses to write in transactions of the first mode
    """
    if engine.dialect.name == "sqlite":
        writers = one_by_one()
        readers = writers if isinstance(engine.pool, StaticPool) else contextlib.nullcontext
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
