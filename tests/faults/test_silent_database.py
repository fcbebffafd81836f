"""A server that accepts connections without answering, and one that becomes silent while in use."""

import concurrent.futures
import contextlib

import pytest
from sqlalchemy import event

from tests.databases.fixtures import only
from tests.databases.silence import between
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import NEW, ROOT, fill, holding

#: seconds: short limits in the URL, and a timeout for the test
LIMITS = "connect_timeout=2&read_timeout=1"
PATIENCE = 3
HANGS = 60


#: databases that are servers
database_kind = only("postgresql", "mariadb")


@pytest.fixture
def listener(database_url):
    with between(database_url) as found:
        yield found


@pytest.fixture
def service(listener):
    _, url = listener
    service = Service(url, placement_database__connection_parameters=LIMITS).unjudged()
    fill(service)
    service.database.patience = PATIENCE
    yield service
    service.database.close()


def claim(service):
    return service.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))


REQUESTS = {
    "a read": lambda service: service.get(f"/resource_providers/{ROOT}"),
    "a search": lambda service: service.get("/allocation_candidates?resources=VCPU:1"),
    "a write": claim,
}


def answer(service, request_of):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(request_of, service).result(HANGS)


@pytest.mark.parametrize("connected", [True, False], ids=["falls silent", "never answers"])
@pytest.mark.parametrize("request_of", REQUESTS.values(), ids=REQUESTS)
def test_a_silent_server_is_unavailable_and_used_when_it_answers_again(
    service, listener, request_of, connected, database_kind
):
    if not connected:
        service.database.close()
    with listener[0].silent():
        refused = answer(service, request_of)
    assert refused.status_code == 503
    # PostgreSQL gets a claim and its COMMIT in one message
    at_once = connected and request_of is claim and database_kind == "postgresql"
    words = "It may or may not have happened." if at_once else "The database is not available."
    assert words in refused.json["errors"][0]["detail"]
    assert answer(service, request_of).status_code in (200, 204)


def test_silent_connections_are_not_reused(service, listener):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        opened = [service.database.engine.connect() for _ in range(4)]
        for each in opened:
            each.close()
        with listener[0].silent():
            refused = list(pool.map(REQUESTS["a read"], [service] * 4))
        before = sum(service.database.retries.values())
        found = list(pool.map(REQUESTS["a read"], [service] * 4))
    assert [each.status_code for each in refused] == [503] * 4
    assert [each.status_code for each in found] == [200] * 4
    assert sum(service.database.retries.values()) == before


def test_a_commit_without_an_answer_is_reported_as_an_unknown_outcome(service, listener):
    with contextlib.ExitStack() as silence:

        def fall_silent(connection):
            silence.enter_context(listener[0].silent())

        event.listen(service.database.engine, "commit", fall_silent, once=True)
        refused = answer(service, claim)
    assert refused.status_code == 503
    assert "It may or may not have happened." in refused.json["errors"][0]["detail"]
