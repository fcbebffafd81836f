"""How transactions begin: one mode for reads and one for writes, on each kind of database."""

import dataclasses
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from placement.storage.connection import Connection
from placement.storage.dialects import LONGEST_LOCK, MYSQL


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
        write = _BEGIN_WRITE if patient else f"{_BEGIN_WRITE}; {_LIMIT_LOCKS}"
        read = f"{_BEGIN_READ} READ ONLY" if read_only else _BEGIN_READ
        return (
            Mode(engine, lambda connection: connection.send(read)),
            Mode(engine, lambda connection: connection.send(write)),
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
#: for this transaction, unless the operator has set a limit
_LIMIT_LOCKS = (
    "SELECT set_config('lock_timeout', "
    f"coalesce(nullif(current_setting('lock_timeout'), '0'), '{LONGEST_LOCK}s'), true)"
)


def _begin_nothing(connection: Connection) -> None:
    """Do nothing: the driver begins the transaction with the first statement."""


def _begin_sqlite_read(connection: Connection) -> None:
    connection.send("BEGIN")


def _begin_sqlite_write(connection: Connection) -> None:
    connection.send("BEGIN IMMEDIATE")


def _begin_mysql_write(connection: Connection) -> None:
    # for this transaction alone; SQLAlchemy would set the session's level and then set it back
    connection.send("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
