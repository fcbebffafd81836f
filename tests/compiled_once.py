"""Have the engines of one process share what SQLAlchemy compiled for SQLite.

Most tests begin with a database of their own, for which all statements would be compiled again.
"""

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.util import LRUCache


class _OfAllEngines(LRUCache[Any, Any]):
    """What an engine compiled; the first part of each key is the dialect, an object of its own."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_of_any_engine(key), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__(_of_any_engine(key), compiled)


def _of_any_engine(key: Any) -> Any:
    return (type(key[0]), *key[1:])


@contextlib.contextmanager
def for_all_engines() -> Iterator[None]:
    """Share it between the engines that are made in this block."""
    plain = sa.create_engine
    compiled = _OfAllEngines(2000)

    @functools.wraps(plain)
    def create_engine(*given: Any, **named: Any) -> sa.Engine:
        engine = plain(*given, **named)
        if engine.dialect.name == "sqlite":
            engine._compiled_cache = compiled
        return engine

    sa.create_engine = create_engine
    try:
        yield
    finally:
        sa.create_engine = plain
