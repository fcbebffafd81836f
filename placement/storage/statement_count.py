"""How many SQL statements each thread has sent."""

import threading
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from placement.metrics.tally import UNCOUNTED, Tally


class StatementCount(threading.local):
    """The number of statements that the calling thread has sent."""

    count = 0


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
