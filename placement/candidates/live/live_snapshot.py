"""The snapshot that a process searches, always as new as the database (architecture.rst D4)."""

import dataclasses
import logging
import os
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.live import audit_schedule, loading
from placement.candidates.live.apply_changes import with_news
from placement.candidates.live.audit_schedule import AuditTimes, Pauses
from placement.candidates.live.comparison import Audit, audit_of
from placement.candidates.live.foreign_writers import NEVER, OtherWriters
from placement.candidates.live.foreign_writes import have_others_written, tell_workers, with_theirs
from placement.candidates.live.shared_work import SharedWork
from placement.errors import PlacementError
from placement.metrics.families import DIFFERENT, FAILED, PUT_OFF, SAME
from placement.metrics.tally import UNCOUNTED, Tally
from placement.storage.database.engine import Connection, Database
from placement.storage.driver.error_log import log_unexpected
from placement.storage.feed import change_feed, generation_look
from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind, Cursor
from placement.storage.feed.generation_look import GenerationSums

LOG = logging.getLogger(__name__)
T = TypeVar("T")
AUDIT_FAILED = "The audit of the snapshot failed"
#: a deleted provider keeps its slot. Everything is loaded anew once more than this share of the
#: slots, and more than this number, are of deleted providers
_MOST_DEAD, _FEW = 0.25, 1000


@dataclasses.dataclass(frozen=True, eq=False)
class _HeldSnapshot:
    """A snapshot, and what was read with it in the same transaction.

    :param cursor: how far in the change feed it is
    :param look: the sums of the providers' generations; None: no others may write
    """

    snapshot: Snapshot
    cursor: Cursor
    look: GenerationSums | None

    @property
    def providers(self) -> int:
        """How many providers exist."""
        return len(self.snapshot.register.slot_of_id)


@dataclasses.dataclass(frozen=True, eq=False)
class Preloaded:
    """A snapshot that a process has loaded for the processes that will be forked from it.

    They share its memory, and each brings it up to date for itself.

    :param audited: when it was last compared or loaded, by a clock that all processes share
    :param others_may_write: whether others wrote lately, as far as the process knows
    """

    held: _HeldSnapshot
    audited: float
    others_may_write: bool


