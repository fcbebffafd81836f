"""What searches remember of the trees they look at is as new as the cloud, after any write."""

import random
import uuid

import pytest

from placement.candidates import search, subset_choice
from placement.candidates.trees import tree_problems
from placement.handlers import allocation_candidates as handler
from tests.extent import examples
from tests.functional.placement.service import Service
from tests.functional.placement.topology import Cloud

CLOUD = [
    provider
    for number in range(12)
    for provider in (
        {
            "name": f"h{number}",
            "inventories": {"VCPU": {"total": 4}},
            "traits": ["HW_CPU_X86_VMX"] if number % 2 else [],
            "aggregates": [f"rack{number % 3}"],
        },
        {
            "name": f"h{number}.0",
            "parent": f"h{number}",
            "inventories": {"VGPU": {"total": 2}},
            "traits": ["CUSTOM_FAST"] if number % 3 else [],
        },
    )
]
QUERIES = [
    "resources=VCPU:1&limit=1",
    "resources=VCPU:1&limit=2",
    "resources=VCPU:1,VGPU:1&required=CUSTOM_FAST&limit=2",
    "resources=VCPU:1&resources_G=VGPU:1&required_G=in:CUSTOM_FAST,HW_CPU_X86_VMX&limit=3",
    "resources=VCPU:1&root_required=HW_CPU_X86_VMX&limit=2",
    "resources=VCPU:1&member_of={rack0}&limit=2",
    "resources=VCPU:1&member_of=in:{rack0},{rack1}&limit=3",
]
#: random ones, each of another kind
WRITES = examples(16, 40)


@pytest.fixture
def service(tmp_path, monkeypatch):
    """Return a service that begins each search with few trees."""
    for name, value in {"FEWEST": 2, "EACH": 1, "MOST": 1, "CHUNK": 2}.items():
        monkeypatch.setattr(subset_choice, f"_{name}", value)
    monkeypatch.setattr(search, "_SMALL", 0)
    # as many trees as a subset has are looked at together
    monkeypatch.setattr(tree_problems, "_FIRST_CHUNK", 2)
    return Service(f"sqlite:///{tmp_path}/placement.db")


@pytest.fixture
def searched(monkeypatch):
    """Return the requests of all searches that were made."""
    requests, search = [], handler.search

    def listen(snapshot, request, *others):
        requests.append(request)
        return search(snapshot, request, *others)

    monkeypatch.setattr(handler, "search", listen)
    return requests


def test_searches_among_writes_find_what_a_new_service_finds(service, searched):
    cloud = Cloud(service).build(CLOUD)
    source = random.Random(20261127)
    queries = [query.format(**cloud.aggregates) for query in QUERIES]
    searches = 2 * WRITES * len(queries)

    for _ in range(WRITES):
        source.choice([claim, give_traits, join, move_away])(service, cloud, source)
        found = [candidates(service, query) for query in queries]
        anew = Service(service.url)
        assert found == [candidates(anew, query) for query in queries]
        anew.close()
    # those of a new service, and not all others
    assert searches / 2 < len(searched) < searches


def test_an_answer_is_given_again_until_the_trees_change_that_it_depends_on(service, searched):
    cloud = Cloud(service).build(CLOUD)
    query = "resources=VCPU:1&limit=1"
    found = [candidates(service, query)["allocation_requests"] for _ in range(2)]
    assert found[0] == found[1]
    (used,) = found[0][0]["allocations"]
    claim_on(service, cloud.uuids["h11"], 1)
    candidates(service, query)
    assert len(searched) == 1
    candidates(service, f"{query}&root_required=HW_CPU_X86_VMX")
    assert len(searched) == 2
    claim_on(service, used, 2)
    shown = candidates(service, query)["provider_summaries"][used]["resources"]["VCPU"]
    assert shown == {"capacity": 4, "used": 1}
    assert len(searched) == 3


def candidates(service, query):
    answer = service.get(f"/allocation_candidates?{query}")
    assert answer.status_code == 200, answer.text
    return answer.json


def claim(service, cloud, source):
    claim_on(service, cloud.uuids[f"h{source.randrange(12)}"], source.getrandbits(128))


def claim_on(service, provider, number):
    body = {
        "allocations": {provider: {"resources": {"VCPU": 1}}},
        "project_id": "project",
        "user_id": "user",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    answer = service.put(f"/allocations/{uuid.UUID(int=number)}", body)
    assert answer.status_code in (204, 409), answer.text


def give_traits(service, cloud, source):
    path = f"/resource_providers/{cloud.uuids[source.choice(list(cloud.uuids))]}"
    traits = source.sample(["HW_CPU_X86_VMX", "CUSTOM_FAST"], source.randrange(3))
    change(service, path, "traits", traits)


def join(service, cloud, source):
    path = f"/resource_providers/{cloud.uuids[source.choice(list(cloud.uuids))]}"
    racks = source.sample(sorted(cloud.aggregates.values()), source.randrange(3))
    change(service, path, "aggregates", racks)


def change(service, path, what, values):
    generation = service.get(path).json["generation"]
    body = {what: values, "resource_provider_generation": generation}
    service.write("PUT", f"{path}/{what}", body)


def move_away(service, cloud, source):
    """Hang a device below another host."""
    device = cloud.uuids[f"h{source.randrange(12)}.0"]
    body = {
        "name": service.get(f"/resource_providers/{device}").json["name"],
        "parent_provider_uuid": cloud.uuids[f"h{source.randrange(12)}"],
    }
    service.write("PUT", f"/resource_providers/{device}", body)
