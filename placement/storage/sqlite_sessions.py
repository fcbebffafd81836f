"""What each new connection to SQLite is set to."""

import os
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event

from placement.storage.dialects import LONGEST_LOCK


def read_only_url(url: sa.URL) -> sa.URL:
    """Return the URL of a file that SQLite opens for reading only, and doesn't create."""
    if url.database in (None, "", ":memory:") or url.database.startswith("file:"):
        return url
    path = quote(os.path.abspath(url.database))
    return url.set(database=f"file:{path}", query={**url.query, "mode": "ro", "uri": "true"})


def set_up_sqlite(engine: sa.Engine, synchronous: bool, read_only: bool = False) -> None:
    """Use WAL, so that readers never wait, and begin transactions only on request.

    :param synchronous: whether a commit waits for the disk
    :param read_only: whether nothing may be written; the file's journal mode stays as it is, too
    """

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: Any) -> None:
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {LONGEST_LOCK * 1000}")
        if not read_only:
            connection.execute("PRAGMA journal_mode = WAL")
        # the upper limit of the page cache in KiB; the default is enough for a few hundred hosts
        connection.execute("PRAGMA cache_size = -16384")
        connection.execute(f"PRAGMA synchronous = {'FULL' if synchronous else 'OFF'}")