class LiveSnapshot:
    """Gives each search a snapshot with everything that was committed before the search began.

    A snapshot never changes: `_held` is replaced by one that is newer. Threads ask concurrently
    whether the change feed has news. One thread at a time reads them, for all threads that asked
    before it began.

    An audit compares what is held with the tables, to catch writers that bypass the change feed. It
    doesn't replace it: if they differ, the next search loads everything anew.

    :param audit_interval: the longest time in seconds since the last audit at which a search is
        answered; 0: there are no audits
    :param others: whether searches look for writers that bypass the change feed; by default never
    :param clock: seconds that never go back
    :param watch: starts what calls `audit_in_background` after `until_audit` seconds, again and
        again until that returns False; returns a function that ends it
    :param tally: counts loads, refreshes and audits
    :param preloaded: what the parent process has loaded; None: the first search loads
    """

    def __init__(
        self,
        database: Database,
        audit_interval: float = 0,
        others: OtherWriters | None = None,
        clock: Callable[[], float] = time.monotonic,
        watch: Callable[["LiveSnapshot"], Callable[[], None] | None] = audit_schedule.watch,
        tally: Tally = UNCOUNTED,
        preloaded: Preloaded | None = None,
    ) -> None:
        self._database = database
        self._times = AuditTimes(audit_interval, clock)
        self._pauses = Pauses(self._times)
        self._others = others or OtherWriters(NEVER)
        self._watch = watch
        self._tally = tally
        self._held: _HeldSnapshot | None = None
        #: when a search last found that `_held` has everything
        self._current_at = self._times.now()
        #: which lineage of snapshots no search may use any more, and why; None: all may be used
        self._distrusted: tuple[int, str] | None = None
        #: how often everything was loaded, by cause
        self.loads: dict[str, int] = {}
        self._begin_in_process()
        if preloaded is not None:
            self._begin_with(preloaded)

    def _begin_in_process(self) -> None:
        """Make new locks: in a child process no thread exists that would release the old ones."""
        self._process = os.getpid()
        self._refreshing: SharedWork[_HeldSnapshot] = SharedWork()
        self._auditing: SharedWork[None] = SharedWork()
        self._is_watched = False
        self._end_watch: Callable[[], None] | None = None

    def _begin_with(self, preloaded: Preloaded) -> None:
        self._held = preloaded.held
        self._times.audited = preloaded.audited
        if preloaded.others_may_write:
            self._others.heard()
        self._tally.refreshed(0, preloaded.held.providers, preloaded.held.snapshot.nbytes)

    def preloaded(self) -> Preloaded:
        """Return the cloud as of now, for processes that will be forked; raises as `current`."""
        self.current()
        assert self._held is not None
        return Preloaded(self._held, self._times.audited, self._others.may_write)

    # What searches ask

    def current(self) -> Snapshot:
        """Return the cloud as of now.

        This costs one small statement if there are no news, and one over all providers while others
        may write (see `OtherWriters`). Raises DatabaseUnavailable if the database doesn't answer in
        time.
        """
        if os.getpid() != self._process:
            self._begin_in_process()
        if self._times.interval:
            self._keep_audited()
        held = self._held
        if (
            held is None
            or self._cause_for_distrust(held) is not None
            or change_feed.has_news(self._database, held.cursor)
            or (self._others.may_write and held.look != generation_look.ask(self._database))
        ):
            held = self._refreshing.outcome(self._refresh)
        self._current_at = self._times.now()
        return held.snapshot

    def at_once(self, question: Callable[[Connection, Snapshot], T]) -> tuple[Snapshot, T]:
        """Return the cloud and the database's answer to a question, both of one moment.

        The moment is during this call. Raises what `current` raises.
        """
        self.current()
        known = self._held

        def ask(connection: Connection) -> tuple[Snapshot, T]:
            snapshot = self._advanced(connection, known).snapshot
            return snapshot, question(connection, snapshot)

        return self._database.read(ask)

    @property
    def is_at_hand(self) -> bool:
        """Whether `current` has to read no more than what changed."""
        return self._held is not None and not self.is_distrusted and not self._times.is_overdue

    @property
    def is_distrusted(self) -> bool:
        """Whether the next search loads everything anew, because of a difference or a failure."""
        held = self._held
        return held is not None and self._cause_for_distrust(held) is not None

    def age(self) -> float | None:
        """Return the seconds since a search last found that it has everything; None: no search."""
        return None if self._held is None else self._times.now() - self._current_at

    def _cause_for_distrust(self, held: _HeldSnapshot) -> str | None:
        lineage, cause = self._distrusted or (None, None)
        return cause if lineage == held.snapshot.lineage else None

    def _distrust(self, held: _HeldSnapshot, cause: str) -> None:
        """Make the next search load everything anew."""
        self._distrusted = (held.snapshot.lineage, cause)

    # How the snapshot is brought up to date

    def _refresh(self) -> _HeldSnapshot:
        begun = self._times.now()
        known = self._held
        held = self._database.read(lambda connection: self._advanced(connection, known))
        if known is None or held.snapshot.lineage != known.snapshot.lineage:
            # it was loaded: that says as much as an audit
            self._times.renewed(begun)
        self._held = held
        has_grown = known is None or known.snapshot.size != held.snapshot.size
        size = held.snapshot.nbytes if has_grown else None
        self._tally.refreshed(self._times.now() - begun, held.providers, size)
        return held

    def _advanced(self, connection: Connection, known: _HeldSnapshot | None) -> _HeldSnapshot:
        """Return the snapshot with what this transaction sees, or load everything anew."""
        if known is None:
            return self._load(connection, "first use")
        cause = self._cause_for_distrust(known)
        if cause is not None:
            return self._load(connection, cause)
        news = change_feed.read(connection, known.cursor)
        if news is None:
            return self._load(connection, "fell off the feed")
        if ChangeKind.OTHERS in news.kinds.get(NO_PROVIDER, ChangeKind(0)):
            self._others.heard()
        try:
            snapshot = with_news(connection, known.snapshot, news, self._others.may_write)
            look = generation_look.read(connection) if self._others.may_write else None
            if look is not None:
                snapshot = with_theirs(connection, snapshot, look, self._others)
        except DBAPIError:
            raise
        except Exception:
            # the next search loads everything, so it doesn't meet these news again
            self._distrust(known, "failure")
            raise
        if _is_worn_out(snapshot):
            return self._load(connection, "many deletions")
        snapshot = dataclasses.replace(snapshot, cursor=news.cursor)
        return _HeldSnapshot(snapshot, news.cursor, look)

    def _load(self, connection: Connection, cause: str) -> _HeldSnapshot:
        self._others.suspect(connection)
        cursor = change_feed.start(connection)
        snapshot = dataclasses.replace(loading.load(connection), cursor=cursor)
        look = generation_look.read(connection) if self._others.may_write else None
        held = _HeldSnapshot(snapshot, cursor, look)
        self.loads[cause] = self.loads.get(cause, 0) + 1
        self._tally.loaded(cause)
        return held

    def look_for_others(self) -> None:
        """Look now whether others wrote, because the tables contradict what a search offered.

        If they did, the next search sees what they wrote, and searches look from then on.
        """
        held, others = self._held, self._others
        if held is None or others.may_write or not others.are_considered:
            return
        if self._database.read(lambda link: have_others_written(link, held.snapshot, held.cursor)):
            self._others.seen()

    # Audits

    def _keep_audited(self) -> None:
        """Audit now if the last audit is too old, and start audits in the background."""
        self._times.wanted()
        held = self._held
        if held is not None and self._times.is_overdue:
            try:
                self._auditing.outcome(self._audit, may_have_begun=True)
            except PlacementError:
                raise
            except Exception as error:
                self._tally.audited(FAILED)
                log_unexpected(LOG, AUDIT_FAILED, error)
                self._distrust(held, "audit failed")
        if not self._is_watched:
            self._is_watched = True
            self._end_watch = self._watch(self)

    def until_audit(self) -> float:
        """Return in how many seconds `audit_in_background` is due."""
        return self._times.until_next()

    def audit_in_background(self) -> bool:
        """Audit; return False if nobody searches any more. Failures are logged."""
        if self._times.is_quiet:
            self._is_watched = False
            return False
        try:
            self._auditing.outcome(self._audit_with_pauses, may_have_begun=True)
        except PlacementError as unavailable:
            self._tally.audited(PUT_OFF)
            LOG.warning("The audit of the snapshot is put off: %s", unavailable)
        except Exception as error:
            self._tally.audited(FAILED)
            log_unexpected(LOG, AUDIT_FAILED, error)
        return True

    def rest(self) -> None:
        """End the audits until the next search; wait for an audit that is under way."""
        self._times.unwanted()
        self._auditing.wait_until_done()
        end, self._end_watch = self._end_watch, None
        if end is not None:
            end()
            self._is_watched = False

    def _audit_with_pauses(self) -> None:
        self._pauses.begin()
        self._audit(self._pauses.rest)

    def _audit(self, rest: Callable[[], None] | None = None) -> None:
        """Compare with the tables; if they differ, make the next search load everything anew.

        :param rest: lets other threads run between parts of the work; None: a search waits
        """
        begun = self._times.now()
        if self._held is None or self._times.is_quiet:
            return
        held, audit = self._database.read(lambda connection: self._compare(connection, rest))
        if self._others.are_considered and (audit.different or audit.others):
            self._others.seen()
        tell_workers(self._database, self._others)
        if audit.different:
            LOG.warning(
                "The tables changed behind the change feed (%s); all is loaded again",
                ", ".join(audit.different),
            )
            self._distrust(held, "audit")
        # lists of providers show what audits don't compare, names among it
        held.snapshot.listings.forget()
        self._times.renewed(begun, is_beside=rest is not None)
        self._tally.audited(DIFFERENT if audit.different else SAME)

    def _compare(
        self, connection: Connection, rest: Callable[[], None] | None
    ) -> tuple[_HeldSnapshot, Audit]:
        # read here: the transaction sees the tables from its first statement on, so it has all that
        # the held snapshot has
        held = self._held
        assert held is not None
        return held, audit_of(connection, held.snapshot, held.cursor, self._others, rest)


def _is_worn_out(snapshot: Snapshot) -> bool:
    dead = snapshot.size - len(snapshot.register.slot_of_id)
    return dead > max(_FEW, snapshot.size * _MOST_DEAD)
