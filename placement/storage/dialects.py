"""What differs between SQLite, PostgreSQL and MariaDB/MySQL: drivers, pools, failures."""

import importlib.util
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import StaticPool

#: for a backend: the driver we ship with, its module, the extra that installs it
PREFERRED_DRIVERS = {
    "postgresql": ("psycopg", "berth[postgresql]"),
    "mysql": ("pymysql", "berth[mysql]"),
    "mariadb": ("pymysql", "berth[mysql]"),
}
DRIVER_MODULES = {"mysqldb": "MySQLdb", "pymysql": "pymysql", "psycopg2": "psycopg2"}

_POSTGRESQL_FAILURES = {
    "40001": "serialization",
    "40P01": "deadlock",
    "55P03": "lock_timeout",
    "57P01": "disconnect",
}
_MYSQL_FAILURES = {
    1205: "lock_timeout",
    1213: "deadlock",
    1020: "serialization",
    1047: "cluster_not_ready",
    3572: "lock_timeout",
}


class DriverMissing(Exception):
    """The database URL names a driver that isn't installed."""


def prepare(url: sa.URL, settings: Any) -> tuple[sa.URL, dict[str, Any]]:
    """The URL with its driver, and the engine options for it.

    Raises DriverMissing saying which package to install or which scheme to write.
    """
    backend = url.get_backend_name()
    if backend == "sqlite":
        return url, _sqlite_options(url, settings)
    return _with_driver(url, backend), _pool_options(settings)


def _with_driver(url: sa.URL, backend: str) -> sa.URL:
    ours, extra = PREFERRED_DRIVERS.get(backend, (None, None))
    named = url.drivername.partition("+")[2]
    if not named and ours:
        url = url.set(drivername=f"{backend}+{ours}")
        named = ours
    module = DRIVER_MODULES.get(named, named)
    if module and importlib.util.find_spec(module) is None:
        hint = f"install {module!r}"
        if ours == named:
            hint = f"install {extra!r}"
        elif ours:
            hint += f", or install {extra!r} and write the URL as {backend}+{ours}://…"
        raise DriverMissing(
            f"The database URL {url.drivername}://… needs the driver {module!r}, "
            f"which is not installed: {hint}."
        )
    return url


def _sqlite_options(url: sa.URL, settings: Any) -> dict[str, Any]:
    if url.database in (None, "", ":memory:"):
        # one connection is the whole database: threads must share it
        return {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
    return _pool_options(settings) | {"connect_args": {"timeout": 30}}


def _pool_options(settings: Any) -> dict[str, Any]:
    options = {
        "pool_recycle": settings.connection_recycle_time,
        "pool_size": settings.max_pool_size,
        "max_overflow": settings.max_overflow,
        "pool_timeout": settings.pool_timeout,
    }
    return {name: value for name, value in options.items() if value is not None}


def failure_of(error: DBAPIError) -> str | None:
    """Name the cause if another writer or the network is to blame, so that a retry may help."""
    if isinstance(error, IntegrityError):
        return "duplicate"
    if error.connection_invalidated:
        return "disconnect"
    origin = error.orig
    state = getattr(origin, "sqlstate", None) or getattr(origin, "pgcode", None)
    if state in _POSTGRESQL_FAILURES:
        return _POSTGRESQL_FAILURES[state]
    arguments = getattr(origin, "args", ())
    if arguments and isinstance(arguments[0], int):
        return _MYSQL_FAILURES.get(arguments[0])
    if "database is locked" in str(origin) or "database table is locked" in str(origin):
        return "locked"
    return None
