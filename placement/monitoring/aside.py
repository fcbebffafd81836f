"""Work on a thread beside the requests, awaited for a bounded time."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
LOG = logging.getLogger(__name__)


class Attempt(Generic[T]):
    """One run of the work."""

    def __init__(self, work: Callable[[], T], clock: Callable[[], float]) -> None:
        self.value: tuple[T] | None = None
        self._work, self._clock = work, clock
        self._begun = clock()
        self._done = threading.Event()
        threading.Thread(target=self._run, name="monitoring", daemon=True).start()

    @property
    def is_done(self) -> bool:
        """Whether the work ended."""
        return self._done.is_set()

    @property
    def failed(self) -> bool:
        """Whether the work ended without a value."""
        return self.is_done and self.value is None

    def wait(self, patience: float) -> None:
        """Wait until it is done, or until `patience` seconds after it began."""
        self._done.wait(max(0.0, self._begun + patience - self._clock()))

    def _run(self) -> None:
        try:
            self.value = (self._work(),)
        except Exception as error:
            # the failure's own text may quote the database's address and user
            LOG.debug("Monitoring can't ask the database: %s", error)
        finally:
            self._done.set()


class Aside(Generic[T]):
    """Does something again and again, never twice at the same time.

    :param clock: seconds that never go back
    """

    def __init__(self, work: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        self._work, self._clock = work, clock
        self._lock = threading.Lock()
        self._last: Attempt[T] | None = None
        #: the last result of all attempts
        self.latest: T | None = None

    def attempt(self, patience: float) -> Attempt[T]:
        """Do the work, or take part in an attempt that is under way; wait for a bounded time.

        All who wait for one attempt wait until `patience` seconds after it began.
        """
        with self._lock:
            attempt = self._last
            if attempt is None or attempt.is_done:
                attempt = self._last = Attempt(self._kept, self._clock)
        attempt.wait(patience)
        return attempt

    def _kept(self) -> T:
        self.latest = self._work()
        return self.latest
