"""Does work on a thread of its own, for which requests wait for a bounded time.

A database that doesn't answer may hold up the work for minutes. A request then stops waiting. The
work goes on, and requests that come meanwhile wait for the same attempt.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from placement.errors import PlacementError
from placement.storage.driver.error_log import log_unexpected

T = TypeVar("T")
LOG = logging.getLogger(__name__)


class Attempt(Generic[T]):
    """One run of the work.

    :param ended: is called on its thread at the end
    :ivar value: what the work returned, as a tuple of one; None: nothing yet, or it failed
    """

    def __init__(
        self, work: Callable[[], T], clock: Callable[[], float], ended: Callable[[], None]
    ) -> None:
        self.value: tuple[T] | None = None
        self._work, self._clock, self._ended = work, clock, ended
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
        except PlacementError as error:
            LOG.debug("Monitoring can't ask the database: %s", error)
        except Exception as error:
            log_unexpected(LOG, "Monitoring failed", error)
        finally:
            self._ended()
            self._done.set()


class Aside(Generic[T]):
    """Does something whenever it is asked for, never twice at the same time.

    Only those who wait for an attempt keep what it returned, which may be large.

    :param clock: seconds that never go back
    """

    def __init__(self, work: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        self._work, self._clock = work, clock
        self._lock = threading.Lock()
        self._running: Attempt[T] | None = None

    def attempt(self, patience: float) -> Attempt[T]:
        """Begin an attempt unless one is under way; wait until it ends, for a bounded time.

        The time ends `patience` seconds after the attempt began, also for those who come later.
        """
        with self._lock:
            if self._running is None:
                self._running = Attempt(self._work, self._clock, self._end)
            attempt = self._running
        attempt.wait(patience)
        return attempt

    def _end(self) -> None:
        with self._lock:
            self._running = None
