"""What one process counts.

Counting costs about a microsecond for each request, because the place of every number is known.
"""

import logging
import mmap
import os
import threading
import weakref
from bisect import bisect_left
from collections.abc import Callable
from typing import Protocol

from placement.metrics.empty_hour import EmptyHour
from placement.metrics.families import (
    IDLE,
    IN_USE,
    METHODS,
    OTHER,
    REQUEST_BUCKETS,
    RETURNED_BUCKETS,
    SEARCH_BUCKETS,
    UNMATCHED,
    Family,
)
from placement.metrics.layout import SeriesLayout
from placement.metrics.slots import LONGEST_TEXT, Cells, NoSlot, Slot, Slots
from placement.metrics.tally import Tally

#: a client may send any other method
_METHODS = frozenset(METHODS)

LOG = logging.getLogger(__name__)

#: MADV_WIPEONFORK of Linux: a child process finds zeros in this memory
_WIPE_ON_FORK = 18


class SharedMark(Protocol):
    """`mark[0]` is true in the process that made it, and false in those that it forks."""

    def __getitem__(self, index: int, /) -> int: ...


class ProcessId:
    """A mark that asks the system each time."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def __getitem__(self, index: int, /) -> int:
        return os.getpid() == self._process


def fork_mark() -> SharedMark:
    """Make a mark. Servers may fork without telling Python, so hooks of `os` aren't enough."""
    page = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        page.madvise(_WIPE_ON_FORK)
    except OSError:
        return ProcessId()
    page[0] = 1
    return page


