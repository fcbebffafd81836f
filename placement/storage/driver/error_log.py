"""Unexpected errors in the log: where they happened, without statements of SQL.

An error of the database quotes the statement and its values, and the server's message may quote
them, too. So the log has only the kind of such an error and the place where it happened. At the
level DEBUG the log has the whole error.
"""

import logging
import sqlite3
import traceback
from collections.abc import Iterator

from sqlalchemy.exc import SQLAlchemyError

from placement.storage.driver.failures import number_of, state_of, words_of

#: packages whose exceptions are errors of a database
_DRIVERS = frozenset({"psycopg", "psycopg2", "pymysql", "MySQLdb", "mysql", "mariadb"})


def quotes_database(error: BaseException) -> bool:
    """Return whether the error, or an error that it was raised from, may quote a statement."""
    return any(_is_of_database(each) for each in _chain(error))


def log_unexpected(logger: logging.Logger, what: str, error: BaseException) -> None:
    """Log the error at the level ERROR; `what` names what failed."""
    if quotes_database(error):
        logger.error("%s:\n%s", what, _outline(error))
        logger.debug("The same with all that was said", exc_info=error)
    else:
        logger.error("%s: %s", what, error, exc_info=error)


def shorten(logger: logging.Logger) -> None:
    """Have a logger write each error as a warning of one line: nobody has to act.

    SQLAlchemy's pool logs an error if a connection fails when it is returned. The work on the
    connection was done before, and the pool replaces it.
    """
    if _in_one_line not in logger.filters:
        logger.addFilter(_in_one_line)


def _in_one_line(record: logging.LogRecord) -> bool:
    if record.exc_info and record.exc_info[1] is not None:
        record.msg = f"{record.getMessage()}: {words_of(record.exc_info[1])}"
        record.args, record.exc_info = None, None
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
    return True


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and all errors that it was raised from."""
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
    """Return kinds and places of the errors, the original error last, without their texts.

    The database's own code, such as 42P01 or 1054, says what the text would say.
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
