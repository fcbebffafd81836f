"""Unexpected errors: logged with where they happened, told without it (rest-api.md 1.12).

An error of the database quotes the statement and its values, and so may the server's own words. So
neither is told, nor logged at the usual level: what kind of error it was, and where, is.
"""

import logging
import sqlite3
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from placement.errors import PlacementError
from placement.http.environ import Environ, WSGIApplication
from placement.http.error_body import answer
from placement.storage.dialects import number_of, state_of

LOG = logging.getLogger(__name__)
#: packages whose errors are databases'
_DRIVERS = frozenset({"psycopg", "psycopg2", "pymysql", "MySQLdb", "mysql", "mariadb"})
DATABASE_FAILED = (
    "The database refused a statement of the service; its log says which error it was."
)


class FaultWrapper:
    """Answers 500 for whatever the application doesn't answer itself."""

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        try:
            return self.application(environ, start_response)
        except Exception as error:
            quotes = any(_is_of_database(each) for each in _chain(error))
            if quotes:
                LOG.error("Placement API unexpected error:\n%s", _outline(error))
                LOG.debug("The same with all that was said", exc_info=error)
            else:
                LOG.exception("Placement API unexpected error: %s", error)
            told = DATABASE_FAILED if quotes else str(error)
            return answer(environ, PlacementError(told))(environ, start_response)


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
