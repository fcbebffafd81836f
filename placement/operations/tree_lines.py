"""Lines before trees that another writer has locked.

A claim that waits for a lock in the database holds a connection meanwhile. So of the claims of one
process only one waits there for a tree. The others wait for their turn here, without a connection,
and the rest of the pool stays free for requests that concern other trees.
"""

import contextlib
import threading
from collections.abc import Iterator

from placement.errors import ClaimUnfinished


class TreeLines:
    """The lines of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: by the root's uuid: who has its turn holds the lock; and how many have it or wait
        self._lines: dict[str, tuple[threading.Lock, int]] = {}

    @contextlib.contextmanager
    def turn(self, root: str, seconds: float) -> Iterator[None]:
        """Wait for the turn, and hold it meanwhile. Raise ClaimUnfinished after so many seconds."""
        with self._lock:
            line, count = self._lines.get(root, (threading.Lock(), 0))
            self._lines[root] = line, count + 1
        try:
            if not line.acquire(timeout=max(seconds, 0)):
                raise ClaimUnfinished()
            try:
                yield
            finally:
                line.release()
        finally:
            with self._lock:
                line, count = self._lines.pop(root)
                if count > 1:
                    self._lines[root] = line, count - 1

    def __len__(self) -> int:
        """Return how many claims wait or have their turn."""
        with self._lock:
            return sum(count for _, count in self._lines.values())
