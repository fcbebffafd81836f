"""The database: one view per read, one transaction per write, bounded retry.

See architecture.rst D3.
"""

import collections
import contextlib
import functools
import itertools
import logging
import math
import os
import random
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from placement.errors import (
    DatabaseReadOnly,
    LostRace,
    OutcomeUnknown,
    PlacementError,
    ValueNotStorable,
)
from placement.metrics.tally import UNCOUNTED, Tally
from placement.storage.database.assumptions import Unusual
from placement.storage.database.causes import cause_of, is_unreadable
from placement.storage.database.compiled import Awaited, Compiled, Rows
from placement.storage.database.connection import Connection as Connection
from placement.storage.database.engine_setup import (
    Preparation,
    StandIn,
    count_statements,
    driver_of,
    make_engine,
    time_statements,
)
from placement.storage.database.kept_connections import KeptConnections
from placement.storage.database.lock_waits import LockWaits, most_waiting
from placement.storage.database.modes import Mode, modes
from placement.storage.driver.database_settings import DatabaseSettings as DatabaseSettings
from placement.storage.driver.dialects import LONGEST_LOCK
from placement.storage.driver.drivers import StatementDriver
from placement.storage.driver.failures import (
    COMMIT_FAILED,
    DEADLOCK,
    DISCONNECT,
    LOCK_TIMEOUT,
    OUTAGES,
    failure_of,
    is_unreachable,
    words_of,
)
from placement.storage.driver.mysql_sessions import LONGEST_STATEMENT
from placement.storage.driver.outages import refusal_of
from placement.storage.driver.sqlite_sessions import FILE

LOG = logging.getLogger(__name__)
T = TypeVar("T")
Operation = Callable[[Connection], T]

#: how often a transaction is tried by default, and the longest pause between two tries in seconds
TRIES = 10
LONGEST_PAUSE = 1.0
#: Seconds that all tries together may take. Each new try is expected to take as long as the longest
#: try before it; if it would then end too late, it isn't begun.
PATIENCE = 30.0
#: after so many waits for rows alone, after each of which others were faster, a write waits in line
_MOST_OVERTAKEN = 2


