"""Several connections to one database, each as another process has it."""

import contextlib
from collections.abc import Callable, Iterator

from placement.storage.database.engine import Database, DatabaseSettings


@contextlib.contextmanager
def connections(url: str) -> Iterator[Callable[[], Database]]:
    """Yield a function that makes separate database objects; at the end, close them all."""
    with contextlib.ExitStack() as stack:

        def opened() -> Database:
            database = Database(DatabaseSettings(url, sqlite_synchronous=False))
            return stack.enter_context(contextlib.closing(database))

        yield opened
