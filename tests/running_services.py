"""The services that run in a test's process, each of which ends with the test or fixture it is of.

A test may make them by hand, with what another program would call, and forget them.
"""

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from placement import app
from placement.storage.database.engine import Database
from tests import leftovers

#: by their databases, what closes them
_CLOSING: weakref.WeakKeyDictionary[Database, Callable[[], None]] = weakref.WeakKeyDictionary()


@contextlib.contextmanager
def closed_by_owners() -> Iterator[None]:
    """Close every service that starts in this block when its owner ends."""
    plain_start, plain_database = app.start, Database.__init__

    @functools.wraps(plain_start)
    def start(*given: Any, **named: Any) -> app.Running:
        running = plain_start(*given, **named)
        # one that nothing refers to any more has closed its database
        references = (
            weakref.ref(running.database),
            weakref.ref(running.searching),
            weakref.ref(running.watch),
        )
        counting = _nobody if running.counting is None else weakref.ref(running.counting)

        def close() -> None:
            database, searching, watch = references[0](), references[1](), references[2]()
            if database is not None and searching is not None and watch is not None:
                app.Running(_nothing, database, searching, watch, {}, counting()).close()

        _CLOSING[running.database] = close
        leftovers.owner().at_end(close)
        return running

    @functools.wraps(plain_database)
    def opened(database: Database, *given: Any, **named: Any) -> None:
        plain_database(database, *given, **named)
        leftovers.owner().databases[database] = None

    app.start = start
    Database.__init__ = opened  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        Database.__init__ = plain_database  # type: ignore[method-assign]
        app.start = plain_start


def close_those_of(name: str) -> None:
    """Close the services of a database that is about to be removed."""
    for database in leftovers.living(_CLOSING):
        # that of SQLite has a folder and a suffix
        if Path(str(database.engine.url.database)).stem == name:
            _CLOSING[database]()


def _nobody() -> None:
    """Stand for a reference to what isn't there."""


def _nothing(environ: Any, start_response: Any) -> Any:
    raise AssertionError("a closed service was asked")
