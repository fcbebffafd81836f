"""How many SQL statements each thread has sent."""

import threading
import time
from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy import event

from placement.metrics.tally import UNCOUNTED, Tally


class StatementCount(threading.local):
    """The number of statements that the calling thread has sent.

    `seconds` is the time that it waited for the database, complete only after `time_statements`.

    :param tell: called for each statement that isn't sent for a request
    """

    count = 0
    #: whether the thread answers a request: its statements are counted with its answer
    of_request = False
    #: how often a transaction was run again
    repetitions = 0
    seconds = 0.0
    #: when the thread began to wait; None: it doesn't wait
    begun: float | None = None

    def __init__(self, tell: Callable[[], None]) -> None:
        # `threading.local` calls this once in each thread
        self._tell = tell

    def sent(self) -> None:
        """Count a statement."""
        self.count += 1
        if not self.of_request:
            self._tell()

    def begin(self, *_: object) -> None:
        """Note that the thread waits from now on."""
        self.begun = time.perf_counter()

    def end(self, *_: object) -> None:
        """Add the time since `begin`, if there was one."""
        if self.begun is not None:
            self.seconds += time.perf_counter() - self.begun
            self.begun = None


def count_statements(engine: sa.Engine, tally: Tally = UNCOUNTED) -> StatementCount:
    """Count the statements of an engine, except those that begin transactions.

    They are counted where SQLAlchemy hands them to the driver, which costs least.
    """
    statements = StatementCount(tally.statement)

    def count(cursor: object, statement: str, *_: object) -> None:
        if not statement.startswith(("BEGIN", "SET TRANSACTION")):
            statements.sent()

    for moment in ("do_execute", "do_executemany", "do_execute_no_params"):
        event.listen(engine, moment, count)
    return statements


def time_statements(engine: sa.Engine, statements: StatementCount) -> None:
    """Time new connections, and the statements that SQLAlchemy sends.

    It costs some microseconds for each statement.
    """
    for moment in ("do_connect", "before_cursor_execute"):
        event.listen(engine, moment, statements.begin)
    # an error may also come before anything was sent: then `begin` wasn't called
    for moment in ("connect", "after_cursor_execute", "handle_error"):
        event.listen(engine, moment, statements.end)
