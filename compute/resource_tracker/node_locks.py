"""One fair lock for each node: a node's work is done one piece after the other, in turn."""

import threading
from contextlib import AbstractContextManager

import fasteners


class NodeLocks:
    """Makes a node's lock when it is first asked for. A thread that holds it may take it again."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[str, fasteners.ReaderWriterLock] = {}

    def of(self, nodename: str) -> AbstractContextManager[None]:
        """Hold the node's lock for the length of a `with`; who waits longest is next."""
        with self._guard:
            # As a lock of writers only it is first come, first served; threading's locks are not.
            lock = self._locks.setdefault(nodename, fasteners.ReaderWriterLock())
        return lock.write_lock()
