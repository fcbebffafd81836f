"""PostgreSQL tells which rows are new since a moment, and when it can't."""

import contextlib
import os
import signal
import zlib

import pytest
import sqlalchemy as sa

from placement.errors import PlacementError
from placement.storage import tables
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.schema import readiness
from placement.storage.whole_cloud import row_versions
from placement.storage.whole_cloud.row_versions import NOTHING, Table, age, moment
from tests.databases.mortal import mortal
from tests.faults.running import eventually

STOCK = tables.resource_provider_traits
WATCHED = Table(STOCK, STOCK.c.resource_provider_id)


@pytest.fixture(scope="module")
def server():
    """Return a server that nobody else uses: its transactions are those of the test."""
    with mortal("postgresql") as found:
        yield found


@pytest.fixture
def name(request):
    """Return the name of the test's own database on the server."""
    return f"berth_{zlib.crc32(request.node.name.encode())}"


@pytest.fixture
def url(server, name):
    server.server.create(name)
    return server.server.url(name)


@pytest.fixture
def database(url):
    found = Database(DatabaseSettings(url))
    readiness.make_ready(found, True, True)
    write(found, "INSERT INTO resource_providers (id, uuid) VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    write(found, "INSERT INTO resource_provider_traits VALUES (NULL, NULL, 1, 1)")
    yield found
    found.close()


def write(database, text):
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(text)


def seen(database):
    return database.read(lambda connection: moment(connection, [WATCHED]))


def written(database, then):
    """Return the total and the providers of rows since a moment; None: it can't be told."""

    def read(connection):
        now = moment(connection, [WATCHED])
        years = now and age(connection, then, now)
        if years is None:
            return None
        total, ids = WATCHED.written(connection, years)
        return total, ids.tolist()

    return database.read(read)


def insert(database, provider_id):
    write(database, f"INSERT INTO resource_provider_traits VALUES (NULL, NULL, 2, {provider_id})")


def test_rows_are_new_until_the_next_moment(database):
    then = seen(database)
    assert written(database, then) == (1, [])
    insert(database, 2)
    assert written(database, then) == (2, [2])
    later = seen(database)
    write(database, "UPDATE resource_provider_traits SET trait_id = 3 WHERE trait_id = 1")
    assert written(database, later) == (2, [1])
    assert written(database, then) == (2, [1, 2])
    write(database, "DELETE FROM resource_provider_traits WHERE trait_id = 3")
    assert written(database, later) == (1, [])
    assert database.read(lambda c: WATCHED.written(c, NOTHING)[1].tolist()) == []


def test_a_vacuum_hides_nothing(database):
    then = seen(database)
    insert(database, 2)
    write(database, "VACUUM FREEZE resource_provider_traits")

    assert written(database, then) == (2, [2])


@pytest.mark.parametrize(
    "statement",
    [
        "VACUUM FULL resource_provider_traits",
        "CLUSTER resource_provider_traits USING resource_provider_traits_pkey",
        "ALTER TABLE resource_provider_traits ALTER trait_id SET DEFAULT 1",
        "ALTER TABLE resource_provider_traits RENAME trait_id TO other",
        "ALTER TABLE resource_provider_traits ENABLE ROW LEVEL SECURITY",
    ],
)
def test_after_a_change_of_the_table_nothing_can_be_told(database, statement):
    then = seen(database)
    write(database, statement)

    assert written(database, then) is None


def test_a_transaction_that_was_open_then_is_new(database, server, name):
    with contextlib.closing(server.server.connect(name)) as other:
        other.autocommit = False
        other.execute("INSERT INTO resource_provider_traits VALUES (NULL, NULL, 2, 3)")
        insert(database, 2)
        then = seen(database)
        assert written(database, then) == (2, [2])
        other.commit()
    assert written(database, then) == (3, [2, 3])


def test_after_a_start_or_a_crash_nothing_can_be_told(database, server):
    then = seen(database)
    (pid,) = database.read(lambda c: c.execute(sa.text("SELECT pg_backend_pid()")).all()[0])
    # one of its processes dies: the server loses what is in memory, and goes on
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: tells_nothing(database, then))

    then = seen(database)
    assert written(database, then) == (1, [])
    server.kill()
    server.start()
    assert written(database, then) is None


def tells_nothing(database, then):
    try:
        return written(database, then) is None
    except PlacementError:
        return False


SWAPPED = {
    "another table": (
        "ALTER TABLE resource_provider_traits RENAME TO before",
        "CREATE TABLE resource_provider_traits AS SELECT * FROM before",
    ),
    "a view": (
        "ALTER TABLE resource_provider_traits RENAME TO before",
        "CREATE VIEW resource_provider_traits AS SELECT *, xmin FROM before",
    ),
    "parts": (
        "ALTER TABLE resource_provider_traits RENAME TO before",
        "CREATE TABLE resource_provider_traits (LIKE before) PARTITION BY LIST (trait_id)",
    ),
}


@pytest.mark.parametrize("statements", SWAPPED.values(), ids=SWAPPED)
def test_of_another_table_nothing_can_be_told(database, statements):
    then = seen(database)
    for statement in statements:
        write(database, statement)

    assert written(database, then) is None
    assert (seen(database) is None) == ("AS SELECT * FROM" not in statements[1])


def test_a_user_who_may_not_ask_is_told_nothing_and_can_go_on(database, url, caplog):
    caplog.set_level("INFO")
    for statement in (
        "CREATE ROLE guest LOGIN",
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO guest",
        "REVOKE SELECT ON pg_stat_bgwriter FROM PUBLIC",
    ):
        write(database, statement)
    guest = Database(DatabaseSettings(url.replace("//berth@", "//guest@")))

    def read(connection):
        found = moment(connection, [WATCHED])
        return found, connection.execute(sa.select(sa.func.count()).select_from(STOCK)).scalar()

    assert guest.read(read) == (None, 1)
    assert "Audits of the snapshot read whole tables: permission denied" in caplog.text
    guest.close()


def test_a_server_that_went_back_or_went_on_too_far_tells_nothing(database):
    then = seen(database)

    def compared(newest):
        now = row_versions.Moment(then.tables, newest, newest)
        return database.read(lambda connection: age(connection, then, now))

    assert compared(then.newest) is not None
    assert compared(then.newest - 1) is None
    assert compared(then.oldest + 2**30) is None


def test_numbers_beyond_the_half_of_their_range_are_told_apart(database):
    """Numbers of transactions begin anew after 4 billion; rows have the lower half alone."""
    then = seen(database)
    far = row_versions.Moment(then.tables, then.oldest + 2**32, then.newest + 2**32)
    insert(database, 2)

    def read(connection):
        years = age(connection, far, row_versions.Moment(far.tables, far.oldest, far.newest))
        return WATCHED.written(connection, years)[1].tolist()

    assert database.read(read) == [2]


@pytest.mark.parametrize("kind", ["sqlite", "mariadb"])
def test_other_databases_tell_nothing(kind, tmp_path):
    if kind == "sqlite":
        database = Database(DatabaseSettings(f"sqlite:///{tmp_path}/db"))
        assert seen(database) is None
        database.close()
        return
    with mortal(kind) as server:
        database = Database(DatabaseSettings(server.url))
        assert seen(database) is None
        database.close()
