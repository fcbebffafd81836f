"""How many messages a server gets for a write: each costs more than most statements."""

import pytest

from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import (
    HOLDER,
    NEW,
    ROOT,
    expect,
    fill,
    holding,
    numbered,
    stock,
)

AGGREGATES = {"aggregates": [numbered("b", 1)], "resource_provider_generation": 5}
TRAITS = {"traits": ["HW_CPU_X86_AVX2"], "resource_provider_generation": 5}
#: what is written, and in how many messages, PostgreSQL's beside COMMIT, MariaDB's with it: what is
#: read, and what is stored. The usual write is a single message with COMMIT on PostgreSQL
WRITES = {
    "a claim": (f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}), 204, (1, 2)),
    # the held providers are known after the first
    "another claim": (f"/allocations/{HOLDER}", holding({ROOT: {"VCPU": 1}}, 2), 204, (1, 3)),
    "inventories": (
        f"/resource_providers/{ROOT}/inventories",
        stock(5, VCPU=9, DISK_GB=100, CUSTOM_A=4),
        200,
        # a custom class is locked
        (3, 3),
    ),
    "traits": (f"/resource_providers/{ROOT}/traits", TRAITS, 200, (1, 2)),
    "no traits": (f"/resource_providers/{ROOT}/traits", TRAITS | {"traits": []}, 200, (2, 2)),
    "aggregates": (f"/resource_providers/{ROOT}/aggregates", AGGREGATES, 200, (1, 2)),
}


@pytest.fixture(params=["postgresql", "mariadb"])
def database_kind(request):
    return request.param


@pytest.mark.parametrize(("path", "body", "status", "few"), WRITES.values(), ids=WRITES)
def test_a_write_takes_few_messages(database_url, database_kind, messages, path, body, status, few):
    service = Service(database_url)
    fill(service)
    # what a process does once
    expect(service.get(f"/resource_providers/{ROOT}"), 200)
    messages.clear()
    expect(service.put(path, body), status)
    assert len(messages) == few[database_kind == "mariadb"], messages


def test_a_claim_of_a_consumer_that_must_be_new_changes_nothing_of_one_that_holds(database_url):
    service = Service(database_url)
    fill(service)
    before = service.get(f"/allocations/{HOLDER}").json
    refused = expect(service.put(f"/allocations/{HOLDER}", holding({ROOT: {"VCPU": 1}})), 409)
    assert refused.json["errors"][0]["code"] == "placement.concurrent_update"
    assert service.get(f"/allocations/{HOLDER}").json == before
