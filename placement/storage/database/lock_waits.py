"""How writes of one process wait for rows that others have locked.

A write that waits for a row may hold other rows by then, and who needs these waits as long. So a
statement waits for a moment only (`SHORT_WAIT` of PostgreSQL's and of MySQL's sessions). Then the
transaction is rolled back, and the write waits for that row alone, as long as it may: it holds no
lock meanwhile. When the row is free, the transaction runs again from its start. If others were
faster twice, the transaction itself waits in line, so that it gets its turn.

One thread of the process waits for a row in the database, for all writes that wait for it. Who
waits for that thread holds no connection. A write that comes meanwhile joins them without trying.
At most half of the connections wait. While they do, the threads of further rows look from time to
time whether these are free.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import Pool, QueuePool

from placement.errors import LostRace
from placement.storage.database.compiled import Awaited
from placement.storage.driver.dialects import LONGEST_LOCK
from placement.storage.driver.failures import CANCELED, LOCK_TIMEOUT, failure_of

#: opens a `Connection` that waits for locks as long as it may, and is rolled back
Looking = Callable[[], AbstractContextManager[Any]]
#: a row: the table's name, the row's id, and its name
RowKey = tuple[str, int, str]
#: seconds between two looks whether a row is free that no connection waits for
LOOK_EVERY = 1.0
#: SQLAlchemy's default for `max_overflow`
_OVERFLOW = 10
#: how many connections of an unbounded pool may wait
_MOST_WAITING = 50


class StillLocked(LostRace):
    """A row stayed locked for as long as a write waits for it, or others wait for it already."""


def most_waiting(pool: Pool, overflow: int | None) -> int:
    """Return how many connections of a pool may wait, so that other requests find some.

    :param overflow: how many more than its size the pool opens; negative: any number
    """
    if not isinstance(pool, QueuePool):
        return 0
    overflow = _OVERFLOW if overflow is None else overflow
    is_bounded = pool.size() > 0 and overflow >= 0
    return (pool.size() + overflow) // 2 if is_bounded else _MOST_WAITING


class LockWaits:
    """Who waits in this process.

    :param most: how many rows are waited for at once; 0: who waits looks from time to time
    """

    def __init__(self, most: int) -> None:
        self._permits = threading.BoundedSemaphore(max(most, 1))
        self._alone = self._permits if most else threading.Semaphore(0)
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
        locked = _locked(awaited, looking)
        if locked:
            self._wait_for(locked[0], awaited, looking)
        return bool(locked)

    def _wait_for(self, key: RowKey, awaited: Awaited, looking: Looking) -> None:
        """Wait until a row is free, or for the thread that does so already."""
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
            self._wait_alone(key, awaited, looking)
        except BaseException as error:
            self._end(key).set_exception(StillLocked())
            # what a limit for statements stops waited for nothing but the row
            if isinstance(error, DBAPIError) and failure_of(error) in (LOCK_TIMEOUT, CANCELED):
                raise StillLocked() from error
            raise
        self._end(key).set_result(None)

    def _wait_alone(self, key: RowKey, awaited: Awaited, looking: Looking) -> None:
        """Wait for a row in the database as soon as there is room. Raises StillLocked."""
        end = time.monotonic() + LONGEST_LOCK
        while not self._alone.acquire(timeout=LOOK_EVERY):
            if key not in _locked(awaited, looking):
                return
            if time.monotonic() >= end:
                raise StillLocked()
        try:
            with looking() as connection:
                connection.execute(awaited.lock.one, {"id": key[1]})
        finally:
            self._alone.release()

    @contextlib.contextmanager
    def in_line(self) -> Iterator[bool]:
        """Be one of those that wait in the database; yield whether there is room for that."""
        is_room = self._permits.acquire(timeout=LOOK_EVERY)
        try:
            yield is_room
        finally:
            if is_room:
                self._permits.release()

    def _end(self, key: RowKey) -> "Future[None]":
        """Return what others wait for; who comes from now on waits anew."""
        with self._changing:
            return self._waits.pop(key)


def _locked(awaited: Awaited, looking: Looking) -> list[RowKey]:
    """Return the rows that others have locked, in the order of their ids."""
    lock, values = awaited.lock, awaited.values
    with looking() as connection:
        seen, free = connection.execute_all((lock.seen, values), (lock.free, values))
    return [(lock.table, row_id, name) for row_id, name in sorted(set(seen) - set(free))]
