"""The database: one view per read, one transaction per write, bounded retry.

See architecture.rst D3.
"""

import collections
import contextlib
import itertools
import logging
import os
import random
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.pool import StaticPool

from placement.errors import (
    LostRace,
    OutcomeUnknown,
    TooMuchAtOnce,
    ValueNotStorable,
)
from placement.storage.compiled_select import CompiledSelect, Rows
from placement.storage.connections import CLUSTER as CLUSTER
from placement.storage.connections import Connection as Connection
from placement.storage.connections import DatabaseSettings, Mode, make_engine, modes
from placement.storage.dialects import (
    COMMIT_FAILED,
    DEADLOCK,
    DISCONNECT,
    LONGEST_LOCK,
    OUTAGES,
    failure_of,
    is_not_storable,
    is_too_large,
    is_unreachable,
    words_of,
)
from placement.storage.outages import refusal_of

LOG = logging.getLogger(__name__)
T = TypeVar("T")
Operation = Callable[[Connection], T]

#: usual tries of one transaction, and the longest pause between two of them in seconds
TRIES = 10
LONGEST_PAUSE = 1.0
#: seconds that all tries together may take: none is begun that would take longer, if it took as
#: long as the longest before
PATIENCE = 30.0
#: the cause of a further try when an operation found its locks outdated, and raised LostRace
RACE = "race"


def inserted_id(result: sa.CursorResult) -> int:
    """The id that a one-row INSERT was given."""
    key = result.inserted_primary_key
    if key is None:
        raise LookupError("the statement inserted no row")
    return key[0]


