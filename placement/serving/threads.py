"""Threads that answer requests."""

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

LOG = logging.getLogger(__name__)

#: tells a thread to end
_END = None
#: how many threads stand in at most for those whose requests wait for something
MOST_STAND_INS = 100


class Threads:
    """Threads that take connections from a queue, and answer the first request of each.

    It is what waitress calls a dispatcher. Waitress's own wakes a thread with a condition, which
    takes several system calls; the queue of the standard library takes one.
    """

    def __init__(self, count: int) -> None:
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._most = count + MOST_STAND_INS
        #: whether another thread stands in for the calling one
        self._own = threading.local()
        #: guards what follows
        self._changing = threading.Lock()
        self._has_ended = False
        self._threads: set[threading.Thread] = set()
        for number in range(count):
            self._start(f"request-{number}")

    def _start(self, name: str) -> None:
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        thread.start()
        self._threads.add(thread)

    def _work(self) -> None:
        while (connection := self._queue.get()) is not _END:
            try:
                connection.service()
            except BaseException:
                LOG.exception("Could not answer a request")
        with self._changing:
            self._threads.discard(threading.current_thread())

    def add_task(self, connection: Any) -> None:
        """Have a thread answer the connection's first request."""
        self._queue.put(connection)

    @contextlib.contextmanager
    def stand_in(self) -> Iterator[None]:
        """Have another thread answer requests meanwhile: the calling one has to wait.

        Without one more if one stands in for this thread already, if there are MOST_STAND_INS, if
        the system allows no more, or if the server ends.
        """
        if getattr(self._own, "has_stand_in", False):
            yield
            return
        has_started = self._own.has_stand_in = self._start_stand_in()
        try:
            yield
        finally:
            self._own.has_stand_in = False
            if has_started:
                # for any thread: all of them do the same
                self._queue.put(_END)

    def _start_stand_in(self) -> bool:
        with self._changing:
            if self._has_ended or len(self._threads) >= self._most:
                return False
            try:
                self._start("request-stand-in")
            except RuntimeError:
                return False
            return True

    @property
    def waiting(self) -> int:
        """About how many requests wait for a thread."""
        return self._queue.qsize()

    def shutdown(self, timeout: float) -> None:
        """Cancel the requests that wait, and end the threads.

        :param timeout: seconds to wait for threads that answer a request; they end after it
        """
        with self._changing:
            self._has_ended = True
            threads = list(self._threads)
        try:
            while True:
                waits = self._queue.get_nowait()
                if waits is not _END:
                    waits.cancel()
        except queue.Empty:
            for _ in threads:
                self._queue.put(_END)
        end = time.monotonic() + timeout
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
