"""Why there are no candidates: the URL among writers, and the line in the log."""

import logging
from types import SimpleNamespace
from urllib.parse import quote
from uuid import uuid4

import pytest

from placement.candidates.request import CandidateRequest, Group
from placement.errors import DatabaseUnavailable
from placement.extensions.explain import operation as explanations
from placement.extensions.what_if.changed_cloud import WhatIf
from tests.endless import endless
from tests.functional.placement.service import statements

pytestmark = pytest.mark.spread_over_databases

EXPLAIN = "/berth/v1/allocation_candidates/explain"
#: the id that nova sends
NOVA = "req-11111111-2222-3333-4444-555555555555"


def host(service, name, **stock):
    uuid = str(uuid4())
    service.write("POST", "/resource_providers", {"name": name, "uuid": uuid})
    put_inventories(service, uuid, 0, stock)
    return uuid


def put_inventories(service, uuid, generation, stock):
    body = {
        "resource_provider_generation": generation,
        "inventories": {name: {"total": total} for name, total in stock.items()},
    }
    service.write("PUT", f"/resource_providers/{uuid}/inventories", body)


def claim(service, consumer, **resources_of):
    body = {
        "allocations": {uuid: {"resources": held} for uuid, held in resources_of.items()},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    service.write("PUT", f"/allocations/{consumer}", body)


def lines(caplog):
    return [one.getMessage() for one in caplog.records if one.name == "placement.explain"]


def test_an_empty_answer_leads_to_a_line_with_novas_request_id(service, caplog):
    host(service, "host17", VCPU=4)
    caplog.set_level(logging.INFO, "placement.explain")

    answer = service.get(
        "/allocation_candidates?resources=VCPU:8", headers_more={"x-openstack-request-id": NOVA}
    )

    assert answer.json["allocation_requests"] == []
    (line,) = lines(caplog)
    own = answer.headers["x-openstack-request-id"]
    assert line == (
        f"[{own} {NOVA}] No allocation candidates for resources=VCPU:8: "
        "0 of 1 tree: 1 short of VCPU 8 (nearest: host17 has 4)"
    )


@pytest.mark.parametrize(
    ("reserved", "told"),
    [
        (0, "has 10"),
        (
            12,
            "is over capacity by 2, ratio 1, reserved 12 of 16",
        ),
        (16, "has 0, reserved 16 of 16"),
    ],
)
def test_what_is_reserved_is_told_as_the_cause(service, reserved, told):
    """Somebody who drains a host reserves all of it, while instances still use some."""
    uuid = host(service, "host17", VCPU=16)
    claim(service, str(uuid4()), **{uuid: {"VCPU": 6}})
    body = {"resource_provider_generation": 2, "total": 16, "reserved": reserved}
    service.write("PUT", f"/resource_providers/{uuid}/inventories/VCPU", body)

    found = service.get(f"{EXPLAIN}?resources=VCPU:12").json

    assert found["message"] == f"0 of 1 tree: 1 short of VCPU 12 (nearest: host17 {told})"


def test_a_search_with_candidates_leads_to_none(service, caplog):
    host(service, "host17", VCPU=4)
    caplog.set_level(logging.INFO, "placement.explain")

    assert service.get("/allocation_candidates?resources=VCPU:1").json["allocation_requests"]

    assert not lines(caplog)


def test_a_storm_of_empty_searches_logs_one_line(service, caplog):
    host(service, "host17", VCPU=4)
    caplog.set_level(logging.INFO, "placement.explain")

    for _ in range(50):
        service.get("/allocation_candidates?resources=VCPU:8")

    assert len(lines(caplog)) == 1


def test_a_hostile_query_is_one_line_of_bounded_length(service, caplog):
    host(service, "a\nb", VCPU=4)
    caplog.set_level(logging.INFO, "placement.explain")

    many = "&".join(f"resources_{number}=VCPU:8" for number in range(900))
    service.get(f"/allocation_candidates?{many}&group_policy=none")

    (line,) = lines(caplog)
    assert len(line) < 3_000


@pytest.mark.parametrize("error", [DatabaseUnavailable, MemoryError, KeyError])
def test_an_answer_does_not_fail_with_its_explanation(service, caplog, monkeypatch, error):
    host(service, "host17", VCPU=4)
    caplog.set_level(logging.INFO, "placement.explain")

    def unavailable(*given):
        raise error

    monkeypatch.setattr(explanations.providers, "names", unavailable)

    assert service.get("/allocation_candidates?resources=VCPU:8").status_code == 200
    assert len(lines(caplog)) == 1


def test_the_time_for_finding_out_starts_when_the_cloud_was_read(service):
    host(service, "one", VCPU=4)
    order = []

    def told(name, function):
        def called():
            order.append(name)
            return function()

        return called

    found = explanations.explained(
        service.database,
        WhatIf(SimpleNamespace(current=told("cloud", service.running.snapshot.current)), {}),
        CandidateRequest((Group("", {"VCPU": 8}),)),
        told("search", endless),
        told("changes", endless),
    )

    assert order == ["cloud", "search", "changes"]
    assert len(found.relaxations) == 1


@pytest.mark.parametrize("name", ["", "a\0b", "😀", "x" * 5000, "'; --", "%", "\u202e"])
def test_a_provider_that_nobody_can_have_is_refused(service, name):
    answer = service.get(f"{EXPLAIN}?resources=VCPU:8&provider={quote(name)}")

    assert answer.status_code == 400
    # PostgreSQL itself refuses NUL
    refusals = ("No resource provider has the uuid or the name", "the database can't store")
    assert any(refusal in answer.text for refusal in refusals)


def test_names_of_all_shown_providers_take_one_statement(service):
    for number in range(12):
        host(service, f"host{number}", VCPU=4)
    service.get(f"{EXPLAIN}?resources=VCPU:8")
    with statements(service.database) as seen:
        found = service.get(f"{EXPLAIN}?resources=VCPU:8").json

    assert len(found["nearest"]) == 10
    assert len([one for one in seen if "resource_providers" in one]) == 1


def test_what_a_consumer_holds_of_several_providers_counts_as_free(service):
    one, two = host(service, "one", VCPU=4), host(service, "two", DISK_GB=10)
    consumer = str(uuid4())
    claim(service, consumer, **{one: {"VCPU": 3}, two: {"DISK_GB": 10}})
    claim(service, str(uuid4()), **{one: {"VCPU": 1}})

    def left(query):
        return service.get(f"{EXPLAIN}?{query}&consumer={consumer}").json["trees"]["left"]

    assert left("resources=VCPU:3") == 1
    assert left("resources=VCPU:4") == 0
    assert left("resources=DISK_GB:10") == 1


def test_a_consumer_of_a_provider_without_inventory_is_no_obstacle(service):
    uuid = host(service, "one", VCPU=4)
    consumer = str(uuid4())

    found = service.get(f"{EXPLAIN}?resources=VCPU:4&consumer={consumer}")

    assert found.json["trees"] == {"total": 1, "left": 1}
    assert uuid


def test_a_hostile_name_is_told_as_it_is(service):
    name = '<script>alert(1)</script>"\n'
    host(service, name, VCPU=4)

    near = service.get(f"{EXPLAIN}?resources=VCPU:8").json["nearest"][0]

    assert near["name"] == name
