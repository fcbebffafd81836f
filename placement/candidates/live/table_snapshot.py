"""A snapshot for a service that only reads, while another service writes."""

import threading
from collections.abc import Callable
from typing import TypeVar

from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.live import loading
from placement.storage.database.engine import Connection, Database

T = TypeVar("T")


class TableSnapshot:
    """Loads the cloud when it is first needed, and again after `forget`.

    It needs no table of Berth's own, so the database may be OpenStack Placement's, as it is.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None

    def current(self) -> Snapshot:
        """Return the cloud as it was when it was last loaded."""
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._database.read(loading.load)
            return self._snapshot

    def at_once(self, question: Callable[[Connection, Snapshot], T]) -> tuple[Snapshot, T]:
        """Return the cloud and the answer to a question, both of this moment."""

        def ask(connection: Connection) -> tuple[Snapshot, T]:
            snapshot = loading.load(connection)
            return snapshot, question(connection, snapshot)

        return self._database.read(ask)

    def look_for_others(self) -> None:
        """Do what `forget` does: whoever wrote, the snapshot is out of date."""
        self.forget()

    def forget(self) -> None:
        """Load the cloud again when it is needed next."""
        with self._lock:
            self._snapshot = None
