"""The snapshot a process works with, always as new as the database (architecture.rst D4)."""

import dataclasses
import datetime
import logging
import os
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.live import apply_changes, audit_schedule, loading
from placement.candidates.live.audit_schedule import AuditTimes, Pauses
from placement.candidates.live.comparison import differences
from placement.candidates.live.foreign_writers import NEVER, WATCHED, OtherWriters
from placement.candidates.live.foreign_writes import notice
from placement.candidates.live.shared_work import SharedWork
from placement.candidates.live.snapshot_size import size_of
from placement.errors import PlacementError
from placement.metrics.families import DIFFERENT, FAILED, PUT_OFF, SAME
from placement.metrics.tally import UNCOUNTED, Tally
from placement.storage.database.engine import Connection, Database
from placement.storage.driver.error_log import log_unexpected
from placement.storage.feed import change_feed, generation_look
from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind, Cursor, News
from placement.storage.feed.generation_look import ALL_KINDS, GenerationSums
from placement.storage.tables import utcnow

LOG = logging.getLogger(__name__)
T = TypeVar("T")
AUDIT_FAILED = "The audit of the snapshot failed"
#: slots of deleted providers, as a share of all and at least, from which on all is loaded anew
_MOST_DEAD, _FEW = 0.25, 1000


@dataclasses.dataclass(frozen=True, eq=False)
class _HeldSnapshot:
    """A snapshot, and how far in the change feed it is.

    :param load: which of the process's loads it comes from
    :param look: what a look at the generations showed in the same transaction; None: there was none
    """

    snapshot: Snapshot
    cursor: Cursor
    load: int
    look: GenerationSums | None


@dataclasses.dataclass(frozen=True, eq=False)
class _Audit:
    """What came of an audit.

    :param held: the snapshot that searches had
    :param different: the tables that differ from it
    :param others: whether the generations show writes of others. They are not among the
        differences, as the next search sees them
    """

    held: _HeldSnapshot
    different: list[str]
    others: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Preloaded:
    """A snapshot that a process has loaded for the processes that will be forked from it.

    They share its memory, and bring it up to date each for itself.

    :param audited: when it was known to be as the tables are, by a clock that all processes share
    :param others_may_write: whether others wrote lately, as far as the process knows
    """

    held: _HeldSnapshot
    audited: float
    others_may_write: bool

    @property
    def providers(self) -> int:
        """How many providers there are."""
        return len(self.held.snapshot.register.slot_of_id)


