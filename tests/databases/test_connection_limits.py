"""The database's server lets one user have so many connections, and others took them."""

import contextlib

import pytest
import sqlalchemy as sa

from placement.storage.database import engine
from tests.databases.fixtures import only
from tests.databases.questions import ask, connected
from tests.faults.running import eventually
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import NEW, ROOT, fill, holding

#: how many connections the user may have
LIMIT = 3
MAKING = {
    "postgresql": (
        "CREATE ROLE {user} LOGIN CONNECTION LIMIT {limit}",
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO {user}",
        "GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {user}",
    ),
    "mariadb": (
        "CREATE USER {user}@localhost WITH MAX_USER_CONNECTIONS {limit}",
        "GRANT ALL ON {database}.* TO {user}@localhost",
    ),
}
THERE = {
    "postgresql": "SELECT 1 FROM pg_stat_activity WHERE usename = :user",
    "mariadb": "SELECT 1 FROM information_schema.processlist WHERE user = :user",
}
REMOVING = {
    "postgresql": ("DROP OWNED BY {user}", "DROP ROLE {user}"),
    "mariadb": ("DROP USER {user}@localhost",),
}


#: kinds with a server
database_kind = only("postgresql", "mariadb")


@pytest.fixture
def url(database_url, database_kind):
    """Return the URL of a user with a limit."""
    parsed = sa.make_url(database_url)
    names = {"user": f"few_{parsed.database}", "limit": LIMIT, "database": parsed.database}

    def run(statements):
        with connected(database_url) as connection:
            for statement in statements:
                connection.execute(sa.text(statement.format(**names)))
            connection.commit()

    run(MAKING[database_kind])
    yield parsed.set(username=names["user"]).render_as_string(hide_password=False)
    run(REMOVING[database_kind])


@pytest.fixture
def service(url, monkeypatch):
    monkeypatch.setattr(engine, "LONGEST_PAUSE", 0)
    service = Service(url).unjudged()
    fill(service)
    yield service
    service.close()


@pytest.fixture
def others(service, url, database_url, database_kind):
    """Take all connections of the user, until the block ends; return what gives them back."""
    user = sa.make_url(url).username

    def ended():
        # a server counts those that were closed until it notices
        eventually(lambda: not ask(database_url, THERE[database_kind], user=user))

    service.database.close()
    ended()
    with contextlib.ExitStack() as stack:
        stack.callback(ended)
        for _ in range(LIMIT):
            stack.enter_context(connected(url))
        yield stack.close


def claim(service):
    return service.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))


def test_without_a_connection_a_request_is_refused_and_later_ones_succeed(service, others):
    search = "/allocation_candidates?resources=VCPU:1"
    for answer in (claim(service), service.get(f"/resource_providers/{ROOT}"), service.get(search)):
        assert answer.status_code == 503
        assert "The database is not available. Nothing was changed." in answer.text
    assert service.get("/").status_code == 200
    others()
    assert claim(service).status_code == 204


def test_a_connection_that_becomes_free_meanwhile_is_used(service, others, monkeypatch):
    monkeypatch.setattr(service.database, "_pause", lambda seconds: others())
    assert claim(service).status_code == 204
