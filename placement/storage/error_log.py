"""Errors that nobody expected, in the log: where they happened, without statements of SQL.

An error of the database quotes the statement and its values, and so may the server's own words. So
neither is logged at the usual level: what kind of error it was, and where, is.
"""

import logging
import sqlite3
import traceback
from collections.abc import Iterator

from sqlalchemy.exc import SQLAlchemyError

from placement.storage.dialects import number_of, state_of

#: packages whose errors are databases'
_DRIVERS = frozenset({"psycopg", "psycopg2", "pymysql", "MySQLdb", "mysql", "mariadb"})


def quotes_database(error: BaseException) -> bool:
    """Whether its text, or that of one it was raised from, may quote a statement."""
    return any(_is_of_database(each) for each in _chain(error))


def log_unexpected(logger: logging.Logger, what: str, error: BaseException) -> None:
    """Log the error and what it was that failed, at the level ERROR."""
    if quotes_database(error):
        logger.error("%s:\n%s", what, _outline(error))
        logger.debug("The same with all that was said", exc_info=error)
    else:
        logger.error("%s: %s", what, error, exc_info=error)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, what it was raised from, and so on."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [each.__context__, each.__cause__]
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions


def _is_of_database(error: BaseException) -> bool:
    return isinstance(error, (SQLAlchemyError, sqlite3.Error)) or any(
        kind.__module__.partition(".")[0] in _DRIVERS for kind in type(error).__mro__
    )


def _outline(error: BaseException) -> str:
    """Kinds and places of the errors, the first one last; their texts only where they quote no SQL.

    Databases' own names of errors, such as 42P01 or 1054, say what their texts would.
    """
    parts = []
    for each in _chain(error):
        names = [type(each).__qualname__, state_of(each), number_of(each)]
        parts.append(" ".join(str(name) for name in names if name is not None))
        parts += [
            f"  {frame.filename}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(each.__traceback__)
        ]
    return "\n".join(parts)
