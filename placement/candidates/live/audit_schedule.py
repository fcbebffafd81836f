"""When a snapshot was last compared with the tables, and a thread that does it again in time."""

import math
import random
import threading
import time
import weakref
from collections.abc import Callable
from typing import Protocol

from placement.storage.database.engine import PATIENCE

#: Begins of audits, as parts of an interval. Each is chosen at random between two bounds, so that
#: workers don't audit together.
#: the next audit begins so long after the last one began
_EARLIEST, _LATEST = 0.6, 0.75
#: the first audit of a process begins after this part of that time, or later
_FIRST = 1 / 6
#: an audit that takes long begins earlier: after such a part of the time that it leaves of an
#: interval. With an interval of 60 s and an audit of 20 s it begins after 26 to 36 s
_IN_TIME_EARLIEST, _IN_TIME_LATEST = 0.65, 0.9
#: whatever audits take, there are none for such a part of an interval between two of them
_GAP_SHORTEST, _GAP_LONGEST = 1 / 12, 1 / 7

#: How long the next audit is expected to take.
#: as a part of an interval: before the first audit, and at most
_EXPECTED, _EXPECTED_AT_MOST = 0.4, 0.5
#: as a part of what was expected before, at least: after an audit beside the requests, and after
#: one that a search waited for. One short audit doesn't mean that the next is short
_AT_LEAST, _AT_LEAST_IF_AWAITED = 0.5, 0.9

#: after so many intervals without a search, audits stop until the next search
_QUIET = 10
#: seconds of a pause in an audit at most
_PAUSE = 0.003
#: the part of an interval that all pauses of one audit may take
_PAUSES = 1 / 4
#: after this part of an interval without an audit, the audit under way makes no more pauses
_NO_MORE = 0.85


class AuditTimes:
    """When the snapshot was last audited, and when the next audit has to begin.

    :param interval: the seconds since the last audit after which no search may be answered; 0: no
        limit
    :param clock: seconds that never go back
    """

    def __init__(self, interval: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.interval = interval
        #: the time, for `renewed`
        self.now = clock
        #: when the tables were last compared or loaded
        self.audited = clock()
        #: when a search was last asked for
        self._wanted = self.audited
        #: seconds that the next audit is expected to take
        self._took = interval * _EXPECTED
        self._is_first = True

    def renewed(self, begun: float, is_beside: bool = False) -> None:
        """Note that all was compared or loaded, as it was when that began.

        If that took longer than half an interval, it counts as half an interval old. Otherwise
        searches could hardly use it before the next audit is due.

        :param begun: from `now`
        :param is_beside: whether it was an audit beside the requests. An audit that a search waits
            for makes no pauses, and so takes less time than those to come
        """
        now = self.now()
        self.audited = max(begun, now - self.interval / 2)
        self._is_first = self._is_first and not is_beside
        took = max(now - begun, self._took * (_AT_LEAST if is_beside else _AT_LEAST_IF_AWAITED))
        # for an audit of more than that, a search has to wait in any case
        self._took = min(took, self.interval * _EXPECTED_AT_MOST)

    def until_next(self) -> float:
        """Return in how many seconds to begin the next audit, so that it ends in time."""
        usual = self.interval * random.uniform(_EARLIEST, _LATEST)
        in_time = (self.interval - self._took) * random.uniform(_IN_TIME_EARLIEST, _IN_TIME_LATEST)
        gap = self.interval * random.uniform(_GAP_SHORTEST, _GAP_LONGEST)
        share = random.uniform(_FIRST, 1) if self._is_first else 1
        return max(self.audited + min(usual, in_time) * share - self.now(), gap)

    def wanted(self) -> None:
        """Note that a search was asked for."""
        self._wanted = self.now()

    def unwanted(self) -> None:
        """Note that no search is expected for now."""
        self._wanted = -math.inf

    @property
    def is_overdue(self) -> bool:
        """Say whether no search may be answered before the next audit."""
        return bool(self.interval) and self.now() - self.audited > self.interval

    @property
    def is_pressing(self) -> bool:
        """Say whether an audit that is under way has no time for pauses."""
        return self.now() - self.audited > self.interval * _NO_MORE

    @property
    def is_quiet(self) -> bool:
        """Say whether there has been no search for so long that audits stop."""
        return self.now() - self._wanted > _QUIET * self.interval


class Pauses:
    """The pauses of audits beside the requests, in which other threads run.

    All pauses of an audit have the same length. They are shorter if the audit before had many.

    :param pause: waits for so many seconds
    """

    def __init__(self, times: AuditTimes, pause: Callable[[float], None] = time.sleep) -> None:
        self._times, self._pause = times, pause
        self._count = self._expected = 0

    def begin(self) -> None:
        """Begin an audit."""
        # an audit that found a difference, or failed, ended early and had few
        self._expected, self._count = max(self._count, self._expected // 2), 0

    def rest(self) -> None:
        """Pause, unless somebody waits for the audit, or soon will, or it had enough pauses."""
        times, limit = self._times, self._times.interval * _PAUSES
        length = min(_PAUSE, limit / max(self._expected, 1))
        if self._count * length < limit and not (times.is_pressing or times.is_quiet):
            self._pause(length)
        self._count += 1


class Audited(Protocol):
    """What can be audited."""

    def until_audit(self) -> float:
        """Return in how many seconds to audit."""

    def audit_in_background(self) -> bool:
        """Compare with the tables; return whether to go on with audits. It never raises."""


def watch(audited: Audited) -> Callable[[], None]:
    """Start a thread that audits in time, beside the requests, as long as `audited` exists.

    Return a function that ends the thread and waits for it, as long as threads wait for each other.
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
        # while it waits, this thread must not be what keeps it
        del audited
