"""Turns: threads that wait in line for the one connection, or the one write, that SQLite allows."""

import contextlib
import threading
from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from placement.errors import LostRace


class Turn:
    """Lets one thread at a time go on.

    :param lock: None: threads don't wait
    """

    def __init__(self, lock: "threading.Lock | None") -> None:
        self._lock = lock

    @contextlib.contextmanager
    def taken(self, seconds: float) -> Iterator[None]:
        """Hold the turn meanwhile. Raises LostRace when waiting took longer than `seconds`."""
        if self._lock is None:
            yield
            return
        if not self._lock.acquire(timeout=max(0.0, seconds)):
            raise LostRace()
        try:
            yield
        finally:
            self._lock.release()


def turns(engine: sa.Engine) -> tuple[Turn, Turn]:
    """Return the turn for reads and the turn for writes.

    SQLite lets one writer in at a time and makes the others poll, so the writers of a process queue
    here instead. An in-memory database is a single connection, so its readers queue with them.
    """
    if engine.dialect.name != "sqlite":
        return Turn(None), Turn(None)
    writers = Turn(threading.Lock())
    return writers if isinstance(engine.pool, StaticPool) else Turn(None), writers
