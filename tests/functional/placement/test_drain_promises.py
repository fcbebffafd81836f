"""What doc/drain.rst says of others who act meanwhile."""

import pytest

from tests.functional.placement.extensions.claims.claiming import ask
from tests.functional.placement.small_cloud import expect, holding, numbered, stock

A, B = (numbered("a", number) for number in (1, 2))
VM, OTHER = (numbered("c", number) for number in (1, 2))
HELD = {"VCPU": 4, "MEMORY_MB": 4096}


@pytest.fixture
def cloud(service):
    """Two hosts; VM is on the first."""
    for uuid, name in ((A, "host1"), (B, "host2")):
        expect(service.post("/resource_providers", {"name": name, "uuid": uuid}), 200)
        path = f"/resource_providers/{uuid}/inventories"
        expect(service.put(path, stock(0, VCPU=8, MEMORY_MB=16384)), 200)
    expect(service.put(f"/allocations/{VM}", holding({A: HELD})), 204)
    return service


def reserve_all(service):
    generation = service.get(f"/resource_providers/{A}").json["generation"]
    body = stock(generation, VCPU=8, MEMORY_MB=16384)
    for record in body["inventories"].values():
        record["reserved"] = record["total"]
    expect(service.put(f"/resource_providers/{A}/inventories", body), 200)


def allocations(service, consumer):
    found = service.get(f"/allocations/{consumer}").json["allocations"]
    return {uuid: part["resources"] for uuid, part in found.items()}


def test_who_finds_its_room_taken_keeps_what_it_has(cloud):
    expect(cloud.put(f"/allocations/{OTHER}", holding({B: {"VCPU": 6}})), 204)
    expect(cloud.put(f"/allocations/{VM}", holding({B: HELD}, generation=1)), 409)
    assert allocations(cloud, VM) == {A: HELD}


def test_no_search_and_no_claim_takes_a_host_that_is_reserved(cloud):
    reserve_all(cloud)
    query = "/allocation_candidates?resources=VCPU:1"
    assert list(cloud.get(query).json["provider_summaries"]) == [B]
    expect(cloud.put(f"/allocations/{OTHER}", holding({A: {"VCPU": 1}})), 409)
    expect(cloud.post("/allocations", {OTHER: holding({A: {"VCPU": 1}})}), 409)
    for number in range(8):
        expect(ask(cloud, numbered("d", number)), 200)
    expect(ask(cloud, numbered("d", 9)), 409)
    assert cloud.get(query).json["allocation_requests"] == []
    assert cloud.get(f"/resource_providers/{A}/usages").json["usages"] == HELD


def test_what_is_on_a_reserved_host_is_kept_and_may_shrink_and_leave(cloud):
    reserve_all(cloud)
    assert allocations(cloud, VM) == {A: HELD}
    smaller = {**HELD, "VCPU": 3}
    expect(cloud.put(f"/allocations/{VM}", holding({A: smaller}, generation=1)), 204)
    expect(cloud.put(f"/allocations/{VM}", holding({B: smaller}, generation=2)), 204)


def test_a_host_that_somebody_claimed_from_is_not_removed(cloud):
    expect(cloud.put(f"/allocations/{VM}", holding({B: HELD}, generation=1)), 204)
    generation = cloud.get(f"/resource_providers/{A}").json["generation"]
    expect(cloud.put(f"/allocations/{OTHER}", holding({A: {"VCPU": 1}})), 204)
    expect(cloud.put(f"/berth/v1/provider_trees/{A}", {"remove": {A: generation}}), 409)
    now = cloud.get(f"/resource_providers/{A}").json["generation"]
    expect(cloud.put(f"/berth/v1/provider_trees/{A}", {"remove": {A: now}}), 409)
    assert allocations(cloud, OTHER) == {A: {"VCPU": 1}}


def test_remove_names_each_provider_of_the_tree(cloud):
    child = numbered("a", 3)
    body = {"name": "host1_card", "uuid": child, "parent_provider_uuid": A}
    expect(cloud.post("/resource_providers", body), 200)
    expect(cloud.put(f"/allocations/{VM}", holding({B: HELD}, generation=1)), 204)
    generation = cloud.get(f"/resource_providers/{A}").json["generation"]
    refused = cloud.put(f"/berth/v1/provider_trees/{A}", {"remove": {A: generation}})
    assert refused.status_code in (400, 409), refused.text
    assert cloud.get(f"/resource_providers/{child}").status_code == 200
