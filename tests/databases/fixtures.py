"""Fixtures of tests that run once on each kind of database.

SQLite is always there. The others need a server's programs: without them their tests are skipped,
with a reason that says what to install – and fail where `CI=true`, so that no run passes that has
not tried all. `BERTH_TEST_DATABASES=sqlite,mariadb` runs them on these only.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.databases.fresh import (
    Databases,
    MariaDBCopies,
    PostgreSQLCopies,
    SQLiteFiles,
)
from tests.databases.keeper import join
from tests.databases.servers import SERVERS, Server, ServerFailed

#: a file system in memory, and the bytes it must have for the servers' data
MEMORY = Path("/dev/shm")
ROOM = 2 * 1024**3

KINDS = ("sqlite", "postgresql", "mariadb")
CHOSEN = os.environ.get("BERTH_TEST_DATABASES", ",".join(KINDS)).split(",")
COPIES: dict[str, Callable[[Any], Databases]] = {
    "postgresql": PostgreSQLCopies,
    "mariadb": MariaDBCopies,
}


@pytest.fixture(scope="session", params=CHOSEN)
def database_kind(request: pytest.FixtureRequest) -> str:
    """The kind of database this test runs on: sqlite, postgresql or mariadb."""
    return request.param


@pytest.fixture(scope="session")
def database_servers() -> Callable[[str], Server]:
    """Gives the server of a kind, which is started when it is first asked for."""
    found: dict[str, Server] = {}

    def server(kind: str) -> Server:
        if kind not in found:
            refuse_if_missing(kind)
            try:
                found[kind] = join(kind, _folder(kind))
            except ServerFailed as failed:
                pytest.fail(str(failed), pytrace=False)
        return found[kind]

    return server


def refuse_if_missing(kind: str) -> None:
    """Skip the test, or fail it in CI, if a kind of server isn't installed."""
    missing = SERVERS[kind].missing()
    if missing is None:
        return
    reason = f"NOT TESTED ON {kind.upper()}: {missing}"
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _folder(kind: str) -> Path:
    """One for each run of the tests; short, because sockets' paths must be.

    In memory if there is room: a table is made ten times as fast.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    place = Path(tempfile.gettempdir())
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and _free(MEMORY) > ROOM:
        place = MEMORY
    return place / f"berth-{kind}-{os.getuid()}-{run[:12]}"


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


@pytest.fixture(scope="session")
def _copies(database_servers: Callable[[str], Server]) -> Callable[[str], Databases]:
    """One maker for each kind, so that its connection and its template are made once."""
    found: dict[str, Databases] = {}

    def copies(kind: str) -> Databases:
        if kind not in found:
            found[kind] = COPIES[kind](database_servers(kind))
        return found[kind]

    return copies


@pytest.fixture
def new_database(
    database_kind: str, _copies: Callable[[str], Databases], tmp_path: Path
) -> Iterator[Callable[..., str]]:
    """Makes databases for this test alone; see :func:`tests.databases.fresh.Databases.lent`."""
    with _makers(database_kind, _copies, tmp_path).lent() as new:
        yield new


@pytest.fixture
def database_url(new_database: Callable[..., str]) -> str:
    """The URL of a fresh database."""
    return new_database()


@pytest.fixture(scope="module")
def module_database_url(
    database_kind: str,
    _copies: Callable[[str], Databases],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """The URL of a database that the module's tests share."""
    folder = tmp_path_factory.mktemp("databases")
    with _makers(database_kind, _copies, folder).lent() as new:
        yield new()


def _makers(kind: str, copies: Callable[[str], Databases], folder: Path) -> Databases:
    return SQLiteFiles(folder) if kind == "sqlite" else copies(kind)
