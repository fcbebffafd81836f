"""When a snapshot was last compared with the tables, and who sees to it that it is again."""

import math
import random
import threading
import time
import weakref
from collections.abc import Callable
from typing import Protocol

#: after which part of the interval the next audit begins, at least and at most: workers that began
#: together shall not all audit together
_EARLIEST, _LATEST = 0.5, 0.75
#: after so many intervals without a search nobody audits any more until there is one
_QUIET = 10


class AuditTimes:
    """How old the last audit is.

    :param interval: the age in seconds from which nothing may be answered; 0: any age will do
    :param clock: seconds that never go back
    """

    def __init__(self, interval: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.interval = interval
        self._clock = clock
        self._audited = self._wanted = clock()

    def now(self) -> float:
        """The time, for `renewed`."""
        return self._clock()

    def renewed(self, begun: float) -> None:
        """All was compared or loaded, as it was when that began.

        One that took very long counts from later on: it must be of use before the next one is due.
        """
        self._audited = max(begun, self._clock() - self.interval / 2)

    def wanted(self) -> None:
        """Somebody searches."""
        self._wanted = self._clock()

    def unwanted(self) -> None:
        """Nobody will search for now."""
        self._wanted = -math.inf

    @property
    def is_overdue(self) -> bool:
        """Whether nothing may be answered before the next audit."""
        return bool(self.interval) and self._clock() - self._audited > self.interval

    @property
    def is_quiet(self) -> bool:
        """Whether nobody has searched for long."""
        return self._clock() - self._wanted > _QUIET * self.interval


class Audited(Protocol):
    """What can be audited."""

    def audit_in_background(self) -> bool:
        """Compare with the tables. Whether that shall go on; never raises."""


def watch(audited: Audited, interval: float) -> None:
    """Have something audited in time, in a thread beside the requests, while it exists."""
    ended = threading.Event()
    weakref.finalize(audited, ended.set)
    threading.Thread(
        target=_watch,
        args=(weakref.ref(audited), ended, interval),
        name="snapshot-audit",
        daemon=True,
    ).start()


def _watch(
    reference: Callable[[], Audited | None], ended: threading.Event, interval: float
) -> None:
    while not ended.wait(interval * random.uniform(_EARLIEST, _LATEST)):
        audited = reference()
        if audited is None or not audited.audit_in_background():
            return
        del audited
