"""Transactions of other programs on the database, and transactions that wait for locks."""

import time

from tests.databases.questions import ask, kind_of
from tests.faults.running import eventually

_WAITING = {
    "postgresql": """
        SELECT pid, xact_start FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'
    """,
    "mysql": """
        SELECT p.id, t.trx_id FROM information_schema.innodb_trx t
        JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
        WHERE p.db = database() AND t.trx_state = 'LOCK WAIT'
    """,
}


#: MariaDB returns cached data to a query within a tenth of a second after the last one
UNOBSERVED = 0.15


def waiting_transactions(url: str) -> list[tuple]:
    """Return the session of each transaction that waits for another one's lock. Not for SQLite.

    The second value tells transactions of one session apart.
    """
    time.sleep(UNOBSERVED)
    return ask(url, _WAITING[kind_of(url)])


def waiting(url: str) -> int:
    """Return how many transactions wait for another one's lock. Not for SQLite."""
    return len(waiting_transactions(url))


def wait_until_somebody_waits(url: str, count: int = 1) -> None:
    """Wait until at least `count` transactions wait for locks."""
    eventually(lambda: waiting(url) >= count, lambda: f"{waiting(url)} wait for a lock")
