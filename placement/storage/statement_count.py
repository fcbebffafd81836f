"""How many SQL statements each thread has sent."""

import threading
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from placement.metrics.tally import UNCOUNTED, Tally


class StatementCount(threading.local):
    """The number of statements that the calling thread has sent.

    `seconds` is the time that it waited for the database, complete only after `time_statements`.
    """

    count = 0
    #: how often a transaction was run again
    repetitions = 0
    seconds = 0.0
    begun = 0.0


def count_statements(engine: sa.Engine, tally: Tally = UNCOUNTED) -> StatementCount:
    """Count the statements of an engine, except those that begin transactions.

    They are counted where SQLAlchemy hands them to the driver, which costs least.
    """
    statements = StatementCount()

    def count(cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith(("BEGIN", "SET TRANSACTION")):
            statements.count += 1
            tally.statement()

    for moment in ("do_execute", "do_executemany", "do_execute_no_params"):
        event.listen(engine, moment, count)
    return statements


def time_statements(engine: sa.Engine, statements: StatementCount) -> None:
    """Time the statements that SQLAlchemy sends; it costs some microseconds for each."""

    @event.listens_for(engine, "before_cursor_execute")
    def begin(*_: Any) -> None:
        statements.begun = time.perf_counter()

    @event.listens_for(engine, "after_cursor_execute")
    def end(*_: Any) -> None:
        statements.seconds += time.perf_counter() - statements.begun

    @event.listens_for(engine, "handle_error")
    def fail(*_: Any) -> None:
        statements.seconds += time.perf_counter() - statements.begun


def count_connections(engine: sa.Engine, tally: Tally) -> None:
    """Tell how many connections of the engine's pool are in use and idle.

    A new connection comes to the pool as an idle one, which is then taken.
    """
    for moment, in_use, idle in (
        ("connect", 0, 1),
        ("checkout", 1, -1),
        ("checkin", -1, 1),
        ("close", 0, -1),
    ):
        event.listen(engine, moment, _told(tally, in_use, idle))


def _told(tally: Tally, in_use: int, idle: int) -> Callable[..., None]:
    return lambda *_: tally.connections(in_use, idle)
