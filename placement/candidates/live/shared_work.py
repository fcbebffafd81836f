"""Work that one thread does for all threads that wait for it."""

import dataclasses
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from placement.errors import DatabaseUnavailable
from placement.storage.database.engine import PATIENCE

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class _Outcome(Generic[T]):
    """How the work ended.

    :param number: counts from 1; later work has a higher number
    :param value: the result, in a tuple; None if it failed
    :param away: whether it failed because the database couldn't be reached
    """

    number: int
    value: tuple[T] | None = None
    away: bool = False


class SharedWork(Generic[T]):
    """Does something once for all threads that asked before it began.

    What began before a thread asked may have missed what that thread has to see. So the thread
    waits until that is over, and then does the work itself or shares it with others that waited.

    An outage is shared, too: when the working thread can't reach the database, all waiting threads
    get DatabaseUnavailable at once. They don't try one after the other.

    :param patience: seconds that a thread waits at most
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._changed = threading.Condition()
        self._begun = 0
        self._running = False
        self._last: _Outcome[T] = _Outcome(0)

    def outcome(self, work: Callable[[], T], may_have_begun: bool = False) -> T:
        """Do the work, or wait for the result of another thread.

        Raises what the work raises, and DatabaseUnavailable after too long a wait.

        :param may_have_begun: whether work that began before this call will do
        """
        with self._changed:
            # works are numbered: the results from `wanted` on will do
            under_way = self._begun
            wanted = under_way if may_have_begun and self._running else under_way + 1
            end = time.monotonic() + self._patience
            while self._running:
                if not self._changed.wait(end - time.monotonic()):
                    raise DatabaseUnavailable()
                last = self._last
                if last.away and last.number >= under_way:
                    raise DatabaseUnavailable()
                if last.value is not None and last.number >= wanted:
                    return last.value[0]
            self._running = True
            self._begun += 1
        return self._do(work)

    def wait_until_done(self) -> bool:
        """Wait for work that is under way, as long as other threads would; say whether it ended."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, self._patience)

    def _do(self, work: Callable[[], T]) -> T:
        outcome: _Outcome[T] = _Outcome(self._begun)
        try:
            value = work()
            outcome = _Outcome(self._begun, (value,))
        except DatabaseUnavailable:
            outcome = _Outcome(self._begun, away=True)
            raise
        finally:
            with self._changed:
                self._running, self._last = False, outcome
                self._changed.notify_all()
        return value
