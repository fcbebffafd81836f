"""Many clients of one provider: they allocate its whole capacity, and no client fails.

See architecture.rst D3.
"""

import pytest

from tests.faults.forking import running
from tests.faults.tables import broken_rules
from tests.functional.placement.crowd import at_once
from tests.functional.placement.small_cloud import ROOT, holding, numbered, stock

# what each database grants to many clients at once: tests/databases/test_many_clients.py
pytestmark = pytest.mark.spread_over_databases("sqlite", "postgresql", "mariadb")

CLIENTS = 24
TURNS = 3
PATH = f"/resource_providers/{ROOT}"


@pytest.fixture
def service(database_url):
    with running(database_url) as service:
        assert service.post("/resource_providers", {"name": "root", "uuid": ROOT}).status == 200
        yield service


def run_concurrently(job):
    """Run all clients concurrently; return a count of their responses."""
    return at_once(lambda number: ((a.status, a.code) for a in job(number)), CLIENTS)


def claimed(total):
    """Return the responses if each client allocates once, and `total` allocations fit."""
    refused = CLIENTS * TURNS - total
    return {(204, None): total} | ({(409, "placement.undefined_code"): refused} if refused else {})


@pytest.mark.thorough
def test_new_consumers_get_the_whole_capacity_and_no_more(service, database_url):
    room = CLIENTS * TURNS - 20
    assert service.put(f"{PATH}/inventories", stock(0, VCPU=room)).status == 200

    def claim(number):
        for turn in range(TURNS):
            consumer = numbered("c", number * TURNS + turn)
            wanted = holding({ROOT: {"VCPU": 1}}, project=f"p{turn}", user=f"u{number % 4}")
            yield service.put(f"/allocations/{consumer}", wanted)

    assert run_concurrently(claim) == claimed(room)
    assert service.get(f"{PATH}/usages").body["usages"] == {"VCPU": room}
    assert broken_rules(database_url) == {}


def test_consumers_that_grow_concurrently_get_no_conflict(service, database_url):
    room = CLIENTS * TURNS
    assert service.put(f"{PATH}/inventories", stock(0, VCPU=room)).status == 200

    def grow(number):
        for turn in range(TURNS):
            wanted = holding({ROOT: {"VCPU": turn + 1}}, generation=turn or None)
            yield service.put(f"/allocations/{numbered('c', number)}", wanted)

    assert run_concurrently(grow) == claimed(room)
    after = service.get(f"{PATH}/usages").body
    assert after == {"usages": {"VCPU": room}, "resource_provider_generation": 1 + room}
