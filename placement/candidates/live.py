"""The snapshot a process works with, always as new as the database (DESIGN D4)."""

import gc
import logging
import threading
import time
from collections.abc import Callable

from placement.candidates import loading
from placement.candidates.fingerprint import alike, fingerprint
from placement.candidates.snapshot import Snapshot
from placement.storage import changes, snapshot_reads
from placement.storage.changes import Cursor
from placement.storage.engine import Connection, Database

LOG = logging.getLogger(__name__)
#: slots of deleted providers that are put up with, as a share of all, before all is loaded anew
_MOST_DEAD, _FEW = 0.25, 1000
#: providers from which on a snapshot is spared the garbage collector
_LARGE = 5000


class LiveSnapshot:
    """Answers `current()` with everything that was committed before it was asked.

    :param audit_interval: seconds between comparisons with the tables, to catch writers that
        bypass the change feed; 0: never
    :param clock: seconds that never go back
    """

    def __init__(
        self,
        database: Database,
        audit_interval: float = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._audit_interval = audit_interval
        self._clock = clock
        self._turn = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._cursor = Cursor(0)
        self._audited = 0.0
        #: how often everything was loaded, by cause
        self.loads: dict[str, int] = {}

    def current(self) -> Snapshot:
        """The cloud as of now. Costs one small statement if nothing happened."""
        with self._turn:
            return self._database.read(self._refresh)

    def _refresh(self, connection: Connection) -> Snapshot:
        now = self._clock()
        known = self._snapshot
        if known is None:
            return self._load(connection, now, "first use")
        news = changes.read(connection, self._cursor, now)
        if news is None:
            return self._load(connection, now, "fell off the feed")
        if news.kinds:
            # should this fail with half of the news taken in, all is loaded anew next time
            self._snapshot = None
            known = loading.advance(connection, known, news.kinds)
        if self._is_worn_out(known):
            return self._load(connection, now, "many deletions")
        self._snapshot, self._cursor = known, news.cursor
        if self._audit_interval and now - self._audited >= self._audit_interval:
            return self._audit(connection, now)
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

    def _audit(self, connection: Connection, now: float) -> Snapshot:
        assert self._snapshot is not None
        self._audited = now
        rewound = changes.newest_id(connection) < self._cursor.newest
        if not rewound and alike(
            fingerprint(self._snapshot), snapshot_reads.fingerprint(connection)
        ):
            return self._snapshot
        LOG.warning("The tables changed behind the change feed; loading all providers again")
        return self._load(connection, now, "audit")
