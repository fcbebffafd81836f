"""A time limit for a PostgreSQL server that does not answer.

PostgreSQL's client library waits for an answer without end.
"""

import time
from collections.abc import Generator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

_Steps = Generator[Any, Any, Any]


def limit_silence(engine: sa.Engine, seconds: float) -> None:
    """Close a connection of psycopg when its server has not answered for so many seconds.

    The statement then fails with the driver's OperationalError.
    """

    @event.listens_for(engine, "connect", insert=True)
    def connect(connection: Any, record: Any) -> None:
        wait = connection.wait

        def wait_while_heard(steps: _Steps, *arguments: Any, **options: Any) -> Any:
            return wait(_while_heard(steps, connection, seconds), *arguments, **options)

        connection.wait = wait_while_heard


def _while_heard(steps: _Steps, connection: Any, seconds: float) -> _Steps:
    """Pass the driver's steps on, until nothing has arrived for so many seconds.

    The driver says at each step, at least ten times a second, whether something has arrived.
    Closes the connection and raises the driver's OperationalError after the silence.
    """
    heard = time.monotonic()
    try:
        awaited = next(steps)
        while True:
            ready = yield awaited
            if ready:
                heard = time.monotonic()
            elif time.monotonic() - heard > seconds:
                connection.close()
                raise _silent(seconds)
            awaited = steps.send(ready)
    except StopIteration as end:
        return end.value


def _silent(seconds: float) -> Exception:
    # imported here, because PostgreSQL's driver is an optional dependency
    from psycopg import OperationalError

    return OperationalError(f"the server has not answered for {seconds:g} seconds")
