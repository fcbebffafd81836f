"""Options of group [placement_database] on real servers (rest-api.md 7.2)."""

import contextlib
import dataclasses
import logging

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from placement import config
from placement.app import open_database
from placement.storage import resource_classes
from placement.storage.database.engine import Database, DatabaseSettings

ONE = sa.text("SELECT 1")


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def opened(database_url, pauses):
    """Return a function that opens the database with other settings, or another database."""
    with contextlib.ExitStack() as stack:

        def opened(url=database_url, **settings):
            database = Database(DatabaseSettings(url, **settings), pause=pauses.append)
            return stack.enter_context(contextlib.closing(database))

        yield opened


@pytest.fixture
def server(database_kind):
    """Return the kind of server, or None: for SQLite, the tests check that nothing happens."""
    if database_kind == "sqlite":
        return None
    return database_kind


def elsewhere(url):
    """Return the URL of the same database on a socket without a listener."""
    return url.replace("berth-", "nobody-")


def test_the_start_tries_as_often_as_configured(opened, database_url, server, pauses):
    database = opened(elsewhere(database_url), max_retries=3, retry_interval=7)
    if server is None:
        database.wait_until_reachable()
        assert pauses == []
        return
    with pytest.raises(DBAPIError):
        database.wait_until_reachable()
    assert pauses == [7, 7, 7]


def test_the_start_tries_without_limit_if_configured(database_url, server):
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 12:
            raise InterruptedError

    settings = DatabaseSettings(elsewhere(database_url), max_retries=-1, retry_interval=1)
    with contextlib.closing(Database(settings, pause=pause)) as database:
        ended = contextlib.nullcontext() if server is None else pytest.raises(InterruptedError)
        with ended:
            database.wait_until_reachable()
    assert len(pauses) == (0 if server is None else 12)


def test_the_wait_ends_when_the_server_answers(opened, pauses):
    opened().wait_until_reachable()
    assert pauses == []


def test_the_start_does_not_wait_for_a_missing_database(opened, database_url, server, pauses):
    if server is None:
        database = opened("sqlite:////nowhere/at/all/placement.db")
    else:
        database = opened(database_url.replace("/test_", "/no_test_"))
    with pytest.raises(DBAPIError):
        database.wait_until_reachable()
    assert pauses == []


@pytest.mark.parametrize(
    ("level", "said"), [(0, set()), (49, set()), (50, {"statement"}), (100, {"statement", "row"})]
)
def test_statements_are_logged_as_configured(opened, caplog, level, said):
    database = opened(connection_debug=level)
    database.read(
        lambda connection: connection.execute(sa.text("SELECT 400000 + 21212 AS answer")).all()
    )
    texts = " ".join(record.getMessage() for record in caplog.records)
    found = {"statement"} if "SELECT 400000 + 21212" in texts else set()
    found |= {"row"} if "421212" in texts else set()
    assert found == said


def test_statements_name_the_calling_code_if_configured(opened, caplog):
    database = opened(connection_debug=50, connection_trace=True)
    prepared(database)
    database.read(lambda connection: resource_classes.exists(connection, "VCPU"))
    texts = [record.getMessage() for record in caplog.records]
    assert any("/storage/resource_classes.py:" in text and " exists" in text for text in texts)


def test_a_service_works_with_connection_trace(database_url):
    conf = config.load(
        files=[],
        environ=False,
        overrides={
            ("placement_database", "connection"): database_url,
            ("placement_database", "connection_trace"): True,
            ("placement_database", "sync_on_startup"): True,
        },
    )
    with contextlib.closing(open_database(conf)) as database:
        assert database.read(lambda connection: resource_classes.exists(connection, "VCPU"))


def test_a_replica_is_not_used(database_url, caplog):
    conf = config.load(
        files=[],
        environ=False,
        overrides={
            ("placement_database", "connection"): database_url,
            ("placement_database", "slave_connection"): "sqlite:////nowhere/replica.db",
            ("placement_database", "sync_on_startup"): True,
        },
    )
    with caplog.at_level(logging.INFO), contextlib.closing(open_database(conf)) as database:
        assert database.read(lambda connection: resource_classes.exists(connection, "VCPU"))
    assert "slave_connection isn't used" in caplog.text


@pytest.mark.parametrize(
    ("mode", "strict"), [("TRADITIONAL", True), ("ANSI", False), ("", True)], ids=str
)
def test_mysql_has_the_configured_mode_and_stores_class_id_0(opened, server, mode, strict):
    database = opened(mysql_sql_mode=mode)
    if server != "mariadb":
        assert database.read(lambda connection: connection.execute(ONE).scalar()) == 1
        return
    question = sa.text("SELECT @@SESSION.sql_mode")
    modes = database.read(lambda connection: connection.execute(question).scalar()).split(",")
    assert ("STRICT_TRANS_TABLES" in modes, "NO_AUTO_VALUE_ON_ZERO" in modes) == (strict, True)


COUNT = sa.text("SELECT count(*) FROM traits")
INSERT = sa.text("INSERT INTO traits (name) VALUES ('CUSTOM_BESIDES')")


def test_a_read_sees_one_snapshot(opened, server):
    reader, writer = opened(), opened()
    prepared(reader)

    def read(connection):
        before = connection.execute(COUNT).scalar()
        writer.write(lambda other: other.execute(INSERT))
        return before, connection.execute(COUNT).scalar()

    before, after = reader.read(read)
    assert after == before
    assert reader.read(lambda connection: connection.execute(COUNT).scalar()) == before + 1


def test_a_write_sees_concurrent_commits(opened, server):
    mine, others = opened(), opened()
    prepared(mine)

    def write(connection):
        before = connection.execute(COUNT).scalar()
        if server is not None:
            # SQLite doesn't allow concurrent writers
            others.write(lambda other: other.execute(INSERT))
        return before, connection.execute(COUNT).scalar()

    before, after = mine.write(write)
    assert after == before + (server is not None)


def prepared(database):
    """Return a database with tables; SQLite's files start empty."""
    conf = config.load(
        files=[],
        environ=False,
        overrides={
            ("placement_database", "connection"): database.engine.url.render_as_string(False),
            ("placement_database", "sync_on_startup"): True,
        },
    )
    open_database(conf).close()


END_OTHERS = {
    "postgresql": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    "mariadb": "SELECT id FROM information_schema.processlist "
    "WHERE db = DATABASE() AND id <> CONNECTION_ID()",
}


@pytest.mark.parametrize("way", ["read", "write"])
def test_a_connection_that_the_server_closed_is_replaced(opened, server, way):
    database, killer = opened(), opened()
    run = getattr(database, way)
    run(lambda connection: connection.execute(ONE))

    if server is not None:
        with killer.engine.connect() as connection:
            for (number,) in connection.execute(sa.text(END_OTHERS[server])).all():
                if server == "mariadb":
                    connection.execute(sa.text(f"KILL {number}"))

    assert run(lambda connection: connection.execute(ONE).scalar()) == 1
    assert database.retries == ({} if server is None else {"disconnect": 1})


def test_every_setting_comes_from_the_option_of_its_name():
    conf = config.load(
        files=[],
        environ=False,
        overrides={("placement_database", "connection"): "sqlite://"},
    )
    settings = DatabaseSettings.of(conf.placement_database)
    unused = {"slave_connection", "sync_on_startup"}
    known = {field.name for field in dataclasses.fields(settings)}
    assert known == set(conf.placement_database.keys()) - unused
