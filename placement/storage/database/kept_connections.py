"""Connections that are used again without a look into the pool, which would cost as much as a read.

A connection on which nothing is open rests here after its use, for at most a second after it came
from the pool. Then the pool has it again, with all that it looks after: the age of connections, the
process that opened them, and how many stay open.
"""

import collections
import contextlib
import os
import time
from collections.abc import Callable, Iterator

import sqlalchemy as sa
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

#: seconds
_LONGEST = 1.0


class KeptConnections:
    """The connections of an engine that are in use, or rest.

    :param is_free: whether nothing is open on a connection
    """

    def __init__(
        self, engine: sa.Engine, is_free: Callable[[PoolProxiedConnection], bool] | None
    ) -> None:
        self._engine, self._is_free = engine, is_free
        pool = engine.pool
        # somebody may ask the pool itself
        most = pool.size() - 1 if is_free is not None and isinstance(pool, QueuePool) else 0
        #: when each came from the pool, in which process
        self._resting: collections.deque[tuple[float, int, sa.Connection]] = collections.deque()
        self._most = most

    def __len__(self) -> int:
        """Return how many rest."""
        return len(self._resting)

    @contextlib.contextmanager
    def taken(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        """Take a connection; after a failure the pool gets it back, and looks at it.

        :param engine: this one, or one with other options
        """
        since, process, plain = self._take() if engine is self._engine else _from_pool(engine)
        try:
            yield plain
        except BaseException:
            plain.close()
            raise
        if (
            len(self._resting) < self._most
            and engine is self._engine
            and self._is_free is not None
            and not plain.closed
            and not plain.in_transaction()
            and self._is_free(plain.connection)
        ):
            self._resting.append((since, process, plain))
        else:
            plain.close()

    def _take(self) -> tuple[float, int, sa.Connection]:
        while True:
            try:
                rested = self._resting.pop()
            except IndexError:
                return _from_pool(self._engine)
            since, process, plain = rested
            if time.monotonic() - since < _LONGEST and process == os.getpid():
                return rested
            plain.close()

    def give_back(self) -> None:
        """Give all that rest back to the pool."""
        while self._resting:
            with contextlib.suppress(IndexError):
                self._resting.pop()[2].close()


def _from_pool(engine: sa.Engine) -> tuple[float, int, sa.Connection]:
    return time.monotonic(), os.getpid(), engine.connect()
