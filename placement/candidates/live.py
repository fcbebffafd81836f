"""The snapshot a process works with, always as new as the database (DESIGN D4)."""

import gc
import logging
import threading
import time
from collections.abc import Callable

from placement.candidates import loading
from placement.candidates.fingerprint import alike, fingerprint
from placement.candidates.snapshot import Snapshot
from placement.errors import PlacementError
from placement.storage import changes, snapshot_reads
from placement.storage.changes import Cursor
from placement.storage.engine import Connection, Database

LOG = logging.getLogger(__name__)
#: slots of deleted providers that are put up with, as a share of all, before all is loaded anew
_MOST_DEAD, _FEW = 0.25, 1000
#: providers from which on a snapshot is spared the garbage collector
_LARGE = 5000
#: how often an audit is begun again because something was written meanwhile
_AUDIT_TRIES = 10


def in_background(task: Callable[[], None]) -> None:
    """Run beside the requests; a process that ends doesn't wait for it."""
    threading.Thread(target=task, name="snapshot-audit", daemon=True).start()


class LiveSnapshot:
    """Answers `current()` with everything that was committed before it was asked.

    :param audit_interval: seconds between comparisons with the tables, to catch writers that
        bypass the change feed; 0: never
    :param clock: seconds that never go back
    :param run: how an audit is run; the search that finds it due doesn't wait for it
    """

    def __init__(
        self,
        database: Database,
        audit_interval: float = 0,
        clock: Callable[[], float] = time.monotonic,
        run: Callable[[Callable[[], None]], None] = in_background,
    ) -> None:
        self._database = database
        self._audit_interval = audit_interval
        self._clock = clock
        self._run = run
        self._turn = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._cursor = Cursor(0)
        self._audited = 0.0
        #: why the next search loads everything, if it does
        self._cause = "first use"
        #: how often everything was loaded, by cause
        self.loads: dict[str, int] = {}

    def current(self) -> Snapshot:
        """The cloud as of now. Costs one small statement if nothing happened."""
        with self._turn:
            snapshot = self._snapshot
            if snapshot is None or changes.has_news(self._database, self._cursor):
                snapshot = self._database.read(self._refresh)
            due = self._audit_is_due()
        if due:
            self._run(self._audit)
        return snapshot

    def _refresh(self, connection: Connection) -> Snapshot:
        now = self._clock()
        known = self._snapshot
        if known is None:
            return self._load(connection, now, self._cause)
        news = changes.read(connection, self._cursor, now)
        if news is None:
            return self._load(connection, now, "fell off the feed")
        if news.kinds:
            # should this fail with half of the news taken in, all is loaded anew next time
            self._snapshot, self._cause = None, "failure"
            known = loading.advance(connection, known, news.kinds)
        if self._is_worn_out(known):
            return self._load(connection, now, "many deletions")
        self._snapshot, self._cursor = known, news.cursor
        return known

    def _load(self, connection: Connection, now: float, cause: str) -> Snapshot:
        self._cursor = changes.start(connection, now)
        self._snapshot = loading.load(connection)
        if self._snapshot.size >= _LARGE:
            # millions of lasting objects, which the garbage collector needn't visit again
            gc.freeze()
        self._audited = now
        self.loads[cause] = self.loads.get(cause, 0) + 1
        return self._snapshot

    def _is_worn_out(self, snapshot: Snapshot) -> bool:
        dead = snapshot.size - len(snapshot.register.slot_of_id)
        return dead > max(_FEW, snapshot.size * _MOST_DEAD)

    def _audit_is_due(self) -> bool:
        now = self._clock()
        if not self._audit_interval or now - self._audited < self._audit_interval:
            return False
        self._audited = now
        return True

    def _audit(self) -> None:
        """Compare; nobody waits for it, so nobody else could tell of a failure."""
        try:
            self._reload_if_bypassed()
        except PlacementError as unavailable:
            LOG.warning("The audit of the snapshot is put off: %s", unavailable)
        except Exception:
            LOG.exception("The audit of the snapshot failed")

    def _reload_if_bypassed(self) -> None:
        """Have everything loaded anew if the tables aren't what the change feed made of them."""
        for _ in range(_AUDIT_TRIES):
            with self._turn:
                snapshot, cursor = self._snapshot, self._cursor
            if snapshot is None:
                return
            same = self._compare(snapshot, cursor)
            if same is False:
                LOG.warning("The tables changed behind the change feed; all is loaded again")
                with self._turn:
                    self._snapshot, self._cause = None, "audit"
            if same is not None:
                return
            self.current()

    def _compare(self, snapshot: Snapshot, cursor: Cursor) -> bool | None:
        """Whether the tables say what the snapshot does; None if they have moved on since."""

        def ask(connection: Connection) -> snapshot_reads.Fingerprint | bool | None:
            news = changes.read(connection, cursor, self._clock())
            if news is None or news.kinds:
                return None
            if changes.newest_id(connection) < cursor.newest:
                return False
            return snapshot_reads.fingerprint(connection)

        answer = self._database.read(ask)
        if answer is None or isinstance(answer, bool):
            return answer
        return alike(fingerprint(snapshot), answer)
