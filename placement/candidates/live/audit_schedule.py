"""When a snapshot was last compared with the tables, and a thread that does it again in time."""

import math
import random
import threading
import time
import weakref
from collections.abc import Callable
from typing import Protocol

from placement.storage.database.engine import PATIENCE

#: the next audit begins so much of an interval after the last one began, at least and at most
_EARLIEST, _LATEST = 0.6, 0.75
#: the first one begins after this part of that, at least: workers that began at the same time don't
#: all audit at the same time
_FIRST = 1 / 6
#: where audits take long, it begins after this part of what they leave of an interval, so that it
#: ends in time; and in any case after this part of an interval without an audit
_EARLIER, _AT_LATEST = 0.65, 0.9
_LEAST, _LEAST_AT_MOST = 1 / 12, 1 / 7
#: which part of an interval an audit is expected to take before there was one, and at most; and
#: how long the next one is expected to take at least, as a part of what was expected of the last:
#: after one beside the requests, and after one that a search waited for
_EXPECTED, _EXPECTED_AT_MOST = 0.4, 0.5
_AS_LONG, _AS_LONG_AS_AWAITED = 0.5, 0.9
#: after so many intervals without a search, audits stop until there is one
_QUIET = 10
#: seconds of a pause in an audit at most, how much of an interval all pauses of one may take, and
#: after how much of an interval without an audit there are none
_PAUSE = 0.003
_PAUSES = 1 / 4
_NO_MORE = 0.85


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
        #: seconds that the next audit is expected to take
        self._took = interval * _EXPECTED
        self._is_first = True

    def now(self) -> float:
        """Return the time, for `renewed`."""
        return self._clock()

    def renewed(self, begun: float, is_beside: bool = False) -> None:
        """Note that all was compared or loaded, as it was when that began.

        If that took longer than half an interval, it counts as half an interval old, so that
        searches can use it before the next audit is due.

        :param is_beside: whether it was an audit beside the requests. What a search waits for takes
            less than those to come
        """
        now = self._clock()
        self.audited = max(begun, now - self.interval / 2)
        self._is_first = self._is_first and not is_beside
        took = max(now - begun, self._took * (_AS_LONG if is_beside else _AS_LONG_AS_AWAITED))
        # if one is longer, a search waits for the next one in any case
        self._took = min(took, self.interval * _EXPECTED_AT_MOST)

    def until_next(self) -> float:
        """Return in how many seconds to begin the next audit, so that it ends in time."""
        usual = self.interval * random.uniform(_EARLIEST, _LATEST)
        in_time = (self.interval - self._took) * random.uniform(_EARLIER, _AT_LATEST)
        least = self.interval * random.uniform(_LEAST, _LEAST_AT_MOST)
        share = random.uniform(_FIRST, 1) if self._is_first else 1
        return max(self.audited + min(usual, in_time) * share - self._clock(), least)

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
    def is_pressing(self) -> bool:
        """Say whether an audit that is under way has no time for pauses."""
        return self._clock() - self.audited > self.interval * _NO_MORE

    @property
    def is_quiet(self) -> bool:
        """Say whether there has been no search for long."""
        return self._clock() - self._wanted > _QUIET * self.interval


class Pauses:
    """The pauses of audits beside the requests, in which other threads get through.

    They are the shorter, the more of them the audit before had: all of an audit are alike.

    :param pause: waits for so many seconds
    """

    def __init__(self, times: AuditTimes, pause: Callable[[float], None] = time.sleep) -> None:
        self._times, self._pause = times, pause
        self._count = self._expected = 0

    def begin(self) -> None:
        """Begin an audit."""
        # one that found a difference, or failed, ended early
        self._expected, self._count = max(self._count, self._expected // 2), 0

    def rest(self) -> None:
        """Pause, unless somebody waits for the audit, or soon will, or it had enough pauses."""
        times, all_of_them = self._times, self._times.interval * _PAUSES
        length = min(_PAUSE, all_of_them / max(self._expected, 1))
        if self._count * length < all_of_them and not (times.is_pressing or times.is_quiet):
            self._pause(length)
        self._count += 1


class Audited(Protocol):
    """What can be audited."""

    def until_audit(self) -> float:
        """Return in how many seconds to audit."""

    def audit_in_background(self) -> bool:
        """Compare with the tables, and say whether to go on with audits. Never raises."""


def watch(audited: Audited) -> Callable[[], None]:
    """Audit something in time, in a thread beside the requests, as long as it exists.

    Return what ends the thread, and waits for it, as long as threads wait for each other's work.
    """
    ended = threading.Event()
    weakref.finalize(audited, ended.set)
    thread = threading.Thread(
        target=_watch,
        args=(weakref.ref(audited), ended, audited.until_audit()),
        name="snapshot-audit",
        daemon=True,
    )
    thread.start()

    def end() -> None:
        ended.set()
        thread.join(PATIENCE)

    return end


def _watch(reference: Callable[[], Audited | None], ended: threading.Event, wait: float) -> None:
    while not ended.wait(wait):
        audited = reference()
        if audited is None or not audited.audit_in_background():
            return
        wait = audited.until_audit()
        del audited
