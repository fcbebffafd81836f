"""How transactions begin: one mode for reads and one for writes, on each kind of database."""

import dataclasses
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from placement.storage.database.connection import Connection
from placement.storage.driver.dialects import MYSQL
from placement.storage.driver.postgresql_sessions import LIMITS_LOCKS, limit_of_locks


@dataclasses.dataclass(frozen=True)
class Mode:
    """How transactions of one kind begin.

    :param begin: called first in each transaction. It is not a listener of SQLAlchemy's: an engine
        with such a listener costs each request more than the statement itself
    """

    engine: sa.Engine
    begin: Callable[[Connection], object]


def modes(engine: sa.Engine, patient: bool = False, read_only: bool = False) -> tuple[Mode, Mode]:
    """Return the mode for reads and the mode for writes.

    :param patient: whether writes wait for locks as long as the database allows
    :param read_only: whether PostgreSQL refuses to write in transactions of the first mode
    """
    if engine.dialect.name == "sqlite":
        return Mode(engine, _begin_sqlite_read), Mode(engine, _begin_sqlite_write)
    if engine.dialect.name in MYSQL:
        return Mode(engine, _begin_nothing), Mode(engine, _begin_mysql_write)
    if engine.dialect.driver == "psycopg":
        read = f"{_BEGIN_READ} READ ONLY" if read_only else _BEGIN_READ
        return (
            Mode(engine, lambda connection: connection.begin(read)),
            Mode(engine, _begin_patient_write if patient else _begin_postgresql_write),
        )
    reading: dict[str, Any] = {"isolation_level": "REPEATABLE READ"}
    if read_only:
        reading["postgresql_readonly"] = True
    return (
        Mode(engine.execution_options(**reading), _begin_nothing),
        Mode(engine.execution_options(isolation_level="READ COMMITTED"), _begin_nothing),
    )


_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ"
_BEGIN_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"


def _begin_postgresql_write(connection: Connection) -> None:
    connection.begin(_BEGIN_WRITE)
    if not connection.info.get(LIMITS_LOCKS):
        connection.begin(limit_of_locks(whole_session=False))


def _begin_patient_write(connection: Connection) -> None:
    connection.begin(_BEGIN_WRITE)


def _begin_nothing(connection: Connection) -> None:
    """Do nothing: the driver begins the transaction with the first statement."""


def _begin_sqlite_read(connection: Connection) -> None:
    connection.begin("BEGIN")


def _begin_sqlite_write(connection: Connection) -> None:
    connection.begin("BEGIN IMMEDIATE")


def _begin_mysql_write(connection: Connection) -> None:
    # for this transaction alone; SQLAlchemy would set the session's level and then set it back
    connection.begin("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
