"""How many SQL statements each thread has sent."""

import threading
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event


class StatementCount(threading.local):
    """The number of statements that the calling thread has sent."""

    count = 0


def count_statements(engine: sa.Engine) -> StatementCount:
    """Count the statements of an engine, except those that begin transactions.

    They are counted where SQLAlchemy hands them to the driver, which costs least.
    """
    statements = StatementCount()

    def count(cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith(("BEGIN", "SET TRANSACTION")):
            statements.count += 1

    for moment in ("do_execute", "do_executemany", "do_execute_no_params"):
        event.listen(engine, moment, count)
    return statements
