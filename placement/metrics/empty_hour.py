"""Searches of the last hour that found nothing: as one process knows them, and of all together."""

import dataclasses
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

#: minutes that are told
MINUTES = 60
#: queries that a process remembers, and those that an answer has
MOST_KNOWN, MOST_TOLD = 20, 50
#: characters of a query and of a reason; longer queries are counted, and not remembered
LONGEST_QUERY, LONGEST_REASON = 1_000, 500


@dataclasses.dataclass
class EmptySearch:
    """A query that found nothing.

    :param minutes: minute since the epoch → how often it found nothing then
    :param reason: why, as last told; None: nobody found out
    """

    minutes: Counter[int] = dataclasses.field(default_factory=Counter)
    reason: str | None = None

    @property
    def last(self) -> int:
        """The last minute in which it found nothing."""
        return max(self.minutes, default=0)

    def add(self, other: "EmptySearch") -> None:
        """Add what another process knows of the same query."""
        if other.reason is not None and (self.reason is None or other.last > self.last):
            self.reason = other.reason
        self.minutes += other.minutes


@dataclasses.dataclass(frozen=True)
class LastHour:
    """What all processes know: how many searches, and those of them that are remembered."""

    searches: int
    queries: Sequence[tuple[str, EmptySearch]]


class EmptyHour:
    """What one process knows, as a text of bounded length that others read.

    :param clock: seconds since the epoch, which all processes share
    """

    def __init__(self, text: bytes = b"", clock: Callable[[], float] = time.time) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._all, self._queries = _read(text)
        self.is_new = False

    def found_nothing(self, query: str) -> None:
        """Take note of a search."""
        with self._lock:
            now = int(self._clock() // 60)
            if now not in self._all:
                # once a minute: it takes long
                self._forget(now)
            self._all[now] += 1
            self.is_new = True
            if len(query) > LONGEST_QUERY:
                return
            known = self._queries.pop(query, None) or EmptySearch()
            known.minutes[now] += 1
            # the last one stands last, the one that is forgotten first stands first
            self._queries[query] = known
            if len(self._queries) > MOST_KNOWN:
                del self._queries[next(iter(self._queries))]

    def explained(self, query: str, reason: str) -> None:
        """Take note of why a search found nothing."""
        with self._lock:
            known = self._queries.get(query)
            if known is not None:
                known.reason = reason[:LONGEST_REASON]
                self.is_new = True

    def text(self, longest: int) -> bytes:
        """Return all of it in at most so many bytes; what is older may be missing."""
        with self._lock:
            self._forget(int(self._clock() // 60))
            self.is_new = False
            shown = [
                [query, one.reason, list(one.minutes.items())]
                for query, one in self._queries.items()
            ]
            while True:
                text = json.dumps([list(self._all.items()), shown]).encode()
                if len(text) <= longest:
                    return text
                del shown[0]

    def _forget(self, now: int) -> None:
        for minutes in (self._all, *(one.minutes for one in self._queries.values())):
            for minute in [one for one in minutes if not is_told(one, now)]:
                del minutes[minute]
        for query in [query for query, one in self._queries.items() if not one.minutes]:
            del self._queries[query]


def is_told(minute: int, now: int) -> bool:
    """Return whether a minute is one of the last hour; the clock may have been set back."""
    return now - MINUTES < minute <= now


def last_hour(texts: Iterable[bytes], now: float) -> LastHour:
    """Return what the processes know together, whose texts these are."""
    searches, queries = 0, dict[str, EmptySearch]()
    minute = int(now // 60)
    for text in texts:
        minutes, known = _read(text)
        searches += sum(count for at, count in minutes.items() if is_told(at, minute))
        for query, one in known.items():
            one.minutes = Counter({at: n for at, n in one.minutes.items() if is_told(at, minute)})
            if one.minutes:
                queries.setdefault(query, EmptySearch()).add(one)
    ranked = sorted(queries.items(), key=lambda entry: (-entry[1].minutes.total(), entry[0]))
    return LastHour(searches, ranked[:MOST_TOLD])


def _read(text: bytes) -> tuple[Counter[int], dict[str, EmptySearch]]:
    """Return what a text says; nothing if there is none, or another version wrote it."""
    try:
        minutes, queries = json.loads(text or b"[[], []]")
        return _counted(minutes), {
            query: EmptySearch(_counted(counts), reason) for query, reason, counts in queries
        }
    except (ValueError, TypeError):
        return Counter(), {}


def _counted(pairs: list[tuple[int, int]]) -> Counter[int]:
    return Counter({int(minute): int(count) for minute, count in pairs})
