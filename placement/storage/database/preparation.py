"""Work that has to be done once before a database is used."""

import threading
from collections.abc import Callable


class Preparation:
    """Work that is put off until the database is first used, and then done once.

    The work may use the database itself.
    """

    def __init__(self) -> None:
        self._work: Callable[[], object] | None = None
        self._lock = threading.RLock()
        self._is_running = False

    @property
    def is_due(self) -> bool:
        """Whether the work still has to be done."""
        return self._work is not None

    def put_off(self, work: Callable[[], object]) -> None:
        """Have `work` done by the next call of `run`."""
        self._work = work

    def run(self) -> None:
        """Do the work if it is due. Other threads wait until it is done.

        Raises what the work raises; the next call then tries again.
        """
        if self._work is None:
            return
        with self._lock:
            # The work itself uses the database, and so comes here again. The lock lets it in,
            # because the thread has the lock already.
            if self._work is None or self._is_running:
                return
            self._is_running = True
            try:
                self._work()
                self._work = None
            finally:
                self._is_running = False
