"""Connections to the configured database, set up as Berth needs them.

A server may accept a connection and never answer, or stop in the middle of an answer: the server
hangs, its machine was paused, the network drops packets. So each statement of a request has a time
limit: it ends when the server was silent for `read_timeout` seconds, or when a row stayed locked
for LONGEST_LOCK.

Servers may fork after the application was made, so a process never uses the connections of its
parent.
"""

import logging
import os
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from placement.storage.database.tracing import logging_name, name_callers
from placement.storage.driver.database_settings import DatabaseSettings
from placement.storage.driver.dialects import MYSQL, prepare, read_url
from placement.storage.driver.error_log import shorten
from placement.storage.driver.mysql_sessions import set_up_mysql
from placement.storage.driver.postgresql_sessions import limit_silence, set_up_postgresql
from placement.storage.driver.sqlite_sessions import read_only_url, set_up_sqlite


def make_engine(
    settings: DatabaseSettings, patient: bool = False, read_only: bool = False
) -> sa.Engine:
    """Make an engine for the configured database.

    Raises DatabaseUnusable if the URL is unusable or its driver is missing.

    :param patient: for changes of the schema, which may take long and run one after the other:
        without time limits and without a pool
    :param read_only: whether the database refuses to write. With PostgreSQL that is a matter of
        each transaction (`connection.modes`)
    """
    url = read_url(settings.connection, settings.connection_parameters)
    url, options, silence = prepare(url, settings, patient)
    if read_only and url.get_backend_name() == "sqlite":
        url = read_only_url(url)
    if settings.connection_debug:
        options["logging_name"] = logging_name(settings.connection_debug)
    engine = sa.create_engine(url, **options)
    _keep_to_process(engine)
    shorten(logging.getLogger("sqlalchemy.pool.impl.QueuePool"))
    if settings.connection_trace:
        name_callers(engine)
    if engine.dialect.name == "sqlite":
        set_up_sqlite(engine, settings.sqlite_synchronous, read_only)
    elif engine.dialect.name in MYSQL:
        set_up_mysql(engine, settings.mysql_sql_mode, patient, read_only)
    elif engine.dialect.driver == "psycopg":
        set_up_postgresql(engine, patient)
        if silence is not None:
            limit_silence(engine, silence)
    return engine


def _keep_to_process(engine: sa.Engine) -> None:
    """Let the engine hand out only connections that the calling process has opened."""

    @event.listens_for(engine, "connect")
    def connect(connection: object, record: ConnectionPoolEntry) -> None:
        record.info["process"] = os.getpid()

    @event.listens_for(engine, "checkout")
    def checkout(connection: object, record: Any, proxy: Any) -> None:
        if record.info["process"] != os.getpid():
            # forgotten, not closed: the parent process still uses it
            record.dbapi_connection = proxy.dbapi_connection = None
            raise DisconnectionError("The connection belongs to the process this one came from")


def dispose(engine: sa.Engine, process: int) -> None:
    """Empty the pool. Its connections are closed only in the process that opened them.

    :param process: the id of that process
    """
    engine.dispose(close=os.getpid() == process)
