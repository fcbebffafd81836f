"""What searches remember of the trees they look at is as new as the cloud, after any write."""

import random
import uuid

import pytest

from placement.candidates import subset_choice
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
    "resources=VCPU:1&limit=2",
    "resources=VCPU:1,VGPU:1&required=CUSTOM_FAST&limit=2",
    "resources=VCPU:1&resources_G=VGPU:1&required_G=in:CUSTOM_FAST,HW_CPU_X86_VMX&limit=3",
    "resources=VCPU:1&root_required=HW_CPU_X86_VMX&limit=2",
    "resources=VCPU:1&member_of={rack0}&limit=2",
    "resources=VCPU:1&member_of=in:{rack0},{rack1}&limit=3",
]


@pytest.fixture
def service(tmp_path, monkeypatch):
    """Return a service that begins each search with few trees."""
    for name, value in {"SMALL": 0, "FEWEST": 2, "EACH": 1, "MOST": 1, "CHUNK": 2}.items():
        monkeypatch.setattr(subset_choice, f"_{name}", value)
    return Service(f"sqlite:///{tmp_path}/placement.db")


def test_searches_among_writes_find_what_a_new_service_finds(service):
    cloud = Cloud(service).build(CLOUD)
    source = random.Random(20261127)
    queries = [query.format(**cloud.aggregates) for query in QUERIES]

    for _ in range(40):
        source.choice([claim, give_traits, join, move_away])(service, cloud, source)
        found = [candidates(service, query) for query in queries]
        anew = Service(service.url)
        assert found == [candidates(anew, query) for query in queries]
        anew.close()


def candidates(service, query):
    answer = service.get(f"/allocation_candidates?{query}")
    assert answer.status_code == 200, answer.text
    return answer.json


def claim(service, cloud, source):
    provider = cloud.uuids[f"h{source.randrange(12)}"]
    body = {
        "allocations": {provider: {"resources": {"VCPU": 1}}},
        "project_id": "project",
        "user_id": "user",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    answer = service.put(f"/allocations/{uuid.UUID(int=source.getrandbits(128))}", body)
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
