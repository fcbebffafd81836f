"""When an answer about room may say that it is proven (extensions.rst)."""

import pytest

from placement.extensions.what_if.changed_cloud import WhatIf
from placement.http.environ import PREFIX
from tests.functional.placement.extensions.evacuation.test_evacuations import (
    ONE,
    THREE,
    TWO,
    A,
    B,
    C,
    hold,
    provider,
)
from tests.functional.placement.extensions.plans.test_room import D, candidates, room
from tests.functional.placement.small_cloud import expect, holding, numbered

pytestmark = pytest.mark.spread_over_databases


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("resources=VCPU:4", {}),
        (f"resources=VCPU:4&in_tree={A}", {"movable": {"except": [TWO]}}),
        (f"resources=VCPU:8&in_tree={A}", {}),
        ("resources=VCPU:4", {"movable": {"only": [ONE]}}),
        ("resources=VCPU:1", {"count": 9, "requests": {ONE: "resources=VCPU:1"}}),
    ],
)
def test_who_leaves_during_the_question_proves_nothing(three, monkeypatch, query, terms):
    """At the moment of the cloud, ONE holds something that it could hold elsewhere."""
    provider(three, "d", D, VCPU=3)
    hold(three, numbered("c", 5), **{D: {"VCPU": 2}})
    _then(monkeypatch, lambda: expect(three.delete(f"/allocations/{ONE}"), 204))
    answer = room(three, query, **terms)
    assert (answer["verdict"], answer["exact"]) == ("unknown", False)


def test_who_is_resized_during_the_question_proves_nothing(three, monkeypatch):
    provider(three, "d", D, VCPU=1)
    smaller = holding({A: {"VCPU": 1}}, generation=1)
    _then(monkeypatch, lambda: expect(three.put(f"/allocations/{ONE}", smaller), 204))
    answer = room(three, "resources=VCPU:1", count=9, requests={ONE: "resources=VCPU:1"})
    assert (answer["verdict"], answer["exact"]) == ("unknown", False)


def test_a_plan_of_more_moves_is_the_cheapest_only_if_all_were_looked_at(service, monkeypatch):
    """One move would be enough if the guest of B had a place; in the end it is gone."""
    for name, uuid, total in (("a", A, 4), ("b", B, 4), ("c", C, 2), ("d", D, 2)):
        provider(service, name, uuid, VCPU=total)
    large = numbered("c", 5)
    for guest, uuid, amount in ((ONE, A, 2), (TWO, A, 2), (large, B, 4)):
        hold(service, guest, **{uuid: {"VCPU": amount}})
    answer = room(service, "resources=VCPU:4")
    assert (answer["verdict"], answer["exact"], len(answer["moves"])) == ("possible", True, 2)
    for by in ("moves", "VCPU"):
        with monkeypatch.context() as patch:
            _then(patch, lambda: expect(service.delete(f"/allocations/{large}"), 204))
            answer = room(service, "resources=VCPU:4", by=by)
        assert (answer["verdict"], answer["exact"], len(answer["moves"])) == ("possible", False, 2)
        hold(service, large, **{B: {"VCPU": 4}})


def _then(monkeypatch, act):
    """Let something happen after the cloud is read."""
    clouds = WhatIf.before_and_after

    def read(what_if):
        found = clouds(what_if)
        act()
        return found

    monkeypatch.setattr(WhatIf, "before_and_after", read)


@pytest.mark.parametrize(
    "change", [{"freed": [ONE]}, {"add": [{"like": C, "empty": False}]}, {"without": [C]}]
)
def test_a_changed_cloud_proves_as_much(three, change):
    answer = room(three, "resources=VCPU:8", limit={"moves": 10}, **{"if": change})
    assert (answer["verdict"], answer["exact"]) == ("impossible", True)


def test_who_might_come_after_its_companion_proves_nothing(service):
    """Both may go to c, whose room is enough: no plan says so, and no answer denies it."""
    for name, uuid, size in (("a", A, 7), ("b", B, 7), ("c", C, 5)):
        provider(service, name, uuid, VCPU=size)
    hold(service, ONE, **{A: {"VCPU": 2}})
    hold(service, TWO, **{B: {"VCPU": 3}})
    hold(service, THREE, **{A: {"VCPU": 5}})
    terms = {"constraints": {"together": [[ONE, TWO]]}}
    answer = room(service, "resources=VCPU:7", movable={"except": [THREE]}, **terms)
    assert (answer["verdict"], answer["exact"]) == ("unknown", False)
    answer = room(service, "resources=VCPU:7", movable={"only": [TWO]}, **terms)
    assert (answer["verdict"], answer["exact"]) == ("impossible", True)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("resources=VCPU:8&resources2=CUSTOM_NONE:1", "VCPU 8 is asked for, and at most 5 is free"),
        # one move would be enough for the first group
        ("resources=VCPU:4&resources2=CUSTOM_NONE:1", "CUSTOM_NONE 1 is asked for, and at most 0"),
        (
            f"resources=VCPU:1&member_of={D}&resources2=CUSTOM_NONE:1",
            "CUSTOM_NONE 1 is asked for, and at most 0 is free",
        ),
    ],
)
def test_a_class_that_the_search_does_not_come_to_is_nowhere_free(three, query, words):
    query += "&group_policy=none"
    for consumer, host in ((8, B), (9, C)):
        hold(three, numbered("c", consumer), **{host: {"VCPU": 1}})
    assert candidates(three, query) == []
    answer = room(three, query)
    assert (answer["verdict"], answer["exact"]) == ("impossible", True)
    assert words in answer["message"]
    requests = dict.fromkeys((ONE, TWO), "resources=VCPU:1")
    assert room(three, query, requests=requests)["verdict"] == "impossible"
    explained = three.post(f"{PREFIX}/allocation_candidates/explain", {"query": query})
    assert expect(explained, 200).json["verdict"] == "none"
