"""Connections that are used again without a look into the pool, which would cost as much as a read.

A connection on which nothing is open rests here after its use, for at most a second after it came
from the pool. Then the pool has it again, with all that it looks after: the age of connections, the
process that opened them, and how many stay open.

Servers may fork after the application was made. A process never uses the connections of its parent,
neither from here nor from the pool.
"""

import collections
import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection, QueuePool

#: seconds
_LONGEST = 1.0
#: key in the `info` of a connection: when it was made, and the process that made it
_MADE = "berth_made"
#: when a connection came from the pool, the process that it belongs to, and the connection
_Rested = tuple[float, int, sa.Connection]


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
        self._resting: collections.deque[_Rested] = collections.deque()
        self._most = most
        #: one entry for each thread that asks the pool, and may wait there
        self._asking: collections.deque[None] = collections.deque()
        #: the pool has to look at connections that came from it before this time
        self._outdated = -math.inf
        self._losses = _watch(engine)

    def __len__(self) -> int:
        """Return how many rest."""
        return len(self._resting)

    def counts(self) -> tuple[int, int]:
        """Return how many connections are in use, and how many are idle."""
        pool = self._engine.pool
        # a database in memory has one connection for all
        if not isinstance(pool, QueuePool):
            return 0, 1
        return max(0, pool.checkedout() - len(self)), pool.checkedin() + len(self)

    @contextlib.contextmanager
    def taken(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        """Take a connection; after a failure the pool gets it back, and looks at it.

        If the server has ended it, it may have ended all: none that was open then is used again.

        :param engine: this one, or one with other options
        """
        since, process, plain = self._take() if engine is self._engine else _from_pool(engine)
        try:
            yield plain
        except BaseException as error:
            if plain.closed or plain.invalidated:
                self._outdated = time.monotonic()
            if isinstance(error, DBAPIError) and error.connection_invalidated:
                self._losses.append(time.monotonic())
            plain.close()
            raise
        if engine is self._engine and self._may_rest(since, plain):
            self._resting.append((since, process, plain))
            if self._asking:
                # who found none at rest before this one waits for the pool
                self._give_one_back()
        else:
            plain.close()

    def _may_rest(self, since: float, plain: sa.Connection) -> bool:
        pool = self._engine.pool
        return (
            len(self._resting) < self._most
            and not self._asking
            and since > self._outdated
            and isinstance(pool, QueuePool)
            # the pool closes what it doesn't keep
            and pool.overflow() <= 0
            and self._is_free is not None
            and not plain.closed
            and not plain.in_transaction()
            and self._is_free(plain.connection)
        )

    def _take(self) -> _Rested:
        rested = self._rested()
        if rested is None:
            self._asking.append(None)
            try:
                # one may have come to rest before its user could see who asks
                rested = self._rested() or _from_pool(self._engine)
            finally:
                self._asking.pop()
        return rested

    def _rested(self) -> _Rested | None:
        """Return one that rests and can be used; the pool gets those that can't."""
        while True:
            try:
                since, process, _ = rested = self._resting.pop()
            except IndexError:
                return None
            is_fresh = since > self._outdated and time.monotonic() - since < _LONGEST
            if is_fresh and process == os.getpid():
                return rested
            _give_back(rested)

    def _give_one_back(self) -> None:
        with contextlib.suppress(IndexError):
            _give_back(self._resting.pop())

    def give_back(self) -> None:
        """Give all back to the pool: those that rest at once, those in use after their use."""
        self._outdated = time.monotonic()
        while self._resting:
            self._give_one_back()

    def dispose(self, process: int) -> None:
        """Empty the pool. Its connections are closed only in the process that opened them.

        :param process: the id of that process
        """
        self.give_back()
        self._engine.dispose(close=os.getpid() == process)


def _watch(engine: sa.Engine) -> collections.deque[float]:
    """Have the pool hand out only what this process made, and after the last of these times."""
    losses = collections.deque([-math.inf], maxlen=1)

    @event.listens_for(engine, "connect")
    def connect(connection: object, record: ConnectionPoolEntry) -> None:
        record.info[_MADE] = time.monotonic(), os.getpid()

    # before listeners that would close it
    @event.listens_for(engine, "checkout", insert=True)
    def checkout(connection: object, record: Any, proxy: Any) -> None:
        made, process = record.info[_MADE]
        if process != os.getpid():
            # forgotten, not closed: the parent process still uses it
            record.dbapi_connection = proxy.dbapi_connection = None
            raise DisconnectionError("The connection belongs to the process this one came from")
        if made < losses[0]:
            raise DisconnectionError("The server may have ended all sessions")

    return losses


def _from_pool(engine: sa.Engine) -> _Rested:
    return time.monotonic(), os.getpid(), engine.connect()


def _give_back(rested: _Rested) -> None:
    _, process, plain = rested
    if process == os.getpid():
        plain.close()
    else:
        # forgotten, not closed: the parent process still uses it
        plain.detach()
