"""A worker that starts without its database returns 503 until the database can be reached."""

import concurrent.futures
import contextlib
import socket
import threading

import pytest
from werkzeug.test import Client

from placement import config
from placement.app import create_app
from placement.errors import DatabaseUnavailable
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.schema import readiness, schema_upgrade

HEADERS = {"x-auth-token": "admin", "openstack-api-version": "placement latest"}


@pytest.fixture
def folder(tmp_path):
    """Return the future folder of the database; no database can be opened before it exists."""
    return tmp_path / "later"


@pytest.fixture
def url(folder):
    return f"sqlite:///{folder}/placement.db"


@pytest.fixture
def started(url):
    """Start a service; return a client for it."""

    def started(sync):
        overrides = {
            ("placement_database", "connection"): url,
            ("placement_database", "sync_on_startup"): sync,
            ("api", "auth_strategy"): "noauth2",
        }
        conf = config.load(files=[], environ=False, overrides=overrides)
        # a 503 is expected here, so the responses aren't checked
        return Client(create_app(conf, wait=False).application)

    return started


def statuses(client):
    return [client.get(path, headers=HEADERS).status_code for path in ("/", "/traits")]


def test_it_is_unavailable_until_the_database_exists(started, folder):
    client = started(sync=True)
    away = [statuses(client), statuses(client)]
    folder.mkdir()
    created = client.put("/traits/CUSTOM_A", headers=HEADERS).status_code
    classes = client.get("/resource_classes", headers=HEADERS).json["resource_classes"]
    assert (away, created, len(classes) > 10) == ([[200, 503]] * 2, 201, True)


def test_a_database_without_schema_is_not_used_until_it_is_synced(started, folder, url, caplog):
    client = started(sync=False)
    folder.mkdir()
    refused = statuses(client)
    with contextlib.closing(Database(DatabaseSettings(url))) as database:
        with database.engine.connect() as connection:
            tables = database.engine.dialect.get_table_names(connection)
        schema_upgrade.sync(database)
    assert (refused, tables, statuses(client)) == ([200, 503], [], [200, 200])
    assert "run placement-manage db sync" in caplog.text


def test_nobody_waits_for_a_database_that_is_away():
    pauses = []
    with contextlib.ExitStack() as stack:
        # bound, but nobody listens
        port = stack.enter_context(socket.socket())
        port.bind(("127.0.0.1", 0))
        url = "mysql+pymysql://somebody@{}:{}/placement".format(*port.getsockname())
        database = Database(DatabaseSettings(url), pause=pauses.append)
        stack.enter_context(contextlib.closing(database))
        readiness.make_ready_when_there(database, sync=True, store_standard_names=True)
        with pytest.raises(DatabaseUnavailable):
            database.read(lambda connection: "read")
    assert pauses == []


@pytest.fixture
def database():
    with contextlib.closing(Database(DatabaseSettings("sqlite://"))) as database:
        yield database


def test_the_preparation_runs_once_and_may_use_the_database(database):
    done = []

    def prepare():
        done.append(database.read(lambda connection: "read"))
        done.append(database.write(lambda connection: "written"))

    database.prepare_first(prepare)
    answers = [database.read(lambda connection: list(done)) for _ in range(2)]
    assert answers == [["read", "written"]] * 2


def test_a_failed_preparation_is_repeated_by_the_next_transaction(database):
    failures = [ValueError("first"), ValueError("second")]

    def prepare():
        if failures:
            raise failures.pop(0)

    database.prepare_first(prepare)
    for told in ("first", "second"):
        with pytest.raises(ValueError, match=told):
            database.write(lambda connection: None)
    assert database.read(lambda connection: "answer") == "answer"


def test_other_transactions_wait_for_the_preparation(database):
    begun, go_on, order = threading.Event(), threading.Event(), []

    def prepare():
        begun.set()
        go_on.wait()
        order.append("prepared")

    database.prepare_first(prepare)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        first = pool.submit(database.read, lambda connection: order.append("asked"))
        begun.wait()
        second = pool.submit(database.read, lambda connection: order.append("asked"))
        go_on.set()
        first.result(), second.result()
    assert order == ["prepared", "asked", "asked"]


def test_what_is_put_off_during_a_preparation_is_done_next(database):
    done = []
    database.prepare_first(lambda: database.prepare_first(lambda: done.append("later")))
    found = [database.read(lambda connection: list(done)) for _ in range(2)]
    assert (found, database.is_prepared) == ([[], ["later"]], True)
