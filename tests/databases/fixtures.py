"""Fixtures for tests that run once on each kind of database.

SQLite is always available. The others need a server's programs. Without these, the tests are
skipped with a reason that names the package to install; they fail if `CI=true`, so that no run in
CI passes without all databases. `BERTH_TEST_DATABASES=sqlite,mariadb` restricts the tests to these
kinds.

Tests marked `spread_over_databases` check what doesn't depend on the database. Each of them runs on
one kind that it has, and together they run on all, three fifths of them on SQLite. If the mark
names kinds, they run on these, as many on each. With `--thorough` each runs on every kind, and so
do those marked `thorough`, which otherwise don't run: their neighbours check the same with less.
"""

import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import extent, leftovers
from tests.databases.fresh import (
    Databases,
    MariaDBCopies,
    PostgreSQLCopies,
    SQLiteFiles,
)
from tests.databases.keeper import join
from tests.databases.servers import SERVERS, Server, ServerFailed

#: a file system in memory, and the free bytes that it needs to be used
MEMORY = Path("/dev/shm")
ROOM = 2 * 1024**3

KINDS = ("sqlite", "postgresql", "mariadb")
CHOSEN = os.environ.get("BERTH_TEST_DATABASES", ",".join(KINDS)).split(",")
COPIES: dict[str, Callable[[Any], Databases]] = {
    "postgresql": PostgreSQLCopies,
    "mariadb": MariaDBCopies,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that runs everything, on each kind of database."""
    parser.addoption(
        "--thorough",
        action="store_true",
        help="run each test on every kind of database, and tests that take long",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Tell tests that draw examples how many to draw; they ask when they are imported."""
    extent.thorough = config.getoption("thorough")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave each test that is spread over the databases to one of them; leave out the longest."""
    if config.getoption("thorough"):
        return
    chosen = chosen_of(items)
    if len(chosen) < len(items):
        here = set(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item not in here])
        items[:] = chosen


def chosen_of(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return those that run: of a test that is spread, the one with the kind of its name."""
    kinds_of: dict[str, set[str]] = {}
    for item in items:
        kinds_of.setdefault(_name(item), set()).add(_kind(item))
    return [item for item in items if _runs(item, kinds_of[_name(item)])]


def _kind(item: pytest.Item) -> str:
    """Return the kind of database of a test; empty if it has none."""
    chosen = getattr(item, "callspec", None)
    kind = chosen.params.get("database_kind") if chosen else None
    # without a kind to choose from pytest skips the test, and its parameter is no text
    return kind if isinstance(kind, str) else ""


def _name(item: pytest.Item) -> str:
    """Return the name that a test has on each kind of database."""
    return item.nodeid.replace(_kind(item), "", 1)


def _runs(item: pytest.Item, there: set[str]) -> bool:
    """Return whether the test runs on its kind.

    :param there: the kinds that it has
    """
    if item.get_closest_marker("thorough") is not None:
        return False
    kind, spread = _kind(item), item.get_closest_marker("spread_over_databases")
    if not kind or spread is None:
        return True
    kinds = [one for one in CHOSEN if one in there and one in (spread.args or KINDS)]
    number = zlib.crc32(_name(item).encode())
    # on a server, a short test takes nearly twice the processor time
    if not spread.args and "sqlite" in kinds and number % 5 < 2:
        return kind == "sqlite"
    return bool(kinds) and kinds[number % len(kinds)] == kind


@pytest.fixture(scope="session", params=CHOSEN)
def database_kind(request: pytest.FixtureRequest) -> str:
    """Return the kind of database that this test runs on: sqlite, postgresql or mariadb."""
    return request.param


def only(*kinds: str) -> Any:
    """Return the fixture `database_kind` of a module whose tests are for some kinds alone."""

    @pytest.fixture(scope="session", params=[kind for kind in CHOSEN if kind in kinds])
    def database_kind(request: pytest.FixtureRequest) -> str:
        return request.param

    return database_kind


@pytest.fixture(scope="session")
def database_servers() -> Callable[[str], Server]:
    """Return a function that gives the server of a kind, and starts it at the first call."""
    found: dict[str, Server] = {}

    def server(kind: str) -> Server:
        if kind not in found:
            refuse_if_missing(kind)
            try:
                with leftovers.lasting():
                    found[kind] = join(kind, _folder(kind))
            except ServerFailed as failed:
                pytest.fail(str(failed), pytrace=False)
        return found[kind]

    return server


def refuse_if_missing(kind: str) -> None:
    """Skip the test, or fail it in CI, if the server of a kind isn't installed."""
    missing = SERVERS[kind].missing()
    if missing is None:
        return
    reason = f"NOT TESTED ON {kind.upper()}: {missing}"
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _folder(kind: str) -> Path:
    """Create a folder for this run of the tests, with a short path, as socket paths are limited.

    The folder is in memory if there is enough: creating a table is ten times as fast there.
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
    """Return a function that gives the database maker of a kind, created once in each process."""
    found: dict[str, Databases] = {}

    def copies(kind: str) -> Databases:
        if kind not in found:
            server = database_servers(kind)
            with leftovers.lasting():
                found[kind] = COPIES[kind](server)
        return found[kind]

    return copies


@pytest.fixture
def new_database(
    database_kind: str, _copies: Callable[[str], Databases], tmp_path: Path
) -> Iterator[Callable[..., str]]:
    """Return a function that makes databases for this test; see `Databases.lent`."""
    with makers(database_kind, _copies, tmp_path).lent() as new:
        yield new


@pytest.fixture
def database_url(new_database: Callable[..., str]) -> str:
    """Return the URL of a fresh database."""
    return new_database()


@pytest.fixture(scope="module")
def module_databases(
    database_kind: str,
    _copies: Callable[[str], Databases],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., str]]:
    """Return a function that makes databases that the module's tests share."""
    folder = tmp_path_factory.mktemp("databases")
    with makers(database_kind, _copies, folder).lent() as new:
        yield new


@pytest.fixture(scope="module")
def module_database_url(module_databases: Callable[..., str]) -> str:
    """Return the URL of a database that the module's tests share."""
    return module_databases()


def makers(kind: str, copies: Callable[[str], Databases], folder: Path) -> Databases:
    """Return the maker of databases of a kind; SQLite's are files in the folder."""
    return SQLiteFiles(folder) if kind == "sqlite" else copies(kind)
