"""A snapshot for a service that only reads, beside whatever service writes."""

import threading
from collections.abc import Callable
from typing import TypeVar

from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.live import loading
from placement.storage.database.engine import Connection, Database

T = TypeVar("T")


class TableSnapshot:
    """Reads the cloud's tables when it is first needed, and again after `forget`.

    It needs no table of Berth's own: the database may be one of the reference that was never taken
    over.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None

    def current(self) -> Snapshot:
        """Return the cloud as it was when it was read last."""
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._database.read(loading.load)
            return self._snapshot

    def at_once(self, question: Callable[[Connection], T]) -> tuple[Snapshot, T]:
        """Return the cloud and the answer to a question, both of this moment."""
        return self._database.read(
            lambda connection: (loading.load(connection), question(connection))
        )

    def look_for_others(self) -> None:
        """Do as `forget` does: whoever wrote, the cloud is not as it was read."""
        self.forget()

    def forget(self) -> None:
        """Read the cloud again when it is needed next."""
        with self._lock:
            self._snapshot = None
