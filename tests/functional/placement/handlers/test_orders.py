"""Responses have the reference's order: JSON objects have none, but people and tools see it."""

import pytest

from tests.functional.placement.service import Service
from tests.functional.placement.topology import Cloud

pytestmark = pytest.mark.spread_over_databases

MIXED = ("DISK_GB", "VCPU", "MEMORY_MB")
BY_ID = ["VCPU", "MEMORY_MB", "DISK_GB"]


@pytest.fixture
def service(database_url):
    return Service(database_url)


@pytest.fixture
def host(service):
    """Return the path of a host with two consumers, which was written in another order."""
    stock = {name: {"total": 100} for name in MIXED}
    cloud = Cloud(service).build([{"name": "host", "inventories": stock}])
    for number, kind in enumerate(("MIGRATION", "INSTANCE")):
        amounts = dict.fromkeys(MIXED, number + 1)
        body = {
            "allocations": {cloud.uuids["host"]: {"resources": amounts}},
            "project_id": "p",
            "user_id": "u",
            "consumer_generation": None,
            "consumer_type": kind,
        }
        service.write("PUT", f"/allocations/00000000-0000-4000-8000-{number:012}", body)
    return f"/resource_providers/{cloud.uuids['host']}"


@pytest.mark.parametrize("what", ["inventories", "usages"])
def test_classes_of_a_provider_are_in_the_order_of_ids(service, host, what):
    assert list(service.write("GET", f"{host}/{what}")[what]) == BY_ID


def test_allocated_classes_of_a_provider_are_in_the_order_of_ids(service, host):
    held = service.write("GET", f"{host}/allocations")["allocations"]
    assert [list(each["resources"]) for each in held.values()] == [BY_ID, BY_ID]


def test_classes_of_a_project_are_in_the_order_of_ids_with_the_count_after_the_first(service, host):
    by_type = service.write("GET", "/usages?project_id=p")["usages"]
    of_all = service.write("GET", "/usages?project_id=p&consumer_type=all")["usages"]

    expected = ["VCPU", "consumer_count", "MEMORY_MB", "DISK_GB"]
    assert [list(group) for group in by_type.values()] == [expected, expected]
    assert list(of_all["all"].items()) == [
        ("VCPU", 3),
        ("consumer_count", 2),
        ("MEMORY_MB", 3),
        ("DISK_GB", 3),
    ]


def test_traits_that_were_set_are_in_alphabetical_order(service, host):
    wanted = ["STORAGE_DISK_SSD", "HW_CPU_X86_AVX2", "COMPUTE_NODE"]
    body = {"traits": wanted, "resource_provider_generation": 3}
    assert service.write("PUT", f"{host}/traits", body)["traits"] == sorted(wanted)
