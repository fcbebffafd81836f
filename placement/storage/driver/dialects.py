"""What differs between SQLite, PostgreSQL and MariaDB/MySQL: drivers, URLs, pools."""

import contextlib
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool, StaticPool

from placement.storage.driver.database_settings import DatabaseSettings
from placement.storage.driver.mysql_driver import MULTI_STATEMENTS

#: for a backend: the driver we ship with, and the extra that installs it
PREFERRED_DRIVERS = {
    "postgresql": ("psycopg", "openstack-berth[postgresql]"),
    "mysql": ("pymysql", "openstack-berth[mysql]"),
    "mariadb": ("pymysql", "openstack-berth[mysql]"),
}

#: the extras of drivers that only their scheme chooses
OTHER_DRIVERS = {"mysqldb": "openstack-berth[mysqlclient]"}

#: seconds that connecting may take, as with MySQL's driver; PostgreSQL's own limit is minutes
_LONGEST_CONNECT = 10
#: seconds that a server may be silent; then the connection is closed. A request tries twice in 30 s
_LONGEST_SILENCE = 14
#: seconds that a statement of a write waits for a lock; a request tries three times in 30 s.
#: PostgreSQL counts otherwise (`postgresql_sessions.py`)
LONGEST_LOCK = 9

#: SQLAlchemy's names for MySQL and MariaDB, which follow the URL's scheme
MYSQL = ("mysql", "mariadb")


class DatabaseUnusable(Exception):
    """The configured database can't be used; the text says why and holds no secret."""


class DriverMissing(DatabaseUnusable):
    """The database URL names a driver that isn't installed."""


def read_url(connection: str, parameters: str = "") -> sa.URL:
    """Return the URL of the database with `parameters` (`name=value&…`) appended to its query.

    Raises DatabaseUnusable if it isn't one.
    """
    try:
        url = sa.make_url(connection)
        if parameters:
            joined = "&" if url.query else "?"
            text = url.render_as_string(hide_password=False)
            url = sa.make_url(f"{text}{joined}{parameters}")
        if url.get_backend_name() != "sqlite" and _ends_too_early(url):
            raise ValueError("an @ in the password")
    except (ArgumentError, ValueError):
        # not chained: the error may quote the URL, and with it the password
        raise DatabaseUnusable(
            "[placement_database]connection is not a database URL, such as sqlite:////a/file or "
            "postgresql://user:password@host/database (special characters as %XX)."
        ) from None
    return url


def _ends_too_early(url: sa.URL) -> bool:
    """Return whether the password has an `@`: what follows it was read as host and database."""
    database = url.database or ""
    return "@" in (url.host or "") or ("@" in database and "/" in database)


def prepare(
    url: sa.URL, settings: DatabaseSettings, patient: bool = False
) -> tuple[sa.URL, dict[str, Any], float | None]:
    """Return the URL with a driver, the engine options, and how long PostgreSQL may be silent.

    `connect_timeout` and `read_timeout` in the URL override the limits, in seconds; 0: no limit.
    Raises DriverMissing saying which package to install or which scheme to write, and
    DatabaseUnusable for time limits that are no numbers.

    :param patient: without time limits, once connected, and without a pool
    """
    backend = url.get_backend_name()
    if backend == "sqlite":
        return url, _sqlite_options(url, settings), None
    options: dict[str, Any] = {"poolclass": NullPool} if patient else _pool_options(settings)
    url = _with_driver(url, backend)
    driver = url.get_driver_name()
    arguments: dict[str, Any] = {}
    if "connect_timeout" not in url.query:
        arguments["connect_timeout"] = _LONGEST_CONNECT
    silence: float | None = None
    if driver in ("pymysql", "mysqldb"):
        for limit in ("read_timeout", "write_timeout"):
            seconds = _seconds(url, limit)
            url = url.difference_update_query([limit])
            if seconds and not patient:
                arguments[limit] = seconds
        if driver == "pymysql":
            # as with psycopg below: Berth begins transactions itself
            arguments["autocommit"] = True
            url = _with_flag(url, MULTI_STATEMENTS)
    elif driver == "psycopg":
        silence = None if patient else _seconds(url, "read_timeout") or None
        url = url.difference_update_query(["read_timeout"])
        # Berth begins transactions itself, and a single statement needs none
        arguments["autocommit"] = True
        # a pooler may give the next transaction another session, in which a prepared statement is
        # missing, or its name stands for another statement
        arguments["prepare_threshold"] = None
        # `set_up_postgresql` does that: only where a transaction is open
        options["pool_reset_on_return"] = None
        # saves one query for each new connection
        options["use_native_hstore"] = False
    return url, options | {"connect_args": arguments}, silence


