"""A claim ends within the limit of a search, however entangled its groups are (extensions.md 4)."""

import random

import pytest

from tests.functional.placement.extensions.claims.claiming import ask, got, outcome
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import expect, holding, numbered
from tests.functional.placement.topology import Cloud

#: of a search that is to end before its time, and of one beside another claim that isn't
SHORT, LONG = 0.5, 2
DEVICES, GROUPS = 6, 24
CUSTOM = "CUSTOM_BYTES"


@pytest.fixture(params=[SHORT])
def service(tmp_path, request):
    """Return a service with a host of devices, and a limit for searches."""
    options = {"berth__search_time_limit": request.param}
    service = Service(f"sqlite:///{tmp_path}/placement.db", **options)
    devices = [
        {"name": f"d{n}", "parent": "host", "inventories": {CUSTOM: {"total": 10**9}}}
        for n in range(DEVICES)
    ]
    host = {"name": "host", "inventories": {"VCPU": {"total": 64}}}
    uuids = Cloud(service).build([host, *devices]).uuids
    service.host, *service.devices = (uuids[one["name"]] for one in (host, *devices))
    return service.unjudged()


def amounts():
    """Return amounts of which hardly any two sums are equal."""
    source = random.Random(1)
    return [source.randint(10**6, 10**7) for _ in range(GROUPS)]


def entangled():
    """Return groups with these amounts.

    A random choice is quickly made. Who has what of a device is then bin packing without any slack.
    """
    groups = [f"resources_{n}={CUSTOM}:{amount}" for n, amount in enumerate(amounts())]
    return "&".join(["resources=VCPU:1", *groups, "group_policy=none"])


def test_what_a_repetition_could_not_tell_again_is_not_claimed(service):
    before = service.tables()
    for _ in range(2):
        refused = ask(service, numbered("c", 1), query=entangled(), strategy="random")
        assert outcome(refused) == "berth.search_unfinished"
        assert "[berth]search_time_limit" in refused.text
    assert service.tables() == before


@pytest.mark.parametrize("service", [LONG], indirect=True)
def test_another_claim_that_comes_at_the_same_time_is_answered(service):
    """Together they are written by one thread, and the first one is a long search."""
    assert outcome(ask(service, numbered("c", 1), query=entangled(), strategy="random")) != 200
    assert got(ask(service, numbered("c", 2))) == [service.host]


def test_a_consumer_that_holds_what_no_search_can_take_apart_is_refused_in_time(service):
    """Another client stored it."""
    source, held = random.Random(2), {}
    for amount in amounts():
        device = source.choice(service.devices)
        held[device] = held.get(device, 0) + amount
    allocations = {uuid: {CUSTOM: amount} for uuid, amount in held.items()}
    allocations[service.host] = {"VCPU": 1}
    expect(service.put(f"/allocations/{numbered('c', 1)}", holding(allocations)), 204)
    before = service.tables()
    assert outcome(ask(service, numbered("c", 1), query=entangled())) == "berth.search_unfinished"
    assert service.tables() == before
