"""Transactions of other programs on the database, and transactions that wait for locks."""

import re

import sqlalchemy as sa

from tests.databases.questions import connected, kind_of
from tests.faults.running import eventually

_POSTGRESQL = """
    SELECT pid, xact_start FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
#: of MariaDB. The table `innodb_trx` is copied from a cache: whoever reads it keeps that from being
#: renewed for a tenth of a second, and so do the tests of other workers together for longer
_STATUS = "SHOW ENGINE INNODB STATUS"
_SESSIONS = "SELECT id FROM information_schema.processlist WHERE db = database()"
#: the number of a transaction, and of its session
_WAITS = re.compile(
    r"^---TRANSACTION (.+?),.*\n(?:mysql tables .*\n)?LOCK WAIT .*\nMariaDB thread id (\d+),", re.M
)


def waiting_transactions(url: str) -> list[tuple]:
    """Return the session of each transaction that waits for another one's lock. Not for SQLite.

    The second value tells transactions of one session apart.
    """
    with connected(url) as connection:
        if kind_of(url) == "postgresql":
            return [tuple(row) for row in connection.execute(sa.text(_POSTGRESQL))]
        status = connection.execute(sa.text(_STATUS)).one()[2]
        here = set(connection.execute(sa.text(_SESSIONS)).scalars())
    found = [(int(session), number) for number, session in _WAITS.findall(status)]
    return [one for one in found if one[0] in here]


def waiting(url: str) -> int:
    """Return how many transactions wait for another one's lock. Not for SQLite."""
    return len(waiting_transactions(url))


def wait_until_somebody_waits(url: str, count: int = 1) -> None:
    """Wait until at least `count` transactions wait for locks."""
    eventually(lambda: waiting(url) >= count, lambda: f"{waiting(url)} wait for a lock")
