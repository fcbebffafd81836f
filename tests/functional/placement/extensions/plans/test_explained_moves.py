"""An explanation of an empty search names the moves that would help (extensions.rst)."""

import logging

import pytest

from placement.http.environ import PREFIX
from tests.functional.placement.extensions.evacuation.test_evacuations import (
    ONE,
    TWO,
    A,
    B,
    hold,
    provider,
)
from tests.functional.placement.small_cloud import expect

pytestmark = pytest.mark.spread_over_databases

EXPLAIN = f"{PREFIX}/allocation_candidates/explain"


@pytest.fixture
def two(service):
    provider(service, "a", A, VCPU=8)
    provider(service, "b", B, VCPU=4)
    hold(service, ONE, **{A: {"VCPU": 2}})
    return service


def explained(service, query, **more):
    return expect(service.post(EXPLAIN, {"query": query, **more}), 200).json


def test_moves_are_the_last_relaxation(two):
    found = explained(two, "resources=VCPU:8")
    assert found == expect(two.get(f"{EXPLAIN}?resources=VCPU:8"), 200).json
    last = found["relaxations"][-1]
    plan = expect(two.post(f"{PREFIX}/plans/room", {"query": "resources=VCPU:8"}), 200).json
    assert last == {
        "change": {"move": 1},
        "text": "moving 1 consumer off a",
        "trees": 1,
        "plan": plan,
    }
    assert "move" not in str([one["change"] for one in found["relaxations"][:-1]])


def test_without_a_plan_there_is_no_such_relaxation(two):
    hold(two, TWO, **{B: {"VCPU": 3}})
    for query in ("resources=VCPU:8", "resources=VCPU:9", "resources=VCPU:1"):
        found = explained(two, query)
        assert all("move" not in one["change"] for one in found["relaxations"])


def test_the_cloud_is_changed_for_the_moves_too(two):
    found = explained(two, "resources=VCPU:8", **{"if": {"without": [B]}})
    assert all("move" not in one["change"] for one in found["relaxations"])
    found = explained(two, "resources=VCPU:8", **{"if": {"freed": [ONE]}})
    assert found["verdict"] == "some"


def test_no_time_is_left_for_moves(new_service):
    """The time of an explanation is over before moves are looked for."""
    service = new_service(berth__explain_budget_ms=1)
    provider(service, "a", A, VCPU=8)
    hold(service, ONE, **{A: {"VCPU": 2}})
    assert explained(service, "resources=VCPU:8")["verdict"] == "none"


@pytest.mark.parametrize(
    ("guests", "told"),
    [([ONE], "; moving 1 consumer would make room"), ([ONE, TWO], ""), ([], "")],
)
def test_the_log_line_names_moves(service, caplog, guests, told):
    """With TWO, which fills the other host, nobody can move."""
    provider(service, "a", A, VCPU=8)
    provider(service, "b", B, VCPU=4)
    for consumer, host, vcpus in ((ONE, A, 2), (TWO, B, 4)):
        if consumer in guests:
            hold(service, consumer, **{host: {"VCPU": vcpus}})
    caplog.set_level(logging.INFO, "placement.explain")
    wanted = 8 if guests else 9
    expect(service.get(f"/allocation_candidates?resources=VCPU:{wanted}"), 200)

    (line,) = (one.getMessage() for one in caplog.records if one.name == "placement.explain")
    assert line.partition(")")[2] == told