class Database:
    """Runs questions and operations, each a function of one connection.

    `retries` counts how often something was run again, by cause; `statements` how many SQL
    statements the calling thread has sent since it began, those that begin transactions apart.
    """

    def __init__(
        self,
        settings: DatabaseSettings,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self.engine = make_engine(settings)
        self._sqlite = self.engine.dialect.name == "sqlite"
        self._tally = _count_statements(self.engine)
        self._reader, self._writer = modes(self.engine)
        self._pause = pause
        self._clock = clock
        # SQLite lets one writer in at a time and makes others poll; within a process we queue
        # instead. An in-memory database is one connection, so there readers queue as well.
        self._turn = threading.Lock() if self._sqlite else None
        self._read_turn = self._turn if isinstance(self.engine.pool, StaticPool) else None
        self.retries: collections.Counter[str] = collections.Counter()
        self._preparation: Callable[[], object] | None = None
        self._preparing = threading.RLock()
        self._is_preparing = False
        # what SQLAlchemy doesn't see it can't show
        self._asks_directly = not (settings.connection_debug or settings.connection_trace)
        # also at the end of the process: SQLite then puts all into the one file that is copied
        self._end = weakref.finalize(self, _dispose, self.engine, os.getpid())

    @property
    def statements(self) -> int:
        """What the calling thread has sent."""
        return self._tally.count

    def read(self, question: Operation[T]) -> T:
        """Answer a question from one consistent snapshot of the database.

        A lost connection is replaced and the question asked again. Raises ValueNotStorable when
        the database can't even compare with a value, TooMuchAtOnce with so many of them, and
        DatabaseUnavailable when it can't be asked or no connection of the pool gets free.
        """
        return self._read(question)

    def _read(self, question: Operation[T], begun: float | None = None) -> T:
        try:
            self._prepare()
            return self._run(self._reader, self._read_turn, question, begun=begun)
        except (DBAPIError, PoolExhausted) as error:
            refusal = refusal_of(error)
            if refusal is None:
                raise
            raise refusal from error

    def ask(self, question: CompiledSelect, **values: Any) -> Rows:
        """The rows that one small question is answered with; raises what `read` does.

        The driver is asked without SQLAlchemy, whose way to it costs several times as much as
        such a statement; should that fail in any way, it is asked again as by `read`.
        """
        begun = None
        if self._asks_directly and self._preparation is None:
            begun = self._clock()
            try:
                with self._taking(self._read_turn, PATIENCE):
                    return self._asked(question, values)
            except PoolExhausted as error:
                raise refusal_of(error) or error from error
            except Exception as error:
                LOG.debug("Asks again: %s", error)
        return self._read(
            lambda connection: [
                tuple(row) for row in connection.execute(question.statement, values)
            ],
            begun,
        )

    def _asked(self, question: CompiledSelect, values: Mapping[str, Any]) -> Rows:
        connection = self.engine.raw_connection()
        try:
            rows = question.put(connection.cursor(), self.engine.dialect, values)
        except BaseException:
            connection.invalidate()
            raise
        finally:
            connection.close()
        self._tally.count += 1
        return rows

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction like those of `write`, tried once, without a turn or a time limit.

        For changes of the schema, which take as long as the tables are large.
        """
        if self._sqlite:
            engine, mode = self.engine, self._writer
        else:
            engine = make_engine(self._settings, patient=True)
            mode = modes(engine, patient=True)[1]
        with mode.engine.connect() as connection, connection.begin():
            mode.begin(connection)
            yield connection

    def write(self, operation: Operation[T], tries: int = TRIES) -> T:
        """Run an operation in one transaction: all of it happens, or nothing.

        Failures that another writer caused (deadlock, serialization, lost connection before the
        commit, a row of the same name inserted meanwhile) run the operation again from the start,
        at most so many times and for PATIENCE; then LostRace is raised. So does an operation that
        raises LostRace itself. Raises ValueNotStorable where SQLite, which minds neither length nor
        range, would not, TooMuchAtOnce for a statement beyond the database's limits, and
        DatabaseUnavailable or StorageFull when it is for the operator to act; then nothing
        happened. A connection that is lost while it commits is OutcomeUnknown, and so is a failure
        after a node of a cluster couldn't commit.
        """
        if tries < 1:
            raise LostRace()
        try:
            self._prepare()
            return self._run(self._writer, self._turn, operation, tries)
        except (DBAPIError, PoolExhausted) as error:
            cause = failure_of(error) if isinstance(error, DBAPIError) else None
            if cause is not None and cause not in OUTAGES:
                LOG.error("Gave up a write: %s", cause)
                raise LostRace() from error
            refusal = refusal_of(error)
            if refusal is None:
                raise
            raise refusal from error

    def prepare_first(self, preparation: Callable[[], object]) -> None:
        """Have this done once, before the next question or operation is run.

        It may read and write itself. What it raises is that question's failure, and the next one
        tries it again; a failure to reach the database is told as such.
        """
        self._preparation = preparation

    def _prepare(self) -> None:
        if self._preparation is None:
            return
        with self._preparing:
            # who comes here while it goes on is itself; all others wait
            if self._preparation is None or self._is_preparing:
                return
            self._is_preparing = True
            try:
                self._preparation()
                self._preparation = None
            finally:
                self._is_preparing = False

    def _run(
        self,
        mode: Mode,
        turn: "threading.Lock | None",
        operation: Operation[T],
        tries: int = TRIES,
        begun: float | None = None,
    ) -> T:
        """Run in a transaction, again while a failure may pass; raises the last one.

        Deadlocks don't use up tries: we lock in one order, so it is the nodes of a cluster that met
        in the same rows. One of them was let through, and this one may lose many times in a row.

        :param begun: when it was first tried, if it was
        """
        now = self._clock()
        begun = now if begun is None else begun
        longest = now - begun
        doubtful = False
        for attempt in itertools.count(1):
            last, committing = now, False
            try:
                with (
                    self._taking(turn, PATIENCE - LONGEST_LOCK - (now - begun)),
                    mode.engine.connect() as connection,
                    connection.begin(),
                ):
                    mode.begin(connection)
                    result = operation(connection)
                    committing = mode is self._writer
                return result
            except (OverflowError, UnicodeEncodeError) as error:
                # SQLite's driver's words for what is beyond 64 bits or no UTF-8
                raise ValueNotStorable() from error
            except (DBAPIError, LostRace) as error:
                cause = _cause_of(error, committing)
                failure: Exception = error
            doubtful = doubtful or cause == COMMIT_FAILED
            if cause != DEADLOCK:
                tries -= 1
            now = self._clock()
            longest = max(longest, now - last)
            if not tries or now - begun + longest > PATIENCE:
                raise OutcomeUnknown() if doubtful else failure
            self.retries[cause] += 1
            LOG.debug("Runs again after %s (try %d)", cause, attempt)
            self._pause(random.uniform(0, min(LONGEST_PAUSE, 0.01 * 2 ** min(attempt, 10))))
        raise AssertionError("unreachable: the last try returns or raises")

    @contextlib.contextmanager
    def _taking(self, turn: "threading.Lock | None", seconds: float) -> Iterator[None]:
        """Hold the turn, if there are turns. Raises LostRace if it isn't got within `seconds`."""
        if turn is None:
            yield
            return
        if not turn.acquire(timeout=max(0.0, seconds)):
            raise LostRace()
        try:
            yield
        finally:
            turn.release()

    def wait_until_reachable(self) -> None:
        """Connect, as often and in such intervals as the settings say; for the start of a process.

        Raises OperationalError when the last try failed, or when waiting is of no use. A SQLite
        file is there or not, so that is tried once.
        """
        tries = 0
        while True:
            try:
                self.engine.connect().close()
            except DBAPIError as error:
                tries += 1
                limit = self._settings.max_retries
                if not is_unreachable(error) or (limit >= 0 and tries > limit):
                    raise
                left = "" if limit < 0 else f", {limit - tries + 1} tries left"
                LOG.warning("The database can't be reached%s: %s", left, words_of(error.orig))
                self._pause(self._settings.retry_interval)
            else:
                return

    def close(self) -> None:
        """Give all pooled connections back."""
        self.engine.dispose()


def _cause_of(error: DBAPIError | LostRace, committing: bool) -> str:
    """Why to try again. Raises the error that is none that may pass."""
    if isinstance(error, LostRace):
        return RACE
    if is_not_storable(error):
        raise ValueNotStorable() from error
    if is_too_large(error):
        raise TooMuchAtOnce() from error
    cause = failure_of(error)
    if committing and cause == DISCONNECT:
        LOG.error("A connection was lost while a change was stored: %s", words_of(error.orig))
        raise OutcomeUnknown() from error
    if cause is None:
        raise error
    return cause


def _dispose(engine: sa.Engine, process: int) -> None:
    """Close the connections, but not those that are another process's."""
    engine.dispose(close=os.getpid() == process)


class _Tally(threading.local):
    count = 0


def _count_statements(engine: sa.Engine) -> _Tally:
    """Count them where they are handed to the driver, which costs least."""
    tally = _Tally()

    def count(cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith(("BEGIN", "SET TRANSACTION")):
            tally.count += 1

    for moment in ("do_execute", "do_executemany", "do_execute_no_params"):
        event.listen(engine, moment, count)
    return tally
