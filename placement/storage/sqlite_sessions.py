"""What each new connection to SQLite is set to."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from placement.storage.dialects import LONGEST_LOCK


def set_up_sqlite(engine: sa.Engine, synchronous: bool) -> None:
    """Use WAL, so that readers never wait, and begin transactions only on request.

    :param synchronous: whether a commit waits for the disk
    """

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: Any) -> None:
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {LONGEST_LOCK * 1000}")
        connection.execute("PRAGMA journal_mode = WAL")
        # the upper limit of the page cache in KiB; the default is enough for a few hundred hosts
        connection.execute("PRAGMA cache_size = -16384")
        connection.execute(f"PRAGMA synchronous = {'FULL' if synchronous else 'OFF'}")
