"""Threads that answer requests."""

import logging
import queue
import threading
import time
from typing import Any

LOG = logging.getLogger(__name__)

#: tells a thread to end
_END = None


class Threads:
    """Threads that take connections from a queue, and answer the first request of each.

    It is what waitress calls a dispatcher. Waitress's own wakes a thread with a condition, which
    takes several system calls; the queue of the standard library takes one.
    """

    def __init__(self, count: int) -> None:
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"request-{number}", daemon=True)
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def _work(self) -> None:
        while (connection := self._queue.get()) is not _END:
            try:
                connection.service()
            except BaseException:
                LOG.exception("Could not answer a request")

    def add_task(self, connection: Any) -> None:
        """Have a thread answer the connection's first request."""
        self._queue.put(connection)

    @property
    def waiting(self) -> int:
        """About how many requests wait for a thread."""
        return self._queue.qsize()

    def shutdown(self, timeout: float) -> None:
        """Cancel the requests that wait, and end the threads.

        :param timeout: seconds to wait for threads that answer a request; they end after it
        """
        try:
            while True:
                waits = self._queue.get_nowait()
                if waits is not _END:
                    waits.cancel()
        except queue.Empty:
            for _ in self._threads:
                self._queue.put(_END)
        end = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