class LiveSnapshot:
    """A snapshot that has everything that was committed before `current` is called.

    Searches read the change feed concurrently. One thread at a time takes in what is new, for all
    threads that asked before it began.

    :param audit_interval: the age in seconds that the last comparison with the tables may have when
        a search is answered, to catch writers that bypass the change feed; 0: never compared
    :param others: when each search looks for such writes by itself; by default never
    :param clock: seconds that never go back
    :param watch: calls `audit_in_background` from then on, each time after `until_audit` seconds,
        until that returns False, or until what it returns is called; a search that finds the last
        audit too old audits by itself
    :param tally: is told of loads, refreshes and audits
    :param preloaded: what the parent process has loaded; None: the first search loads it
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
        self._others = OtherWriters(NEVER) if others is None else others
        self._watch = watch
        self._tally = tally
        self._held: _HeldSnapshot | None = None
        #: when a search last found it to be as the database is
        self._current_at = self._times.now()
        #: the load whose snapshots must not be used, and why; None: there is none
        self._distrusted: tuple[int, str] | None = None
        #: how often everything was loaded, by cause
        self.loads: dict[str, int] = {}
        self._begin_in_process()
        if preloaded is not None:
            self._begin_with(preloaded)

    def _begin_with(self, preloaded: Preloaded) -> None:
        self._held = preloaded.held
        self._times.audited = preloaded.audited
        if preloaded.others_may_write:
            self._others.heard()
        self._tally.refreshed(0, preloaded.providers, size_of(preloaded.held.snapshot))

    def preloaded(self) -> Preloaded:
        """Return the cloud as of now, for processes that will be forked. Raise as `current`."""
        self.current()
        assert self._held is not None
        return Preloaded(self._held, self._times.audited, self._others.may_write)

    def _begin_in_process(self) -> None:
        """Make new locks: in a child process no thread exists that would release the old ones."""
        self._process = os.getpid()
        self._refreshing: SharedWork[_HeldSnapshot] = SharedWork()
        self._auditing: SharedWork[None] = SharedWork()
        self._is_watched = False
        self._end_watch: Callable[[], None] | None = None

    def current(self) -> Snapshot:
        """Return the cloud as of now. It costs one small statement if nothing happened.

        It costs one more, over all providers, while others may write (see `OtherWriters`).

        Raise DatabaseUnavailable when the database doesn't answer in time.
        """
        if os.getpid() != self._process:
            self._begin_in_process()
        self._see_to_audits()
        held = self._held
        if (
            held is None
            or self._cause_for_distrust(held) is not None
            or change_feed.has_news(self._database, held.cursor)
            or self._looks_different(held)
        ):
            held = self._refreshing.outcome(self._refresh)
        self._current_at = self._times.now()
        return held.snapshot

    def at_once(self, question: Callable[[Connection], T]) -> tuple[Snapshot, T]:
        """Return the cloud, and the answer of the database to a question, both of one moment.

        The moment is in this call. Raise what `current` raises.
        """
        self.current()
        known = self._held
        held, answer = self._database.read(
            lambda connection: (self._advanced(connection, known), question(connection))
        )
        return held.snapshot, answer

    @property
    def is_at_hand(self) -> bool:
        """Whether `current` has to read no more than what changed."""
        held = self._held
        return (
            held is not None
            and self._cause_for_distrust(held) is None
            and not self._times.is_overdue
        )

    @property
    def is_distrusted(self) -> bool:
        """Whether the next search loads everything anew, because of a difference or a failure."""
        held = self._held
        return held is not None and self._cause_for_distrust(held) is not None

    def age(self) -> float | None:
        """Return the seconds since it was last found to be as the database is; None: not yet."""
        return None if self._held is None else self._times.now() - self._current_at

    def _looks_different(self, held: _HeldSnapshot) -> bool:
        return self._others.may_write and held.look != generation_look.ask(self._database)

    def look_for_others(self) -> None:
        """Look now whether others wrote, as the tables contradict what the snapshot offered.

        If they did, the next search sees what they wrote, and searches look from then on.
        """
        held, others = self._held, self._others
        if held is None or others.may_write or not others.are_considered:
            return
        if self._database.read(lambda connection: self._noticed(connection, held)):
            self._others_may_write(others.seen())

    def _noticed(self, connection: Connection, held: _HeldSnapshot) -> bool:
        """Return whether a look shows writes of others after the news are taken in."""
        news = change_feed.read(connection, held.cursor)
        if news is None:
            return False
        snapshot = self._with_news(connection, held.snapshot, news)
        return bool(notice(connection, snapshot, generation_look.read(connection)).theirs)

    def _cause_for_distrust(self, held: _HeldSnapshot) -> str | None:
        distrusted = self._distrusted
        return distrusted[1] if distrusted is not None and distrusted[0] == held.load else None

    def _distrust(self, held: _HeldSnapshot, cause: str) -> None:
        """Make the next search load everything anew."""
        self._distrusted = (held.load, cause)

    def _refresh(self) -> _HeldSnapshot:
        begun = self._times.now()
        known = self._held
        held = self._database.read(lambda connection: self._advanced(connection, known))
        if known is None or held.load != known.load:
            self._times.renewed(begun)
        self._held = held
        providers = len(held.snapshot.register.slot_of_id)
        grown = known is None or known.snapshot.size != held.snapshot.size
        size = size_of(held.snapshot) if grown else None
        self._tally.refreshed(self._times.now() - begun, providers, size)
        return held

    def _advanced(self, connection: Connection, known: _HeldSnapshot | None) -> _HeldSnapshot:
        if known is None:
            return self._load(connection, 1, "first use")
        cause = self._cause_for_distrust(known)
        if cause is None:
            news = change_feed.read(connection, known.cursor)
            if news is None:
                cause = "fell off the feed"
            else:
                if ChangeKind.OTHERS in news.kinds.get(NO_PROVIDER, ChangeKind(0)):
                    self._others_may_write(self._others.heard())
                try:
                    snapshot = self._with_news(connection, known.snapshot, news)
                    look = self._look(connection)
                    if look is not None:
                        snapshot = self._with_changes_of_others(connection, snapshot, look)
                except DBAPIError:
                    raise
                except Exception:
                    # the next search loads everything, so it doesn't meet these news again
                    self._distrust(known, "failure")
                    raise
                if not _is_worn_out(snapshot):
                    snapshot = dataclasses.replace(snapshot, cursor=news.cursor)
                    return dataclasses.replace(
                        known, snapshot=snapshot, cursor=news.cursor, look=look
                    )
                cause = "many deletions"
        return self._load(connection, known.load + 1, cause)

    def _load(self, connection: Connection, number: int, cause: str) -> _HeldSnapshot:
        since = utcnow() - datetime.timedelta(seconds=WATCHED)
        others = self._others
        is_open = others.is_automatic and not others.may_write
        if is_open and generation_look.was_written_by_others(connection, since):
            self._others_may_write(self._others.heard())
        cursor = change_feed.start(connection)
        snapshot = dataclasses.replace(loading.load(connection), cursor=cursor)
        held = _HeldSnapshot(snapshot, cursor, number, self._look(connection))
        self.loads[cause] = self.loads.get(cause, 0) + 1
        self._tally.loaded(cause)
        return held

    def _look(self, connection: Connection) -> GenerationSums | None:
        return generation_look.read(connection) if self._others.may_write else None

    def _with_news(self, connection: Connection, known: Snapshot, news: News) -> Snapshot:
        kinds = news.kinds
        if self._others.may_write:
            # read all of a provider: others may have changed something else of it
            kinds = {key: kind | ALL_KINDS if key else kind for key, kind in kinds.items()}
        return apply_changes.advance(connection, known, kinds) if kinds else known

    def _with_changes_of_others(
        self, connection: Connection, snapshot: Snapshot, look: GenerationSums
    ) -> Snapshot:
        """Return the snapshot with what the change feed doesn't name, but a look shows."""
        noticed = notice(connection, snapshot, look)
        if noticed.theirs:
            self._others_may_write(self._others.seen())
        kinds = {**noticed.theirs, **noticed.unsure}
        return apply_changes.advance(connection, snapshot, kinds) if kinds else snapshot

    def _others_may_write(self, is_news: bool) -> None:
        """Log it if searches didn't look for such writes before."""
        if is_news:
            LOG.info(
                "Another service writes to this database: searches look for its writes for an hour"
            )

    def _see_to_audits(self) -> None:
        """Audit now if the last audit is too old, and start audits in the background."""
        times = self._times
        if not times.interval:
            return
        times.wanted()
        held = self._held
        if held is not None and times.is_overdue:
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
        """Audit; return False when there are no searches any more. Failures are logged."""
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

        :param rest: is called between parts of the work; None: a search waits for the audit
        """
        begun = self._times.now()
        if self._held is None or self._times.is_quiet:
            return
        audit = self._database.read(
            lambda connection: self._compare(connection, rest or (lambda: None))
        )
        found = audit.different
        if self._others.are_considered and (found or audit.others):
            self._others_may_write(self._others.seen())
        if self._others.is_untold:
            self._tell_workers()
        if found:
            LOG.warning(
                "The tables changed behind the change feed (%s); all is loaded again",
                ", ".join(found),
            )
            self._distrust(audit.held, "audit")
        # what lists say of providers, names among it, isn't compared
        audit.held.snapshot.listings.forget()
        self._times.renewed(begun, is_beside=rest is not None)
        self._tally.audited(DIFFERENT if found else SAME)

    def _compare(self, connection: Connection, rest: Callable[[], None]) -> _Audit:
        """Compare what searches have, after the news are taken in."""
        held = self._held
        assert held is not None
        news = change_feed.read(connection, held.cursor)
        if news is None:
            # the next search finds that out as well, and loads everything
            return _Audit(held, [], False)
        snapshot, others = self._with_news(connection, held.snapshot, news), False
        if self._others.are_considered:
            theirs = notice(connection, snapshot, generation_look.read(connection)).theirs
            if theirs:
                snapshot, others = apply_changes.advance(connection, snapshot, theirs), True
        return _Audit(held, differences(connection, snapshot, rest), others)

    def _tell_workers(self) -> None:
        """Tell the other workers that others write. They find out later if that fails."""
        try:
            self._database.write(change_feed.record_others)
            self._others.is_untold = False
        except (PlacementError, DBAPIError) as error:
            LOG.debug("Can't tell other workers of another service: %s", error)


def _is_worn_out(snapshot: Snapshot) -> bool:
    dead = snapshot.size - len(snapshot.register.slot_of_id)
    return dead > max(_FEW, snapshot.size * _MOST_DEAD)
