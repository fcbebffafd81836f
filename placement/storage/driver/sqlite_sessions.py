"""What each new connection to SQLite is set to."""

import contextlib
import dataclasses
import fcntl
import logging
import os
import sqlite3
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry

from placement.storage.driver.dialects import LONGEST_LOCK

LOG = logging.getLogger(__name__)
#: where `Connection.info` has the file that a connection has open
FILE = "file"
_LOG_FILE = "log file"
_OPENED = "/proc/self/fd"


@dataclasses.dataclass(frozen=True)
class OpenFile:
    """The file of a database, as it was when a connection opened it.

    An operator who restores a backup may rename it over the file while services run. SQLite goes
    on with the file that has no name any more, and doesn't notice it in WAL mode: what is written
    then is lost.

    :param number: the numbers of the file system, and of the file in it; None: no such file
    """

    path: str
    number: tuple[int, int] | None

    @classmethod
    def of(cls, path: str) -> "OpenFile":
        """Return the file that has the path now."""
        try:
            found = os.stat(path)
        except OSError:
            return cls(path, None)
        return cls(path, (found.st_dev, found.st_ino))

    @property
    def is_replaced(self) -> bool:
        """Whether the path leads to another file now, or to none; this one is open.

        Some file systems give one file several numbers in turn. So what counts is the name that the
        system gives the open file.
        """
        if OpenFile.of(self.path) == self:
            return False
        for opened in os.listdir(_OPENED):
            with contextlib.suppress(OSError):
                found = os.stat(f"{_OPENED}/{opened}")
                if (found.st_dev, found.st_ino) == self.number:
                    return os.readlink(f"{_OPENED}/{opened}") != os.path.realpath(self.path)
        return False


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
    def connect(connection: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {LONGEST_LOCK * 1000}")
        if not read_only:
            connection.execute("PRAGMA journal_mode = WAL")
        # the upper limit of the page cache in KiB; the default is enough for a few hundred hosts
        connection.execute("PRAGMA cache_size = -16384")
        connection.execute(f"PRAGMA synchronous = {'FULL' if synchronous else 'OFF'}")

    path = engine.url.database
    if path not in (None, "", ":memory:") and not path.startswith("file:"):
        _watch_file(engine, os.path.abspath(path))


def _watch_file(engine: sa.Engine, path: str) -> None:
    """Open the database anew where its file was replaced."""
    log = f"{path}-wal"
    opened: list[bool] = []

    @event.listens_for(engine, "do_connect")
    def connecting(dialect: sa.Dialect, record: ConnectionPoolEntry, *_: object) -> None:
        file = OpenFile.of(path)
        if opened and file.number is None:
            # SQLite would make an empty file, in the way of what the operator restores
            raise sqlite3.OperationalError(f"the file {path} is gone")
        record.info[FILE] = file

    @event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
        opened[:] = [True]
        if record.info[FILE].number is None:
            record.info[FILE] = OpenFile.of(path)
        # SQLite opens the log with the first statement that reads
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        record.info[_LOG_FILE] = OpenFile.of(log)

    @event.listens_for(engine, "checkout")
    def taken(connection: sqlite3.Connection, record: ConnectionPoolEntry, proxy: object) -> None:
        if record.info[FILE].is_replaced:
            LOG.warning("The database is opened anew: its file %s was replaced", path)
            _forget_log(record.info[_LOG_FILE])
            raise InvalidatePoolError()


def _forget_log(log: OpenFile) -> None:
    """Remove the write-ahead log of the file that was replaced, which still has its name.

    SQLite would take it for the log of the new file, and mix both. Other processes may have removed
    it already, and the log that is there be the new one's.
    """
    folder = os.open(os.path.dirname(log.path), os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if log.number is not None and OpenFile.of(log.path) == log:
            for path in (log.path, f"{log.path.removesuffix('-wal')}-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
    finally:
        os.close(folder)
