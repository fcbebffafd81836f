"""A database server for one test, which can be killed and started again, or frozen."""

import atexit
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests import leftovers
from tests.databases.fixtures import MEMORY, refuse_if_missing
from tests.databases.servers import MariaDB, PostgreSQL
from tests.patience import PATIENCE


class DurablePostgreSQL(PostgreSQL):
    """PostgreSQL whose committed data survives a kill."""

    def _starting(self) -> list[str]:
        return [*super()._starting(), "--synchronous_commit=on"]

    def create(self, name: str) -> None:
        """Create an empty database."""
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}")


class DurableMariaDB(MariaDB):
    """MariaDB whose committed data survives a kill."""

    def _starting(self) -> list[str]:
        return [*super()._starting(), "--innodb-flush-log-at-trx-commit=2"]

    def create(self, name: str) -> None:
        """Create an empty database."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")


KINDS: dict[str, type[DurablePostgreSQL | DurableMariaDB]] = {
    "postgresql": DurablePostgreSQL,
    "mariadb": DurableMariaDB,
}


class Mortal:
    """A server whose process can be killed. `url` is that of an empty database."""

    def __init__(self, server: DurablePostgreSQL | DurableMariaDB) -> None:
        self.server = server
        self._owner = leftovers.owner()
        shutil.rmtree(server.folder)
        _copy(_template(server.kind), server.folder)
        self.url = server.url("berth")

    @property
    def pid(self) -> int:
        """The id of the server's process."""
        return self._process.pid

    def start(self) -> None:
        """Start the server, again after `kill`, and wait until it answers."""
        with self._owner.going_on():
            self._process = self.server.start()
            end = time.monotonic() + PATIENCE
            while not self._answers():
                assert time.monotonic() < end, self.server.log()
                time.sleep(0.01)

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            # the memory of the killed server may be locked for a moment
            self._process = self.server.start()
        return self.server.ready()

    def kill(self) -> None:
        """Kill the server, all its processes, if it lives."""
        if self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGSTOP)
        children = self._children()
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        # on a busy machine they would answer for a while before they notice
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop all its processes in this block: connections stay open, and nothing answers."""
        self._process.send_signal(signal.SIGSTOP)
        children = self._children()
        for child in children:
            os.kill(child, signal.SIGSTOP)
        try:
            yield
        finally:
            for each in (*children, self.pid):
                os.kill(each, signal.SIGCONT)

    def _children(self) -> list[int]:
        """Return its processes but the first, which is stopped and so makes no more of them.

        PostgreSQL has one for each connection.
        """
        told = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        return [int(child) for child in told.split()]


@functools.cache
def _template(kind: str) -> Path:
    """Make the data of a server that was never started, once in each process of the tests."""
    folder = Path(tempfile.mkdtemp(prefix="berth-", dir=_place()))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    KINDS[kind](folder).make()
    return folder


def _copy(template: Path, folder: Path) -> None:
    """Copy a folder with its owners."""
    subprocess.run(["cp", "--archive", "--sparse=always", template, folder], check=True)


def _place() -> Path | None:
    return MEMORY if MEMORY.is_dir() else None


@contextlib.contextmanager
def mortal(kind: str, *options: str) -> Iterator[Mortal]:
    """Yield a server of the kind; remove it with its folder at the end.

    :param options: further ones of the server's command
    """
    refuse_if_missing(kind)
    folder = Path(tempfile.mkdtemp(prefix="berth-", dir=_place()))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        server = KINDS[kind](folder)
        server.options = options
        found = Mortal(server)
        # also one that never answers
        stack.callback(found.kill)
        found.start()
        server.create("berth")
        yield found
