"""What each new session of MariaDB, MySQL or a Galera cluster is set to."""

import zlib
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import ConnectionPoolEntry

from placement.storage.driver.dialects import LONGEST_LOCK
from placement.storage.driver.drivers import BATCHES
from placement.storage.driver.message_answers import connection_class
from placement.storage.driver.mysql_driver import LONGEST, end_only_what_is_open, takes_several

#: key in the `info` of a connection to a node of a Galera cluster; the value is a number other than
#: 0, made from the node's name
CLUSTER = "cluster"
#: key there of the longest statement that the server takes, in bytes; it closes the connection of a
#: longer one
LONGEST_STATEMENT = "longest statement"
#: keys there of the seconds that a statement waits for a row's lock if its transaction holds no
#: other one, and of whether the session waits for so long now
LONG_WAIT, WAITS_LONGER = "long wait", "waits longer"
#: seconds that it waits if the transaction may hold other locks
SHORT_WAIT = 1
_LIMIT_OF_ROWS = "innodb_lock_wait_timeout"
#: key there of whether InnoDB refuses writes that are READ COMMITTED, because of the binary log
LOGS_STATEMENTS = "logs statements"
_VARIABLES = (
    *("wsrep_on", "wsrep_node_name", "max_allowed_packet", _LIMIT_OF_ROWS),
    *("log_bin", "binlog_format"),
)
#: the statements before which a node of a Galera cluster waits for the other nodes: SELECT and
#: BEGIN, UPDATE and DELETE, INSERT, SHOW
_GALERA_WAITS = 1 | 2 | 4 | 8


def set_up_mysql(engine: sa.Engine, sql_mode: str, patient: bool, read_only: bool = False) -> None:
    """Set SQL mode, isolation and lock limits, and find out whether the server is a Galera node.

    :param sql_mode: empty: the server's own mode
    :param patient: whether statements wait for locks as long as the server allows
    :param read_only: whether the server refuses to write
    """

    if engine.dialect.driver == "pymysql":
        end_only_what_is_open(engine)
        # no listener of `do_connect`, which would end the calls of others
        engine.dialect.connect = connection_class()  # type: ignore[method-assign]

    # before SQLAlchemy finds out what the mode says of quotation marks
    @event.listens_for(engine, "connect", insert=True)
    def connect(connection: Any, record: ConnectionPoolEntry) -> None:
        with connection.cursor() as cursor:
            if sql_mode:
                cursor.execute("SET SESSION sql_mode = %s", (sql_mode,))
            # the first resource class has the id 0, which MySQL otherwise replaces by the next id
            cursor.execute(
                "SET SESSION sql_mode = CONCAT(@@SESSION.sql_mode, ',NO_AUTO_VALUE_ON_ZERO')"
            )
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            if read_only:
                cursor.execute("SET SESSION TRANSACTION READ ONLY")
            if not patient:
                limit = "lock_wait_timeout"
                cursor.execute(f"SET SESSION {limit} = LEAST(@@SESSION.{limit}, {LONGEST_LOCK})")
            cursor.execute(f"SHOW VARIABLES WHERE Variable_name IN {_VARIABLES}")
            variables = dict(cursor.fetchall())
            if not patient:
                record.info[LONG_WAIT] = min(int(variables[_LIMIT_OF_ROWS]), LONGEST_LOCK)
                cursor.execute(_wait_for(min(record.info[LONG_WAIT], SHORT_WAIT)))
            logged = variables.get("log_bin"), variables.get("binlog_format")
            record.info[LOGS_STATEMENTS] = logged == ("ON", "STATEMENT")
            record.info[LONGEST_STATEMENT] = int(variables["max_allowed_packet"])
            if engine.dialect.driver == "pymysql" and record.info[LONGEST_STATEMENT] >= LONGEST:
                record.info[BATCHES] = takes_several(connection)
            if variables.get("wsrep_on") == "ON":
                record.info[CLUSTER] = 1 + zlib.crc32(variables["wsrep_node_name"].encode())
                # each transaction sees all that was committed before on any node of the cluster
                cursor.execute(f"SET SESSION wsrep_sync_wait = {_GALERA_WAITS}")

    @event.listens_for(engine, "reset")
    def reset(connection: Any, record: ConnectionPoolEntry, state: object) -> None:
        if record.info.pop(WAITS_LONGER, False):
            with connection.cursor() as cursor:
                cursor.execute(_wait_for(min(record.info[LONG_WAIT], SHORT_WAIT)))


def wait_longer(info: dict[Any, Any]) -> str:
    """Return the statement that lets a session wait longer, until its connection is given back.

    :param info: what is known of the session
    """
    info[WAITS_LONGER] = True
    return _wait_for(info[LONG_WAIT])


def _wait_for(seconds: int) -> str:
    return f"SET SESSION {_LIMIT_OF_ROWS} = {seconds}"
