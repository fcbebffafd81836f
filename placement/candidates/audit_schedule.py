"""When a snapshot was last compared with the tables, and a thread that does it again in time."""

import math
import random
import threading
import time
import weakref
from collections.abc import Callable
from typing import Protocol

#: after which part of the interval the next audit begins, at least and at most; workers that began
#: at the same time don't all audit at the same time
_EARLIEST, _LATEST = 0.5, 0.75
#: after so many intervals without a search, audits stop until there is one
_QUIET = 10
#: seconds of a pause in an audit, and how much of an interval all pauses of one may take
_PAUSE = 0.0015
_PAUSES = 1 / 8


class AuditTimes:
    """How old the last audit is.

    :param interval: the age in seconds from which on no search may be answered; 0: no bound
    :param clock: seconds that never go back
    """

    def __init__(self, interval: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.interval = interval
        self._clock = clock
        #: when it was last known to be as the tables are
        self.audited = self._wanted = clock()

    def now(self) -> float:
        """Return the time, for `renewed`."""
        return self._clock()

    def renewed(self, begun: float) -> None:
        """Note that all was compared or loaded, as it was when that began.

        If that took longer than half an interval, it counts as half an interval old, so that
        searches can use it before the next audit is due.
        """
        self.audited = max(begun, self._clock() - self.interval / 2)

    def wanted(self) -> None:
        """Note that a search was asked for."""
        self._wanted = self._clock()

    def unwanted(self) -> None:
        """Note that no search is expected for now."""
        self._wanted = -math.inf

    @property
    def is_overdue(self) -> bool:
        """Say whether no search may be answered before the next audit."""
        return bool(self.interval) and self._clock() - self.audited > self.interval

    @property
    def is_quiet(self) -> bool:
        """Say whether there has been no search for long."""
        return self._clock() - self._wanted > _QUIET * self.interval


class Pauses:
    """The pauses of one audit beside the requests, in which other threads get through.

    :param pause: waits for so many seconds
    """

    def __init__(self, times: AuditTimes, pause: Callable[[float], None] = time.sleep) -> None:
        self._times, self._pause = times, pause
        self._left = times.interval * _PAUSES

    def rest(self) -> None:
        """Pause, unless somebody waits for the audit, or it had enough pauses."""
        times = self._times
        if self._left > 0 and not (times.is_overdue or times.is_quiet):
            self._left -= _PAUSE
            self._pause(_PAUSE)


class Audited(Protocol):
    """What can be audited."""

    def audit_in_background(self) -> bool:
        """Compare with the tables, and say whether to go on with audits. Never raises."""


def watch(audited: Audited, interval: float) -> None:
    """Audit something in time, in a thread beside the requests, as long as it exists."""
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
