"""One fair lock for each node: threads that wait for it get it in the order of their coming."""

import threading
from contextlib import AbstractContextManager

import fasteners


class NodeLocks:
    """Makes a node's lock at its first use. A thread that holds a lock may take it again."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[str, fasteners.ReaderWriterLock] = {}

    def of(self, nodename: str) -> AbstractContextManager[None]:
        """Hold the node's lock for the length of a `with`."""
        with self._guard:
            # With writers only, it is first come, first served. The locks of threading aren't.
            lock = self._locks.setdefault(nodename, fasteners.ReaderWriterLock())
        return lock.write_lock()
