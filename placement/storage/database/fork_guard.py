"""Connections and forks: a process never uses the connections of its parent.

Servers may fork after the application was made.
"""

import os
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DisconnectionError


def keep_to_process(engine: sa.Engine) -> None:
    """Let the engine hand out only connections that the calling process has opened."""

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: Any) -> None:
        record.info["process"] = os.getpid()

    @event.listens_for(engine, "checkout")
    def checkout(connection: Any, record: Any, proxy: Any) -> None:
        if record.info["process"] != os.getpid():
            # forgotten, not closed: the parent process still uses it
            record.dbapi_connection = proxy.dbapi_connection = None
            raise DisconnectionError("The connection belongs to the process this one came from")


def dispose(engine: sa.Engine, process: int) -> None:
    """Empty the pool. Its connections are closed only in the process that opened them.

    :param process: the id of that process
    """
    engine.dispose(close=os.getpid() == process)
