"""How writes of one process wait for rows that others have locked.

A write that waits for a row may hold other rows by then, and who needs these waits as long. So a
statement waits for a moment only (`SHORT_WAIT` of PostgreSQL's and of MySQL's sessions). Then the
transaction is rolled back, and the write waits for that row alone, as long as it may: it holds no
lock meanwhile. When the row is free, the transaction runs again from its start. If others were
faster twice, the transaction itself waits in line, so that it gets its turn.

One thread of the process waits for a row in the database, for all writes that wait for it. Who
waits for that thread holds no connection. A write that comes meanwhile joins them without trying.
At most half of the connections wait.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy.exc import DBAPIError

from placement.errors import LostRace
from placement.storage.database.compiled import Awaited, RowLock
from placement.storage.driver.dialects import LONGEST_LOCK
from placement.storage.driver.failures import CANCELED, LOCK_TIMEOUT, failure_of

#: opens a `Connection` that waits for locks as long as it may, and is rolled back
Looking = Callable[[], AbstractContextManager[Any]]
#: a row: the table's name, the row's id, and its name
RowKey = tuple[str, int, str]


class StillLocked(LostRace):
    """A row stayed locked for as long as a write waits for it, or others wait for it already."""


class LockWaits:
    """Who waits in this process.

    :param most: how many rows are waited for at once
    """

    def __init__(self, most: int) -> None:
        self._permits = threading.BoundedSemaphore(most)
        self._changing = threading.Lock()
        self._waits: dict[RowKey, Future[None]] = {}

    def awaits(self, table: str, values: Mapping[str, object]) -> bool:
        """Return whether somebody waits for a row of the table that these values name."""
        if not self._waits:
            return False
        with self._changing:
            names = {name for of, *own in self._waits for name in own if of == table}
        return any(
            not names.isdisjoint(some if isinstance(some, list) else [some])
            for some in values.values()
        )

    def wait(self, awaited: Awaited, looking: Looking) -> bool:
        """Wait for one of the rows that others have locked; return whether there was one.

        Raises StillLocked, and what statements raise.
        """
        lock, values = awaited.lock, awaited.values
        with looking() as connection:
            seen, free = connection.execute_all((lock.seen, values), (lock.free, values))
        locked = sorted(set(seen) - set(free))
        if locked:
            row_id, name = locked[0]
            self._wait_for((lock.table, row_id, name), lock, looking)
        return bool(locked)

    def _wait_for(self, key: RowKey, lock: RowLock, looking: Looking) -> None:
        """Wait for a row in the database, or for the thread that does so already."""
        own: Future[None] = Future()
        with self._changing:
            first = self._waits.setdefault(key, own)
        if first is not own:
            try:
                first.result(LONGEST_LOCK)
            except TimeoutError as over:
                raise StillLocked() from over
            return
        try:
            with self.permitted(), looking() as connection:
                connection.execute(lock.one, {"id": key[1]})
        except BaseException as error:
            self._end(key).set_exception(StillLocked())
            # what a limit for statements stops waited for nothing but the row
            if isinstance(error, DBAPIError) and failure_of(error) in (LOCK_TIMEOUT, CANCELED):
                raise StillLocked() from error
            raise
        self._end(key).set_result(None)

    @contextlib.contextmanager
    def permitted(self) -> Iterator[None]:
        """Be one of those that wait in the database. Raises StillLocked if there is no room."""
        if not self._permits.acquire(timeout=LONGEST_LOCK):
            raise StillLocked()
        try:
            yield
        finally:
            self._permits.release()

    def _end(self, key: RowKey) -> "Future[None]":
        """Return what others wait for; who comes from now on waits anew."""
        with self._changing:
            return self._waits.pop(key)
