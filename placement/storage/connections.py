"""Connections to a database: how they are made, what they are told first, how long they wait.

A server may accept a connection and never answer, or stop in the middle of one: it hangs, its
machine was paused, the network drops what is sent. So each statement of a request has an end: when
the server was silent for `read_timeout` seconds, or when a row stayed locked for LONGEST_LOCK.
Nothing that a transaction relies on is kept in a session, unless it is MySQL's: a pooler such as
PgBouncer may give each transaction of PostgreSQL another session.
"""

import dataclasses
import logging
import os
import pathlib
import time
import traceback
import zlib
from collections.abc import Callable, Generator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DisconnectionError

from placement.storage.dialects import LONGEST_LOCK, MYSQL, prepare, read_url

Connection = sa.Connection
_PACKAGE = pathlib.Path(__file__).parents[1]


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


@dataclasses.dataclass(frozen=True)
class Mode:
    """How transactions of one kind begin.

    :param begin: what each does first. No listener of SQLAlchemy's for it: engines that have one
        cost each request more than the statement
    """

    engine: sa.Engine
    begin: Callable[[Connection], object]


def modes(engine: sa.Engine, patient: bool = False) -> tuple[Mode, Mode]:
    """How questions and how operations begin.

    :param patient: whether they wait for locks as long as the database lets them
    """
    if engine.dialect.name == "sqlite":
        return Mode(engine, _begin_sqlite_read), Mode(engine, _begin_sqlite_write)
    if engine.dialect.name in MYSQL:
        return Mode(engine, _begin_nothing), Mode(engine, _begin_mysql_write)
    if engine.dialect.driver == "psycopg":
        write = _BEGIN_WRITE if patient else f"{_BEGIN_WRITE}; {_LIMIT_LOCKS}"
        return (
            Mode(engine, lambda connection: connection.exec_driver_sql(_BEGIN_READ)),
            Mode(engine, lambda connection: connection.exec_driver_sql(write)),
        )
    return (
        Mode(engine.execution_options(isolation_level="REPEATABLE READ"), _begin_nothing),
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


def make_engine(settings: DatabaseSettings, patient: bool = False) -> sa.Engine:
    """An engine for the configured database.

    :param patient: for changes of the schema, which may take long, one after the other: without
        time limits and without a pool
    """
    url = read_url(settings.connection, settings.connection_parameters)
    url, options, silence = prepare(url, settings, patient)
    if settings.connection_debug:
        options["logging_name"] = _log_statements(settings.connection_debug)
    engine = sa.create_engine(url, **options)
    _keep_to_process(engine)
    if settings.connection_trace:
        _name_callers(engine)
    if engine.dialect.name == "sqlite":
        _set_up_sqlite(engine, settings)
    elif engine.dialect.name in MYSQL:
        _set_up_mysql(engine, settings, patient)
    elif silence is not None:
        _limit_silence(engine, silence)
    return engine


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
        connection.execute(f"PRAGMA busy_timeout = {LONGEST_LOCK * 1000}")
        connection.execute("PRAGMA journal_mode = WAL")
        # in KiB, used as far as there is something to keep; the default holds a few hundred hosts
        connection.execute("PRAGMA cache_size = -16384")
        connection.execute(
            f"PRAGMA synchronous = {'FULL' if settings.sqlite_synchronous else 'OFF'}"
        )


#: in the `info` of connections to a node of a Galera cluster: a number, not 0, made from its name
CLUSTER = "cluster"
#: before which statements a node of a Galera cluster waits for the others: SELECT and BEGIN, UPDATE
#: and DELETE, INSERT, SHOW
_GALERA_WAITS = 1 | 2 | 4 | 8


def _set_up_mysql(engine: sa.Engine, settings: DatabaseSettings, patient: bool) -> None:
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
            for limit in () if patient else ("innodb_lock_wait_timeout", "lock_wait_timeout"):
                cursor.execute(f"SET SESSION {limit} = LEAST(@@SESSION.{limit}, {LONGEST_LOCK})")
            cursor.execute("SHOW VARIABLES WHERE Variable_name IN ('wsrep_on', 'wsrep_node_name')")
            variables = dict(cursor.fetchall())
            if variables.get("wsrep_on") == "ON":
                record.info[CLUSTER] = 1 + zlib.crc32(variables["wsrep_node_name"].encode())
                # each transaction begins with all that was committed on any node of the cluster
                cursor.execute(f"SET SESSION wsrep_sync_wait = {_GALERA_WAITS}")


def _limit_silence(engine: sa.Engine, seconds: float) -> None:
    """End psycopg's connections to a server that says nothing for so long while it should answer.

    Its library waits for an answer without end. An engine of `prepare` has no other driver here.
    """

    @event.listens_for(engine, "connect", insert=True)
    def connect(connection: Any, record: Any) -> None:
        wait = connection.wait

        def wait_while_heard(steps: _Steps, *arguments: Any, **options: Any) -> Any:
            return wait(_while_heard(steps, connection, seconds), *arguments, **options)

        connection.wait = wait_while_heard


_Steps = Generator[Any, Any, Any]


def _while_heard(steps: _Steps, connection: Any, seconds: float) -> _Steps:
    """The driver's steps; it is told each time whether something came, at least ten times a second.

    Raises the driver's OperationalError, the connection closed, when nothing came for so long.
    """
    heard = time.monotonic()
    try:
        awaited = next(steps)
        while True:
            ready = yield awaited
            if ready:
                heard = time.monotonic()
            elif time.monotonic() - heard > seconds:
                connection.close()
                raise _silent(seconds)
            awaited = steps.send(ready)
    except StopIteration as end:
        return end.value


def _silent(seconds: float) -> Exception:
    # here, because PostgreSQL's driver is installed where it is used
    from psycopg import OperationalError

    return OperationalError(f"the server has not answered for {seconds:g} seconds")
