"""An answer is of one moment, also if others write each time that somebody reads."""

import itertools

import pytest

from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.extensions.what_if.drafts import Drafts
from placement.storage import holdings
from tests.functional.placement.extensions.evacuation.test_evacuations import hold, provider
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import expect, numbered

A, B = numbered("a", 1), numbered("a", 2)
ONE = numbered("c", 1)


@pytest.fixture
def busy(service, monkeypatch):
    """Return a service of two hosts; another one writes whenever allocations are read.

    ONE holds 2 of the 8 VCPU of A; each time another one comes, which holds 1.
    """
    for name, uuid in (("a", A), ("b", B)):
        provider(service, name, uuid, VCPU=8)
    hold(service, ONE, **{A: {"VCPU": 2}})
    expect(service.get("/allocation_candidates?resources=VCPU:1"), 200)
    other, numbers = Service(service.url), itertools.count(2)

    def after_a_write(read):
        def reading(*arguments):
            hold(other, numbered("c", next(numbers)), **{A: {"VCPU": 1}})
            return read(*arguments)

        return reading

    for name in ("of_trees", "of_consumers"):
        monkeypatch.setattr(holdings, name, after_a_write(getattr(holdings, name)))
    return service


def test_who_comes_meanwhile_is_not_evacuated(busy):
    answer = expect(busy.post("/berth/v1/capacity/evacuate", {"without": [A]}), 200).json
    assert answer["moves"] == {ONE: {"root": B, "allocations": {B: {"resources": {"VCPU": 2}}}}}


def test_who_comes_meanwhile_is_not_lost(busy):
    body = {"each": [[A]], "movable": {"only": []}}
    answer = expect(busy.post("/berth/v1/plans/survives", body), 200).json
    assert [left["consumer"] for left in answer["worst"][0]["left"]] == [ONE]


def test_who_comes_meanwhile_keeps_what_is_freed(busy):
    body = {"requests": {"one": {"query": "resources=VCPU:1"}}, "if": {"freed": [ONE]}}
    answer = expect(busy.post("/berth/v1/capacity", body), 200).json
    assert answer["requests"]["one"]["fits"] == 16


def test_who_comes_meanwhile_counts_for_nobody_who_looks_for_another_place(busy):
    query = f"resources=VCPU:8&in_tree={A}&consumer={ONE}"
    answer = expect(busy.get(f"/berth/v1/allocation_candidates/explain?{query}"), 200).json
    assert answer["candidates"] == 1


@pytest.fixture
def made(monkeypatch):
    """Return a list: of each changed cloud that was made, whether a transaction was open."""
    found, inside, at_once, cloud = [], [], LiveSnapshot.at_once, Drafts.cloud

    def noted(snapshot, question):
        def ask(*arguments):
            inside.append(True)
            try:
                return question(*arguments)
            finally:
                inside.pop()

        return at_once(snapshot, ask)

    def changed(drafts):
        found.append(bool(inside))
        return cloud(drafts)

    monkeypatch.setattr(LiveSnapshot, "at_once", noted)
    monkeypatch.setattr(Drafts, "cloud", changed)
    return found


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("capacity/evacuate", {"without": [A]}),
        ("capacity", {"requests": {"one": {"query": "resources=VCPU:1"}}}),
        ("plans/room", {"query": "resources=VCPU:20"}),
        ("plans/survives", {"each": "root"}),
        ("allocation_candidates/explain", {"query": "resources=VCPU:20"}),
        ("allocation_candidates/explain", {"query": "resources=VCPU:20", "consumer": ONE}),
    ],
)
@pytest.mark.parametrize("freed", [[], [ONE]])
def test_a_change_is_made_once_and_after_the_transaction(service, made, path, body, freed):
    for name, uuid in (("a", A), ("b", B)):
        provider(service, name, uuid, VCPU=8)
    hold(service, ONE, **{A: {"VCPU": 2}})
    change = {"all": {"classes": {"VCPU": {"allocation_ratio": 2.0}}}, "freed": freed}
    expect(service.post(f"/berth/v1/{path}", {**body, "if": change}), 200)
    assert made == [False]