class Meter(Tally):
    """Counts into a slot of this process; a child process takes a slot at its first request.

    If no slot is left, or the memory can't be opened, it counts for itself, and nobody sees it.
    """

    def __init__(self, layout: SeriesLayout, slots: Slots) -> None:
        self.layout = layout
        self._slots = slots
        self._lock, self._beginning = threading.Lock(), threading.Lock()
        self._slot: Slot | None = None
        families = layout.families
        self._in_progress = layout.at(families.requests_in_progress)
        self._statements = layout.at(families.statements)
        self._in_use = layout.at(families.connections, IN_USE)
        self._idle = layout.at(families.connections, IDLE)
        search, returned = layout.at(families.search_seconds), layout.at(families.returned)
        #: places of a search's numbers: the histogram of seconds and their sum, and the same of the
        #: candidates found
        self._of_search = (
            *(search, search + len(SEARCH_BUCKETS) + 1),
            *(returned, returned + len(RETURNED_BUCKETS) + 1),
        )
        self._refresh = layout.at(families.refresh_seconds)
        self._providers = layout.at(families.snapshot_providers)
        self._bytes = layout.at(families.snapshot_bytes)
        #: places of a request's numbers, by (method, route, status)
        self._places: dict[tuple[str, str | None, str], tuple[int, int, int]] = {}
        #: places of numbers, by (family, value)
        self._known: dict[tuple[str, str], int] = {}
        self._connections: Callable[[], tuple[int, int]] | None = None
        #: an item for each request that is being answered: a list, as appending needs no lock
        self._answering: list[None] = []
        #: false until the first request of the process
        self._mark: SharedMark = (0,)
        self._end_looks: Callable[[], object] = lambda: None
        self._cells: Cells
        #: which searches found nothing in this process
        self.empty_hour: EmptyHour
        self.begin_in_process()

    def begin_in_process(self) -> None:
        """Take a slot, in a process that has none."""
        self._lock = threading.Lock()
        self._cells = [0.0] * self.layout.width
        self._slot = None
        try:
            self._slot = self._slots.claim()
            self._cells = self._slot.cells
        except (NoSlot, OSError) as error:
            LOG.warning("What this process does isn't in the metrics: %s", error)
        # a process goes on with what the one before it knew, as it does with the numbers
        self.empty_hour = EmptyHour(b"" if self._slot is None else self._slot.text)
        for at in self.layout.of_gauges():
            self._cells[at] = 0.0
        # the list has the requests that the parent process answers
        self._answering = []
        self._process = os.getpid()

    @property
    def slot(self) -> Slot | None:
        """The slot of this process; None: there was none left."""
        return self._slot

    def close(self) -> None:
        """End the thread, and leave the slot to another process; nobody sees what comes later."""
        with self._beginning:
            self._end_looks()
            # as if the process had begun: so no later request starts the thread or takes a slot
            self._mark = (1,)
        with self._lock:
            self._cells = [0.0] * self.layout.width
            self._write()
            if self._slot is not None:
                self._slot.release()
                self._slot = None

    def began(self) -> None:
        """Count a request that is being answered from now on."""
        if not self._mark[0]:
            self._begin_answering()
        self._answering.append(None)

    def _begin_answering(self) -> None:
        """Get ready at the first request of a process.

        A server may fork after the application was made, without telling Python. So the thread is
        started no sooner: a child process would inherit the locks that the thread holds, but not
        the thread that releases them.
        """
        with self._beginning:
            if self._mark[0]:
                return
            if os.getpid() != self._process:
                self.begin_in_process()
            self._end_looks = look_each_second(self)
            self._mark = fork_mark()

    def answered(
        self,
        method: str,
        route: str | None,
        status: str,
        seconds: float,
        statements: int,
        search: tuple[float, int, str | None] | None,
        conflict: str | None,
    ) -> None:
        """Count a request that was answered.

        :param route: the template of its endpoint's path; None: no endpoint answered
        :param status: begins with three digits; how it goes on is up to the service alone
        :param statements: how many SQL statements it sent
        :param search: of a search for candidates: seconds, how many were found, and why none
        :param conflict: the code of the error, if the status is 409
        """
        places = self._places.get((method, route, status))
        if places is None:
            places = self._places_of(method, route, status)
        total, bucket, total_seconds = places
        # most requests belong to the first bucket, and a search for it would double the cost
        if seconds > REQUEST_BUCKETS[0]:
            bucket += bisect_left(REQUEST_BUCKETS, seconds)
        answering = self._answering
        with self._lock:
            # read under the lock: `close` replaces it, and the slot then belongs to another process
            cells = self._cells
            # the list is empty if a request forked this process: the parent has its item
            if answering:
                answering.pop()
            cells[total] += 1
            cells[bucket] += 1
            cells[total_seconds] += seconds
            if statements:
                cells[self._statements] += statements
            if search is not None:
                took, count, reason = search
                slow, slow_sum, returned, returned_sum = self._of_search
                cells[slow + bisect_left(SEARCH_BUCKETS, took)] += 1
                cells[slow_sum] += took
                cells[returned + bisect_left(RETURNED_BUCKETS, count)] += 1
                cells[returned_sum] += count
                if reason is not None:
                    cells[self._place(self.layout.families.empty, reason)] += 1
        if conflict is not None:
            self._count(self.layout.families.conflicts, conflict)

    def _places_of(self, method: str, route: str | None, status: str) -> tuple[int, int, int]:
        families = self.layout.families
        known = method if method in _METHODS else OTHER
        total = self.layout.at(families.requests, known, route or UNMATCHED, status[:3])
        histogram = self.layout.at(families.request_seconds, known, route or UNMATCHED)
        places = total, histogram, histogram + len(REQUEST_BUCKETS) + 1
        # a client may invent ever new methods, so the places of these aren't remembered
        if known is method:
            self._places[method, route, status] = places
        return places

    def statements(self, count: int) -> None:
        """Count SQL statements that no request sends."""
        with self._lock:
            self._cells[self._statements] += count

    def retried(self, cause: str) -> None:
        """Count a transaction that is run again."""
        self._count(self.layout.families.retries, cause)

    def observe(self, connections: Callable[[], tuple[int, int]]) -> None:
        """Show from now on how many connections to the database are in use, and how many idle.

        They are looked at each second, and for each page of metrics, as are the requests that are
        being answered: to count them as they come would cost each request some microseconds.
        """
        self._connections = connections

    def look(self) -> None:
        """Store how many requests are being answered now, and how many connections there are.

        Also what others read as a text: to write it for each search would cost much.
        """
        connections = None if self._connections is None else self._connections()
        with self._lock:
            self._cells[self._in_progress] = len(self._answering)
            if connections is not None:
                self._cells[self._in_use], self._cells[self._idle] = connections
            self._write()

    def _write(self) -> None:
        if self._slot is not None and self.empty_hour.is_new:
            self._slot.write(self.empty_hour.text(LONGEST_TEXT))

    def loaded(self, cause: str) -> None:
        """Count a snapshot that was loaded as a whole."""
        self._count(self.layout.families.snapshot_loads, cause.replace(" ", "_"))

    def refreshed(self, seconds: float, providers: int, size: int | None) -> None:
        """Count a snapshot that was loaded or brought up to date.

        :param size: bytes that it takes; None: about as many as before
        """
        refresh = self._refresh
        slow = refresh + bisect_left(SEARCH_BUCKETS, seconds)
        with self._lock:
            cells = self._cells
            if size is not None:
                cells[self._bytes] = float(size)
            cells[slow] += 1
            cells[refresh + len(SEARCH_BUCKETS) + 1] += seconds
            cells[self._providers] = float(providers)

    def audited(self, result: str) -> None:
        """Count a comparison of a snapshot with the tables."""
        self._count(self.layout.families.audits, result)

    def _place(self, family: Family, value: str) -> int:
        key = (family.name, value)
        at = self._known.get(key)
        if at is None:
            at = self._known[key] = self.layout.at(family, value)
        return at

    def _count(self, family: Family, value: str) -> None:
        at = self._place(family, value)
        with self._lock:
            self._cells[at] += 1


def look_each_second(meter: Meter) -> Callable[[], object]:
    """Have a meter look at what it can't count, in a thread, as long as the meter exists.

    Returns what ends the thread sooner.
    """
    ended = threading.Event()
    end = weakref.finalize(meter, ended.set)
    threading.Thread(
        target=_look, args=(weakref.ref(meter), ended), name="metrics-look", daemon=True
    ).start()
    return end


def _look(reference: Callable[[], Meter | None], ended: threading.Event) -> None:
    while not ended.wait(1):
        meter = reference()
        if meter is None:
            return
        meter.look()
        del meter
