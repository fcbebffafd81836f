"""Have the engines of one process share what SQLAlchemy compiled for their kind of database.

Most tests begin with a database of their own, for which all statements would be compiled again. The
databases of a kind are those of one server, so their engines find out the same about it.
"""

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.util import LRUCache

from placement.storage.database import engine as database_engine


class _OfAllEngines(LRUCache[Any, Any]):
    """What an engine compiled; the first part of each key is the dialect, an object of its own."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_of_any_engine(key), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__(_of_any_engine(key), compiled)


def _of_any_engine(key: Any) -> Any:
    return (_kind(key[0]), *key[1:])


def _kind(dialect: sa.Dialect) -> tuple[Any, ...]:
    """Return what decides how a dialect writes statements."""
    return (
        type(dialect),
        dialect.paramstyle,
        getattr(dialect, "server_version_info", None),
        getattr(dialect, "_backslash_escapes", None),
        getattr(dialect, "_sql_mode", None),
    )


@contextlib.contextmanager
def for_all_engines() -> Iterator[None]:
    """Share it between the engines that are made in this block."""
    plain, plain_driver_of = sa.create_engine, database_engine.driver_of
    compiled = _OfAllEngines(6000)
    drivers: dict[Any, Any] = {}

    @functools.wraps(plain)
    def create_engine(*given: Any, **named: Any) -> sa.Engine:
        engine = plain(*given, **named)
        engine._compiled_cache = compiled
        return engine

    def driver_of(engine: sa.Engine) -> Any:
        # the texts of `Compiled` belong to the driver
        return drivers.setdefault(_kind(engine.dialect), plain_driver_of(engine))

    sa.create_engine = create_engine
    database_engine.driver_of = driver_of
    try:
        yield
    finally:
        database_engine.driver_of = plain_driver_of
        sa.create_engine = plain