def _with_flag(url: sa.URL, flag: int) -> sa.URL:
    """Return the URL of a MySQL database with one more flag of the session."""
    given = url.query.get("client_flag", "0")
    if not isinstance(given, str) or not given.isdecimal():
        raise DatabaseUnusable("client_flag in the database URL is no number.")
    return url.update_query_dict({"client_flag": str(int(given) | flag)})


def _seconds(url: sa.URL, name: str) -> int:
    given = url.query.get(name, str(_LONGEST_SILENCE))
    if not isinstance(given, str) or not (given.isdecimal() and len(given) < 10):
        raise DatabaseUnusable(f"{name} in the database URL is no number of seconds.")
    return int(given)


def _with_driver(url: sa.URL, backend: str) -> sa.URL:
    ours, extra = PREFERRED_DRIVERS.get(backend, (None, None))
    named = url.drivername.partition("+")[2]
    if not named and ours:
        named = ours
        url = url.set(drivername=f"{backend}+{ours}")
    try:
        url.get_dialect().import_dbapi()
    except ModuleNotFoundError as missing:
        hint = f"install {extra if ours == named else OTHER_DRIVERS.get(named, missing.name)!r}"
        if ours != named and ours:
            hint += f", or install {extra!r} and write the URL as {backend}+{ours}://…"
        raise DriverMissing(
            f"The database URL {url.drivername}://… needs the driver {missing.name!r}, "
            f"which is not installed: {hint}."
        ) from missing
    except ArgumentError as unknown:
        raise DatabaseUnusable(
            f"The database URL {url.drivername}://… names no kind of database known here: write "
            "sqlite://…, postgresql://… or mysql://…"
        ) from unknown
    return url


def _sqlite_options(url: sa.URL, settings: DatabaseSettings) -> dict[str, object]:
    if url.database in (None, "", ":memory:"):
        # one connection is the whole database: threads must share it
        return {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
    return _pool_options(settings) | {"connect_args": {"timeout": LONGEST_LOCK}}


def _pool_options(settings: DatabaseSettings) -> dict[str, object]:
    options = {
        "pool_recycle": settings.connection_recycle_time,
        "pool_size": settings.max_pool_size,
        "max_overflow": settings.max_overflow,
        "pool_timeout": settings.pool_timeout,
    }
    return {name: value for name, value in options.items() if value is not None}


#: the lock of processes that change the schema, and for how many seconds they wait for it
_SCHEMA_LOCK = "berth_schema"
_LONGEST_CHANGE = 600


@contextlib.contextmanager
def schema_lock(connection: sa.Connection) -> Iterator[None]:
    """Let one process at a time change the schema; the others wait.

    Raises DatabaseUnusable if waiting takes too long on MySQL. SQLite needs no such lock: a write
    transaction locks the whole database.
    """
    backend = connection.dialect.name
    if backend == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtext(_SCHEMA_LOCK))))
    if backend not in MYSQL:
        yield
        return
    if not connection.execute(sa.select(sa.func.get_lock(_SCHEMA_LOCK, _LONGEST_CHANGE))).scalar():
        raise DatabaseUnusable("Another process is changing the schema; try again when it is done.")
    try:
        yield
    finally:
        connection.execute(sa.select(sa.func.release_lock(_SCHEMA_LOCK)))
