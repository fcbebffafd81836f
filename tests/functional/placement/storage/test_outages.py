"""While the database is unreachable, full or busy, responses say so, and no write is partial."""

import contextlib

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from placement.storage.database import engine
from tests.functional.placement.http.test_trouble import LAST_STATEMENT, trouble
from tests.functional.placement.small_cloud import NEW, ROOT, holding

#: messages of drivers when the server can't be reached
REFUSED = {
    "sqlite": ["unable to open database file"],
    "postgresql": ["connection failed: Connection refused"],
    "mariadb": [2003, "Can't connect to MySQL server (Connection refused)"],
}
LOST = OperationalError("INSERT", {}, Exception("gone"), connection_invalidated=True)
CLAIM = holding({ROOT: {"VCPU": 1}})

# pytest 8.3 doesn't find this fixture's parameters behind a fixture that replaces another
pytestmark = pytest.mark.usefixtures("database_kind")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(engine, "LONGEST_PAUSE", 0)


@pytest.fixture
def filled(filled):
    """Return the filled service, whose responses may be 503."""
    return filled.unjudged()


@pytest.fixture
def away(filled, database_kind):
    """Close all connections and prevent new ones, in this block."""

    @contextlib.contextmanager
    def away():
        def refuse(dialect, record, arguments, parameters):
            raise dialect.loaded_dbapi.OperationalError(*REFUSED[database_kind])

        filled.database.close()
        event.listen(filled.database.engine, "do_connect", refuse)
        try:
            yield
        finally:
            event.remove(filled.database.engine, "do_connect", refuse)

    return away


def claim(service):
    return service.put(f"/allocations/{NEW}", CLAIM)


REQUESTS = {
    "a read": lambda service: service.get(f"/resource_providers/{ROOT}"),
    "a search": lambda service: service.get("/allocation_candidates?resources=VCPU:1"),
    "a write": claim,
}


@pytest.mark.parametrize("request_of", REQUESTS.values(), ids=REQUESTS)
def test_while_the_database_is_down_the_service_is_unavailable(filled, away, request_of):
    with away():
        answer = request_of(filled)
    (error,) = answer.json["errors"]
    assert error == {
        "status": 503,
        "title": "Service Unavailable",
        "detail": "The server is currently unavailable. Please try again at a later time.\n\n "
        "The database is not available. Nothing was changed.  ",
        "code": "placement.undefined_code",
        "request_id": answer.headers["x-openstack-request-id"],
    }


def test_while_the_database_is_down_the_versions_are_shown(filled, away):
    with away():
        assert filled.get("/").status_code == 200


def test_when_the_database_is_up_again_the_service_works(filled, away):
    before = filled.get(f"/resource_providers/{ROOT}").json
    with away():
        assert claim(filled).status_code == 503
    after = filled.get(f"/resource_providers/{ROOT}").json
    assert (after, claim(filled).status_code) == (before, 204)


def test_a_connection_that_always_breaks_changes_nothing(filled):
    before = filled.tables()
    with trouble(engine.TRIES, LOST, LAST_STATEMENT):
        answer = claim(filled)
    assert (answer.status_code, filled.tables()) == (503, before)


def test_a_connection_that_breaks_once_is_not_noticed(filled):
    with trouble(1, LOST, LAST_STATEMENT):
        assert claim(filled).status_code == 204


def test_a_connection_that_breaks_during_a_commit_is_an_unknown_outcome(filled):
    def break_off(connection):
        raise LOST

    event.listen(filled.database.engine, "commit", break_off)
    answer = claim(filled)
    event.remove(filled.database.engine, "commit", break_off)
    assert answer.status_code == 503
    assert (
        answer.json["errors"][0]["detail"]
        .strip()
        .endswith(
            "The connection to the database was lost while the change was stored. "
            "It may or may not have happened."
        )
    )


SMALL_POOL = {
    "placement_database__max_pool_size": 1,
    "placement_database__max_overflow": 0,
    "placement_database__pool_timeout": 0,
}


@pytest.fixture
def narrow(new_service):
    """Return a service with a single connection to its database."""
    return new_service(**SMALL_POOL).unjudged()


@pytest.mark.parametrize("method", ["get", "put"])
def test_without_a_free_connection_no_request_waits_longer_than_configured(narrow, method):
    with narrow.database.engine.connect():
        answer = getattr(narrow, method)("/traits/CUSTOM_A")
    assert answer.status_code == 503
    assert "The database is not available." in answer.json["errors"][0]["detail"]


def test_a_connection_that_becomes_free_is_used(narrow):
    with narrow.database.engine.connect():
        narrow.put("/traits/CUSTOM_A")
    assert narrow.put("/traits/CUSTOM_A").status_code == 201