class Database:
    """Runs reads and writes; each is a function of one connection, in a transaction of its own.

    `retries` counts by cause how often a transaction was run again. `statements` is the number of
    SQL statements that the calling thread has sent so far, without those that begin transactions.
    `is_read_only` is the parameter. `patience` is how many seconds all tries together may take, for
    transactions begun from now on.

    :param pause: waits for so many seconds
    :param clock: monotonic time in seconds
    :param read_only: whether nothing may be written, not even by a fault of this program: the
        database refuses it, and `write` and `transaction` raise RuntimeError
    :param tally: counts statements and retries
    :param timed: whether `seconds` is measured
    """

    def __init__(
        self,
        settings: DatabaseSettings,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        read_only: bool = False,
        tally: Tally = UNCOUNTED,
        timed: bool = False,
    ) -> None:
        self._settings = settings
        self.is_read_only = read_only
        self.engine = make_engine(settings, read_only=read_only)
        self._tally = tally
        self._statements = count_statements(self.engine)
        if timed:
            time_statements(self.engine, self._statements)
        self._reader, self._writer = modes(self.engine, read_only=read_only)
        self._pause = pause
        self._clock = clock
        self.patience = PATIENCE
        self.retries: collections.Counter[str] = collections.Counter()
        #: what has to be done first; None: nothing
        self._preparation: Preparation | None = None
        #: when the database last answered
        self._answered = -math.inf
        # SQLAlchemy can't log or comment a statement that it doesn't send
        logged = settings.connection_debug or settings.connection_trace
        self._driver = None if logged else driver_of(self.engine)
        self._lock_waits = LockWaits(most_waiting(self.engine.pool, settings.max_overflow))
        free = None if self._driver is None else self._driver.is_free
        #: the engine's connections, in use or at rest
        self.kept = KeptConnections(self.engine, free)
        # also at the end of the process: SQLite then writes all data into the main database file
        self._end = weakref.finalize(self, self.kept.dispose, os.getpid())

    @property
    def statements(self) -> int:
        """The number of statements that the calling thread has sent."""
        return self._statements.count

    def answers(self, whether: bool, stand_in: StandIn = contextlib.nullcontext) -> None:
        """Say whether the calling thread answers a request from now on.

        The meter counts the statements of a request together with its answer, all at once. It
        counts other statements at the end of their transaction.

        :param stand_in: has another thread answer requests while a write of this one waits for
            others' locks
        """
        self._statements.told = None if whether else self._statements.count
        self._statements.stand_in = stand_in

    def _tell(self) -> None:
        """Have the meter count what the thread has sent, unless it answers a request."""
        statements = self._statements
        if statements.told is not None and statements.told != statements.count:
            self._tally.statements(statements.count - statements.told)
            statements.told = statements.count

    @property
    def repetitions(self) -> int:
        """How often transactions of the calling thread were run again."""
        return self._statements.repetitions

    @property
    def seconds(self) -> float:
        """The time that the calling thread has waited for the database."""
        return self._statements.seconds

    @property
    def is_prepared(self) -> bool:
        """Whether nothing has to be done before the database can be used."""
        return self._preparation is None

    def seconds_since_answer(self) -> float:
        """Return how long ago the database last answered a question; infinite: never."""
        return self._clock() - self._answered

    def read(self, question: Operation[T]) -> T:
        """Run `question` on one consistent snapshot of the database and return its result.

        After a lost connection it is run again on a new one. Raises ValueNotStorable if the
        database can't even compare with a value, TooMuchAtOnce if there are too many values, and
        DatabaseUnavailable if the database can't be reached or the pool has no free connection.
        """
        return self._read(question)

    def _prepare(self) -> None:
        preparation = self._preparation
        if preparation is not None:
            preparation.run()
            if preparation.is_done and self._preparation is preparation:
                self._preparation = None

    def _read(self, question: Operation[T], begun: float | None = None) -> T:
        try:
            self._prepare()
            return self._run(self._reader, question, begun=begun)
        except (DBAPIError, PoolExhausted) as error:
            refusal = refusal_of(error)
            if refusal is None:
                raise
            raise refusal from error
        finally:
            self._tell()

    def ask(self, select: Compiled, **values: object) -> Rows:
        """Return the rows of one small SELECT. Raises what `read` raises.

        The statement goes to the driver directly: SQLAlchemy costs several times as much as such a
        statement. If that fails in any way, the statement is run again as by `read`.
        """
        begun = None
        if self._driver is not None and self._preparation is None:
            begun = self._clock()
            try:
                with self._reader.turn(self.patience):
                    rows = self._rows(self._driver, select, values)
                self._statements.seconds += self._clock() - begun
                return rows
            except PoolExhausted as error:
                raise refusal_of(error) or error from error
            except Exception as error:
                LOG.debug("Asks again after %s", type(error).__name__)
        return self._read(lambda connection: connection.execute(select, values).all(), begun)

    def _rows(
        self, driver: StatementDriver, select: Compiled, values: Mapping[str, object]
    ) -> Rows:
        with self.kept.taken(self.engine) as plain:
            connection = plain.connection
            try:
                form = select.form(driver, values)
                call = form.text, form.placed(values), False
                rows = form.rows(driver.run(connection, [call])[0])
            except BaseException:
                connection.invalidate()
                raise
        self._statements.count += 1
        self._tell()
        self._answered = self._clock()
        return rows

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Open one transaction like those of `write`, tried once, without a time limit.

        For changes of the schema: they take the longer, the larger the tables are.
        """
        self._refuse_if_read_only()
        mode = self._writer
        if self.engine.dialect.name != "sqlite":
            mode = modes(make_engine(self._settings, patient=True), patient=True)[1]
        with mode.engine.connect() as plain, plain.begin():
            connection = Connection(plain, self._statements, self._driver)
            mode.begin(connection, False)
            yield connection
            connection.settle()
        self._tell()

    def write(
        self, operation: Operation[T], tries: int = TRIES, patience: float | None = None
    ) -> T:
        """Run an operation in one transaction: all of it happens, or nothing.

        The operation is run again from its start after a failure that another writer caused
        (deadlock, serialization, a row of the same name inserted concurrently), after a connection
        lost before the commit, or during that of an operation that is refused if it has happened,
        and after the operation itself raised LostRace; at most `tries` times and for `patience`
        seconds (by default the database's). Then LostRace is raised.

        Raises ValueNotStorable if a value is too long or too large for its column (SQLite checks
        neither, and stores it), TooMuchAtOnce if a statement exceeds the database's limits, and
        DatabaseUnavailable or StorageFull if the operator has to act. After these nothing has
        changed. Raises OutcomeUnknown if the connection was lost during the commit, or a node of a
        cluster failed to commit.
        """
        self._refuse_if_read_only()
        if tries < 1:
            raise LostRace()
        try:
            self._prepare()
            return self._run(self._writer, operation, tries, None, patience)
        except (DBAPIError, PoolExhausted) as error:
            cause = failure_of(error) if isinstance(error, DBAPIError) else None
            if cause is not None and cause not in OUTAGES:
                # who says how long it may take goes on with something else
                level = logging.ERROR if patience is None else logging.DEBUG
                LOG.log(level, "Gave up a write: %s", cause)
                raise LostRace() from error
            refusal = refusal_of(error)
            if refusal is None:
                raise
            if isinstance(refusal, DatabaseReadOnly):
                # after a failover, the address leads to another server, and old connections don't
                self.close()
            raise refusal from error
        finally:
            self._tell()

    def prepare_first(self, work: Callable[[], object]) -> None:
        """Have `work` done once, before the next read or write.

        The work may read and write itself. If it fails, the read or write that waited for it raises
        the same error, and the next one tries the work again. That error is DatabaseUnavailable if
        the database can't be reached.
        """
        self._preparation = Preparation(work)

    def _run(
        self,
        mode: Mode,
        operation: Operation[T],
        tries: int = TRIES,
        begun: float | None = None,
        patience: float | None = None,
    ) -> T:
        """Run an operation in a transaction, again after each temporary failure.

        Raises the last failure if the tries or the time are used up.

        The first try puts statements off on the assumption that the usual is the case. If that was
        wrong, the operation is run again at once without assumptions.

        Deadlocks don't use up tries. All writes lock in one order, so a deadlock means that another
        node of a cluster committed a change of the same rows first, and that may happen many times
        in a row. Nor does a try that waits for a lock shortly: the next one first waits for that
        row alone. If it isn't known which row it is, or if none is locked, the server is slow or
        the lock is no row's; then the next try waits for locks as long as it may. So it does if
        others lock rows again and again that became free: it may never be the first otherwise.

        :param begun: when the first try began, if there was one already
        """
        now = self._clock()
        begun = now if begun is None else begun
        patience = self.patience if patience is None else patience
        longest = now - begun
        doubtful = False
        awaited: Awaited | None = None
        waits_longer = False
        overtaken = 0
        longest_statement: float = math.inf
        assumes = True
        for attempt in itertools.count(1):
            last, committing = now, False
            connection: Connection | None = None
            try:
                if awaited is not None:
                    with self._statements.stand_in():
                        looking = functools.partial(self._looking, mode)
                        was_locked = self._lock_waits.wait(awaited, looking)
                    overtaken += was_locked
                    waits_longer = not was_locked or overtaken >= _MOST_OVERTAKEN
                    awaited = None
                with (
                    self._waiting(waits_longer) as waits_longer,
                    mode.turn(patience - LONGEST_LOCK - (now - begun)),
                    self.kept.taken(mode.engine) as plain,
                    plain.begin(),
                ):
                    longest_statement = plain.info.get(LONGEST_STATEMENT, math.inf)
                    connection = self._begun(plain, mode, assumes, waits_longer)
                    result = operation(connection)
                    connection.settle(mode.ending)
                    committing = mode is self._writer
                    file = plain.info.get(FILE)
                    ended = self._clock()
                if committing and file is not None and file.is_replaced:
                    LOG.error("The file %s was replaced while a change was stored", file.path)
                    raise OutcomeUnknown(
                        "The file of the database was replaced while the change was stored. "
                        "It may or may not have happened."
                    )
                # also in a local variable, because another thread may set the attribute meanwhile
                self._answered = answered = self._clock()
                # the end of the transaction is a message to the server, too
                self._statements.seconds += answered - ended
                return result
            except (OverflowError, UnicodeEncodeError) as error:
                # SQLite's driver raises these for numbers beyond 64 bits and text that is no UTF-8
                raise ValueNotStorable() from error
            except Unusual:
                assumes, now = False, self._clock()
                continue
            except (DBAPIError, LostRace) as error:
                if connection is not None and connection.has_assumed and is_unreadable(error):
                    assumes, now = False, self._clock()
                    continue
                committing |= connection is not None and connection.is_ending
                repeatable = connection is not None and connection.is_repeatable
                cause = cause_of(error, committing and not repeatable, longest_statement)
                failure: Exception = error
            except (PlacementError, PoolExhausted) as error:
                if doubtful:
                    # An earlier try's commit, lost or failed on a node of the cluster, may have
                    # happened. Then its own changes may be why this try was refused.
                    raise OutcomeUnknown() from error
                raise
            doubtful |= cause == COMMIT_FAILED or (committing and cause == DISCONNECT)
            waited_shortly = cause == LOCK_TIMEOUT and connection is not None and not waits_longer
            if connection is not None:
                awaited = connection.awaited if cause == LOCK_TIMEOUT else None
            waits_longer = cause == LOCK_TIMEOUT and awaited is None
            if cause != DEADLOCK and not waited_shortly:
                tries -= 1
            now = self._clock()
            longest = max(longest, now - last)
            # the next try begins with a long wait
            next_one = max(longest, LONGEST_LOCK) if waited_shortly else longest
            if not tries or now - begun + next_one > patience:
                raise OutcomeUnknown() if doubtful else failure
            if waited_shortly:
                LOG.debug("Waits for a lock (try %d)", attempt)
                continue
            self.retries[cause] += 1
            self._statements.repetitions += 1
            self._tally.retried(cause)
            LOG.debug("Runs again after %s (try %d)", cause, attempt)
            self._pause(random.uniform(0, min(LONGEST_PAUSE, 0.01 * 2 ** min(attempt, 10))))
        raise AssertionError("unreachable: the last try returns or raises")

    def _begun(
        self, plain: sa.Connection, mode: Mode, assumes: bool = False, waits_longer: bool = False
    ) -> Connection:
        """Begin a transaction."""
        waits = None if waits_longer else self._lock_waits
        connection = Connection(plain, self._statements, self._driver, assumes, waits)
        mode.begin(connection, waits_longer)
        return connection

    @contextlib.contextmanager
    def _waiting(self, longer: bool) -> Iterator[bool]:
        """Yield whether to wait longer than shortly; another thread answers meanwhile.

        Where too many do, the transaction is tried shortly again: the row may be free by now.
        """
        if not longer:
            yield False
            return
        with self._statements.stand_in(), self._lock_waits.in_line() as is_room:
            yield is_room

    @contextlib.contextmanager
    def _looking(self, mode: Mode) -> Iterator[Connection]:
        """Open a transaction that waits longer, and that nothing is left of."""
        with self.kept.taken(mode.engine) as plain:
            transaction = plain.begin()
            try:
                yield self._begun(plain, mode, waits_longer=True)
            finally:
                transaction.rollback()

    def _refuse_if_read_only(self) -> None:
        if self.is_read_only:
            raise RuntimeError("The database was opened for reading only.")

    def wait_until_reachable(self) -> None:
        """Connect; for the start of a process. Settings say how often and at which intervals.

        Raises OperationalError if the last try failed, or if waiting is of no use: a SQLite file is
        tried once.
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
                more = limit - tries + 1
                left = "" if limit < 0 else f", {more} {'try' if more == 1 else 'tries'} left"
                LOG.warning("The database can't be reached%s: %s", left, words_of(error.orig))
                self._pause(self._settings.retry_interval)
            else:
                return

    def close(self) -> None:
        """Close all connections that nobody uses."""
        self.kept.give_back()
        self.engine.dispose()
