"""Logs why searches found nothing (extensions.md 5).

Nova sends its own request id, so that its "No valid host was found" leads to a line with a reason.
"""

import collections
import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from sqlalchemy.exc import SQLAlchemyError

from placement.errors import PlacementError
from placement.http.call import Call

if TYPE_CHECKING:
    # a process without searches doesn't import these
    from placement.candidates.cloud.snapshot import Snapshot
    from placement.candidates.request import CandidateRequest

LOG = logging.getLogger("placement.explain")

#: seconds after which the same message is logged again
QUIET = 60.0
#: characters of a query that the log shows
_LONGEST_SHOWN = 2_000
#: messages that are remembered
_MOST_KNOWN = 500
#: the share of a worker's time that explanations may take, and how many seconds it may save up
_SHARE, _SAVED = 0.1, 1.0
#: in clouds of so many trees it costs little to find out which moves would help
_FEW_TREES = 64


class EmptySearchMemory(Protocol):
    """Remembers which searches found nothing."""

    def found_nothing(self, query: str) -> None:
        """Take note of a search."""

    def explained(self, query: str, reason: str) -> None:
        """Take note of why it found nothing."""


class SilentLog:
    """Logs nothing of empty searches: for a service whose log nobody reads."""

    def tell(self, *search: object) -> None:
        """Do nothing."""


class EmptySearches:
    """Logs the reasons of one process's empty searches.

    The same message is logged once a minute, with a count. Explanations take at most a tenth of the
    time: each second saves up a tenth of a second for them, and one is only begun while something
    is saved up. The next line says how many searches weren't explained.

    :param clock: seconds that never go back
    :param memory: returns what remembers searches for others to read; None: nobody does
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        memory: Callable[[], EmptySearchMemory | None] = lambda: None,
    ) -> None:
        self._clock, self._memory = clock, memory
        self._lock = threading.Lock()
        self._saved, self._saved_at = _SAVED, clock()
        #: by message: when it was logged last, and how often it came since then
        self._known: collections.OrderedDict[str, tuple[float, int]] = collections.OrderedDict()
        self._skipped = 0

    def tell(self, call: Call, snapshot: "Snapshot", request: "CandidateRequest") -> None:
        """Log that a search found nothing, and why; remember it."""
        query = call.environ.get("QUERY_STRING", "")
        memory = self._memory()
        if memory is not None:
            memory.found_nothing(query)

        def why() -> str:
            reason = _reason(call, snapshot, request)
            if memory is not None:
                memory.explained(query, reason)
            return reason

        context = call.context
        self.log(context.request_id, context.global_request_id, query[:_LONGEST_SHOWN], why)

    def log(
        self,
        request_id: str,
        global_request_id: str | None,
        query: str,
        message: Callable[[], str],
    ) -> None:
        """Log one empty search.

        :param query: as the client sent it, without control characters
        :param message: returns the reason; called only if it may be logged
        """
        if not LOG.isEnabledFor(logging.INFO) or not self._may_explain():
            return
        begun = self._clock()
        try:
            reason = message()
        # whatever goes wrong here, the search itself has its answer
        except Exception as error:
            LOG.debug("An empty search can't be explained", exc_info=True)
            reason = f"the reason can't be told ({type(error).__name__})"
        finally:
            self._pay(self._clock() - begun)
        line = self._line(reason)
        if line is not None:
            LOG.info(
                "[%s %s] No allocation candidates for %s: %s%s",
                request_id,
                global_request_id or "-",
                query,
                reason,
                line,
            )

    def _may_explain(self) -> bool:
        with self._lock:
            now = self._clock()
            self._saved = min(_SAVED, self._saved + (now - self._saved_at) * _SHARE)
            self._saved_at = now
            if self._saved <= 0:
                self._skipped += 1
                return False
            return True

    def _pay(self, seconds: float) -> None:
        with self._lock:
            self._saved -= seconds

    def _line(self, reason: str) -> str | None:
        """Return what to add to the line; None: the message isn't logged again yet."""
        with self._lock:
            now = self._clock()
            logged, count = self._known.pop(reason, (None, 0))
            if logged is not None and now - logged < QUIET:
                self._known[reason] = logged, count + 1
                return None
            self._known[reason] = now, 0
            if len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
            skipped, self._skipped = self._skipped, 0
        notes = [f"{count} more since the last line"] if count else []
        notes += [f"{skipped} other searches not explained"] if skipped else []
        return f" ({', '.join(notes)})" if notes else ""


def _reason(call: Call, snapshot: "Snapshot", request: "CandidateRequest") -> str:
    # imported here because most processes never have an empty search
    from placement.extensions.explain.handler import relaxing_of
    from placement.extensions.explain.operation import why_empty
    from placement.extensions.what_if.changed_cloud import WhatIf

    budget = relaxing_of(call)
    reason = why_empty(call.database, snapshot, request, budget)
    if len(snapshot.forest.roots) > _FEW_TREES:
        return reason
    try:
        found = call.moves(call, request, WhatIf(call.snapshot, {}), budget)
    except (PlacementError, SQLAlchemyError):
        return reason
    if found is None:
        return reason
    moves = found["change"]["move"]
    who = "1 consumer" if moves == 1 else f"{moves} consumers"
    return f"{reason}; moving {who} would make room"
