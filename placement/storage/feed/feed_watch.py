"""Wait for changes: one thread reads the change feed for all requests of a process that wait."""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator

from placement.errors import PlacementError, TooManyWaits
from placement.storage.database.engine import PATIENCE, Database
from placement.storage.driver.error_log import log_unexpected
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import Cursor

LOG = logging.getLogger(__name__)
#: seconds between two questions to the database, and between two checks whether a wait has to end
INTERVAL = 0.2
#: a lock while a child process makes locks of its own
_BEGINNING = threading.Lock()


class FeedWatch:
    """The requests of this process that wait for changes.

    While there are any, a thread asks the database, INTERVAL seconds after its last answer, whether
    there is news for one of them. That is one small statement for each cursor that they wait at.
    Usually they all wait at the same cursor, the newest.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._begin_in_process()

    def _begin_in_process(self) -> None:
        """Begin with no waits: a child process has none of its parent's threads."""
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._waits: dict[_Wait, None] = {}
        self._is_asking = False
        self._thread: threading.Thread | None = None

    @property
    def count(self) -> int:
        """How many requests wait now."""
        return len(self._waits)

    def wait(self, cursor: Cursor, seconds: float, most: int, is_over: Callable[[], bool]) -> bool:
        """Wait until there is news after the cursor; return whether there is.

        Return False if there is none after so many seconds. An outage of the database counts as
        news: the request then asks the database and meets it itself. Raises TooManyWaits if `most`
        requests wait already.

        :param is_over: whether to end the wait, because nobody waits for the answer any more
        """
        with _BEGINNING:
            if os.getpid() != self._process:
                self._begin_in_process()
        end = time.monotonic() + seconds
        with self._place(cursor, most) as wait:
            while not (wait.has_news or wait.is_ended or is_over()):
                left = end - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(min(left, INTERVAL))
            return wait.has_news

    @contextlib.contextmanager
    def _place(self, cursor: Cursor, most: int) -> Iterator["_Wait"]:
        """Count as a request that waits, while the block runs. The block has the lock."""
        wait = _Wait(cursor)
        with self._changed:
            if len(self._waits) >= most:
                raise TooManyWaits()
            if not self._is_asking:
                # if the process may have no more threads, this fails, and the next wait tries again
                thread = threading.Thread(target=self._ask, name="change-feed", daemon=True)
                thread.start()
                self._is_asking, self._thread = True, thread
            self._waits[wait] = None
            try:
                yield wait
            finally:
                del self._waits[wait]

    def close(self) -> None:
        """End all waits and the thread; a later wait starts another one."""
        self.end_waits()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def end_waits(self) -> None:
        """End all waits now."""
        with self._changed:
            for wait in self._waits:
                wait.is_ended = True
            self._changed.notify_all()

    def _ask(self) -> None:
        while True:
            time.sleep(INTERVAL)
            with self._changed:
                waits = list(self._waits)
                if not waits:
                    self._is_asking = False
                    return
            cursors = {wait.cursor.totals: wait.cursor for wait in waits}
            moved = {totals for totals, cursor in cursors.items() if self._has_news(cursor)}
            with self._changed:
                for wait in waits:
                    wait.has_news = wait.has_news or wait.cursor.totals in moved
                self._changed.notify_all()

    def _has_news(self, cursor: Cursor) -> bool:
        try:
            return change_feed.has_news(self._database, cursor)
        except PlacementError as error:
            LOG.debug("Can't look for changes: %s", error)
        except Exception as error:
            log_unexpected(LOG, "The look for changes failed", error)
        return True


class _Wait:
    """One request that waits."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.has_news = False
        self.is_ended = False
