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
from typing import Any

from placement.errors import LostRace

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

    def awaits(self, table: str, values: Mapping[str, Any]) -> bool:
        """Return whether somebody waits for a row of the table that these values name."""
        if not self._waits:
            return False
        with self._changing:
            names = {name for of, *own in self._waits for name in own if of == table}
        return any(
            not names.isdisjoint(some if isinstance(some, list) else [some])
            for some in values.values()
        )

    def wait(self, key: RowKey, seconds: float, in_database: Callable[[], None]) -> None:
        """Wait until a row is free. Raises StillLocked, and what `in_database` raises.

        :param seconds: how long to wait for other threads
        :param in_database: waits for the row in the database
        """
        own: Future[None] = Future()
        with self._changing:
            first = self._waits.setdefault(key, own)
        if first is not own:
            try:
                first.result(seconds)
            except TimeoutError as over:
                raise StillLocked() from over
            return
        try:
            with self.permitted(seconds):
                in_database()
        except BaseException:
            self._end(key).set_exception(StillLocked())
            raise
        self._end(key).set_result(None)

    @contextlib.contextmanager
    def permitted(self, seconds: float) -> Iterator[None]:
        """Be one of those that wait in the database. Raises StillLocked if there is no room.

        :param seconds: how long to wait for room
        """
        if not self._permits.acquire(timeout=max(seconds, 0)):
            raise StillLocked()
        try:
            yield
        finally:
            self._permits.release()

    def _end(self, key: RowKey) -> "Future[None]":
        """Return what others wait for; who comes from now on waits anew."""
        with self._changing:
            return self._waits.pop(key)
