"""Which losses of hosts a cloud can absorb (extensions.rst)."""

from uuid import uuid4

import pytest

from placement.candidates import budget
from placement.extensions.evacuation.plan import one_of_each_tree
from placement.extensions.survives import operation, quick, sets
from placement.extensions.survives.alike import Likeness
from placement.storage import holdings
from tests.functional.placement.extensions.evacuation.test_evacuations import (
    RED,
    hold,
    pool,
    provider,
)
from tests.functional.placement.service import statements
from tests.functional.placement.small_cloud import expect, holding, numbered

pytestmark = pytest.mark.spread_over_databases

SURVIVES = "/berth/v1/plans/survives"
A, B, C, D = (numbered("a", number) for number in range(1, 5))
ONE, TWO, THREE = (numbered("c", number) for number in range(1, 4))
RACK, OTHER_RACK = numbered("b", 1), numbered("b", 2)


def survives(service, each="root", **more):
    return expect(service.post(SURVIVES, {"each": each} | more), 200).json


def hosts(service, *uuids, **stock):
    """Create hosts that are all alike."""
    for number, uuid in enumerate(uuids, 1):
        provider(service, f"h{number}", uuid, **stock)


def counts(answer):
    return {name: answer[name] for name in ("verdict", "sets", "of", "absorbed", "unknown")}


def all_of(verdict, sets, absorbed, unknown=0, of=None):
    return {
        "verdict": verdict,
        "sets": sets,
        "of": sets if of is None else of,
        "absorbed": absorbed,
        "unknown": unknown,
    }


def test_any_host_can_be_lost(service):
    hosts(service, A, B, C, VCPU=4, MEMORY_MB=100)
    for consumer, host in ((ONE, A), (TWO, B), (THREE, C)):
        hold(service, consumer, **{host: {"VCPU": 2, "MEMORY_MB": 50}})

    assert survives(service) == all_of("possible", 3, 3) | {
        "worst": [],
        "constraints": 0,
        "message": "The loss of any of 3 hosts can be absorbed. Nova's own filters weren't asked.",
    }


def test_what_is_missing_is_told(service):
    provider(service, "h1", A, VCPU=8, MEMORY_MB=100)
    provider(service, "h2", B, VCPU=4, MEMORY_MB=100)
    hold(service, ONE, **{A: {"VCPU": 3, "MEMORY_MB": 30}})
    hold(service, TWO, **{A: {"VCPU": 3, "MEMORY_MB": 30}})

    assert survives(service) == all_of("impossible", 2, 1) | {
        "worst": [
            {
                "roots": [{"root": A, "name": "h1"}],
                "name": "h1",
                "verdict": "impossible",
                "alike": 0,
                "consumers": 2,
                "placed": 1,
                "left": [
                    {
                        "consumer": TWO,
                        "resources": {"MEMORY_MB": 30, "VCPU": 3},
                        "reason": "0 of 2 trees: 1 to be avoided, 1 short of VCPU 3 "
                        "(nearest: h2 has 1)",
                    }
                ],
                "missing": {"VCPU": 2},
            }
        ],
        "constraints": 0,
        "message": "The loss of 1 of 2 hosts can be absorbed, of 1 it can't. h1: 1 of 2 consumers "
        "finds no place; at least VCPU 2 would have to be added. Nova's own filters weren't asked.",
    }


def test_adding_what_is_missing_is_enough_where_one_class_is_short(service):
    hosts(service, A, B, VCPU=4)
    hold(service, ONE, **{A: {"VCPU": 3}})
    hold(service, TWO, **{B: {"VCPU": 2}})
    answer = survives(service, [[A]])
    missing = answer["worst"][0]["missing"]
    assert missing == {"VCPU": 1}
    assert answer["message"].startswith("The loss of the set can't be absorbed. h")

    change = {"inventories": {B: {"VCPU": {"total": 4 + missing["VCPU"]}}}}
    assert survives(service, [[A]], **{"if": change})["verdict"] == "possible"


def test_a_loss_is_called_by_all_its_hosts_however_few_are_told(service):
    hosts(service, A, B, VCPU=4)
    hold(service, ONE, **{A: {"VCPU": 3}})
    answer = survives(service, together=2, limit=1)
    (worst,) = answer["worst"]
    assert (worst["name"], len(worst["roots"])) == ("h1 and h2", 1)
    assert "h1 and h2: 1 of 1 consumer" in answer["message"]


def test_what_has_no_end_is_not_missing(service):
    """The capacity is beyond what integers of 64 bits hold."""
    hosts(service, A, VCPU=4, DISK_GB=4)
    provider(service, "endless", B, VCPU={"total": 4, "allocation_ratio": 1e38})
    hold(service, ONE, **{A: {"VCPU": 3, "DISK_GB": 2}})
    assert survives(service, [[A]])["worst"][0]["missing"] == {"DISK_GB": 2}


def test_a_host_that_nobody_uses_can_be_lost(service):
    hosts(service, A, VCPU=4)
    assert counts(survives(service)) == all_of("possible", 1, 1)


def test_an_aggregate_is_lost_as_a_whole(service):
    provider(service, "h1", A, aggregates=[RACK], VCPU=4)
    provider(service, "h2", B, aggregates=[RACK], VCPU=4)
    provider(service, "h3", C, aggregates=[OTHER_RACK], VCPU=5)
    hold(service, ONE, **{A: {"VCPU": 3}})
    hold(service, TWO, **{B: {"VCPU": 3}})
    assert survives(service)["verdict"] == "possible"

    answer = survives(service, "aggregate")

    assert counts(answer) == all_of("impossible", 2, 1)
    (rack,) = answer["worst"]
    assert rack["name"] == RACK
    assert rack["roots"] == [{"root": A, "name": "h1"}, {"root": B, "name": "h2"}]
    assert (rack["consumers"], rack["placed"], rack["missing"]) == (2, 1, {"VCPU": 1})


def test_only_hosts_among_some_are_lost(service):
    provider(service, "h1", A, aggregates=[RACK], VCPU=4)
    provider(service, "h2", B, VCPU=2)
    hold(service, ONE, **{A: {"VCPU": 3}})
    assert survives(service)["verdict"] == "impossible"
    assert counts(survives(service, among={"member_of": f"!{RACK}"})) == all_of("possible", 1, 1)
    assert survives(service, among={"member_of": RACK})["verdict"] == "impossible"


@pytest.mark.parametrize("each", ["root", "aggregate"])
def test_a_choice_without_any_host_is_no_safety(service, each):
    provider(service, "h1", A, aggregates=[RACK], VCPU=4)
    change = {"without": [A]}
    for chosen, more in ((OTHER_RACK, {}), (f"!{RACK}", {}), (RACK, {"if": change})):
        body = {"each": each, "among": {"member_of": chosen}} | more
        refused = expect(service.post(SURVIVES, body), 400)
        message = refused.json["errors"][0]["detail"]
        assert f"among.member_of: no host meets {chosen}." in message
    regrouped = {"if": {"aggregates": {A: {"add": [OTHER_RACK], "remove": [RACK]}}}}
    assert survives(service, each, among={"member_of": OTHER_RACK}, **regrouped)["sets"] == 1


def test_given_sets_are_judged(service):
    hosts(service, A, B, C, VCPU=4)
    for consumer, host in ((ONE, A), (TWO, B)):
        hold(service, consumer, **{host: {"VCPU": 3}})
    answer = survives(service, [[A], [A, B]])
    assert counts(answer) == all_of("impossible", 2, 1)
    assert answer["worst"][0]["name"] == "h1 and h2"


def test_two_hosts_that_are_lost_together(service):
    hosts(service, A, B, C, VCPU=4)
    for consumer, host in ((ONE, A), (TWO, B), (THREE, C)):
        hold(service, consumer, **{host: {"VCPU": 2}})
    assert counts(survives(service, together=1)) == all_of("possible", 3, 3)

    answer = survives(service, together=2)

    assert counts(answer) == all_of("impossible", 3, 0)
    # all hosts are alike: so are all pairs of them
    assert [(one["name"], one["alike"]) for one in answer["worst"]] == [("h1 and h2", 2)]
    assert answer["message"].startswith(
        "The loss of 0 of 3 choices of 2 hosts can be absorbed, of 3 it can't."
    )


def test_more_sets_than_there_are_cant_be_lost(service):
    hosts(service, A, VCPU=4)
    refused = expect(service.post(SURVIVES, {"each": "root", "together": 2}), 400)
    assert "together: there are 1 sets, and 2 are to be lost." in refused.text


def test_too_many_choices_are_drawn_by_lot(service, monkeypatch):
    monkeypatch.setattr(sets, "MOST_JUDGED", 5)
    for number in range(1, 8):
        provider(service, f"h{number}", VCPU=20 + number)

    answer = survives(service, together=3)

    assert counts(answer) == all_of("unknown", 5, 5, of=35)
    assert answer["message"].startswith("5 of 35 choices of 3 hosts were drawn by lot. The loss of")
    assert counts(survives(service)) == all_of("unknown", 5, 5, of=7)


def test_hosts_that_are_alike_are_judged_once(service):
    hosts(service, A, B, C, VCPU=4)
    for consumer, host in ((ONE, A), (TWO, B)):
        hold(service, consumer, **{host: {"VCPU": 3}})
    hold(service, THREE, **{C: {"VCPU": 4}})

    answer = survives(service)

    assert counts(answer) == all_of("impossible", 3, 0)
    assert [(one["name"], one["alike"]) for one in answer["worst"]] == [("h1", 1), ("h3", 0)]


def test_the_answer_tells_of_as_many_as_are_asked_for(service):
    hosts(service, A, VCPU=4)
    provider(service, "other", B, VCPU=5)
    for number in range(4):
        hold(service, numbered("d", number), **{A: {"VCPU": 1}})
        hold(service, numbered("e", number), **{B: {"VCPU": 1}})
    answer = survives(service, limit=1)
    assert counts(answer) == all_of("impossible", 2, 0)
    assert [len(one["left"]) for one in answer["worst"]] == [1]
    assert {len(one["left"]) for one in survives(service)["worst"]} == {3, 4}


def test_who_may_not_move_stays_behind(service):
    hosts(service, A, B, VCPU=8)
    expect(service.put(f"/allocations/{ONE}", holding({A: {"VCPU": 1}}, kind="MIGRATION")), 204)
    hold(service, TWO, **{A: {"VCPU": 1}})
    hold(service, THREE, **{B: {"VCPU": 1}})

    (lost,) = survives(service)["worst"]

    assert (lost["name"], lost["consumers"], lost["placed"]) == ("h1", 2, 1)
    assert lost["left"] == [
        {
            "consumer": ONE,
            "resources": {"VCPU": 1},
            "reason": "it may not move: its type is MIGRATION",
        }
    ]
    types = {"consumer_types": ["INSTANCE", "MIGRATION"]}
    assert survives(service, movable=types)["verdict"] == "possible"


def test_who_is_on_two_hosts_doesnt_move(service):
    hosts(service, A, B, C, VCPU=8)
    hold(service, ONE, **{A: {"VCPU": 1}, B: {"VCPU": 1}})
    answer = survives(service)
    assert counts(answer) == all_of("impossible", 3, 1)
    assert {one["left"][0]["reason"] for one in answer["worst"]} == {
        "it may not move: it holds something of 2 hosts, as during a move"
    }


@pytest.mark.parametrize(
    ("movable", "reason"),
    [
        ({"except": [ONE]}, "it may not move: movable.except names it"),
        ({"only": [TWO]}, "it may not move: movable.only doesn't name it"),
    ],
)
def test_a_request_says_who_may_move(service, movable, reason):
    hosts(service, A, B, VCPU=8)
    hold(service, ONE, **{A: {"VCPU": 1}})
    (lost,) = survives(service, movable=movable)["worst"]
    assert [one["reason"] for one in lost["left"]] == [reason]


def test_consumers_that_have_to_be_apart(service):
    hosts(service, A, B, C, VCPU=8)
    hold(service, ONE, **{A: {"VCPU": 1}})
    hold(service, TWO, **{A: {"VCPU": 1}})
    hold(service, THREE, **{B: {"VCPU": 1}})
    assert survives(service, [[A]])["verdict"] == "possible"

    answer = survives(service, [[A]], constraints={"apart": [[ONE, TWO, THREE]]})

    assert answer["constraints"] == 1
    # one of the two can go to h3, and nobody to h2
    assert (answer["verdict"], answer["worst"][0]["placed"]) == ("unknown", 1)
    apart = {"apart": [[ONE, TWO]]}
    assert survives(service, [[A]], constraints=apart)["verdict"] == "possible"


def test_consumers_that_have_to_be_together(service):
    hosts(service, A, B, VCPU=2)
    provider(service, "large", C, VCPU=3)
    hold(service, ONE, **{A: {"VCPU": 1}})
    hold(service, TWO, **{C: {"VCPU": 1}})
    together = {"together": [[ONE, TWO]]}
    assert survives(service, [[A]], constraints=together)["verdict"] == "possible"
    hold(service, THREE, **{C: {"VCPU": 2}})
    assert survives(service, [[A]])["verdict"] == "possible"
    assert survives(service, [[A]], constraints=together)["absorbed"] == 0


def test_roots_where_somebody_may_not_go(service):
    hosts(service, A, B, C, VCPU=2)
    hold(service, ONE, **{A: {"VCPU": 1}})
    one_left = {"not_on": {ONE: [B]}}
    assert survives(service, constraints=one_left)["verdict"] == "possible"
    none_left = {"not_on": {ONE: [B, C]}}
    assert survives(service, constraints=none_left)["verdict"] == "impossible"


def test_a_request_for_a_consumer_decides(service):
    provider(service, "h1", A, traits=["HW_CPU_X86_AVX"], VCPU=4)
    provider(service, "h2", B, VCPU=4)
    hold(service, ONE, **{A: {"VCPU": 1}})
    assert survives(service)["verdict"] == "possible"

    requests = {ONE: "resources=VCPU:1&required=HW_CPU_X86_AVX"}
    (lost,) = survives(service, requests=requests)["worst"]

    assert lost["verdict"] == "impossible"
    assert lost["left"][0]["reason"] == "0 of 2 trees: 1 to be avoided, 1 lacks HW_CPU_X86_AVX"
    more = {ONE: "resources=VCPU:5"}
    assert survives(service, requests=more)["worst"][0]["missing"] == {"VCPU": 1}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("resources=CUSTOM_NOTHING:1", "there is no resource class 'CUSTOM_NOTHING'"),
        ("resources=VCPU:1&required=CUSTOM_NOTHING", "there is no trait 'CUSTOM_NOTHING'"),
        ("resources=VCPU:1&nothing=1", "nothing"),
    ],
)
def test_a_query_that_cant_be_used_is_named(service, query, words):
    hosts(service, A, VCPU=4)
    body = {"each": "root", "requests": {ONE: query}}
    refused = expect(service.post(SURVIVES, body), 400)
    assert f"requests.{ONE}: " in refused.text
    assert words in refused.text


def test_a_root_that_does_not_exist_is_named(service):
    hosts(service, A, VCPU=4)
    body = {"each": "root", "constraints": {"not_on": {ONE: [B]}}}
    refused = expect(service.post(SURVIVES, body), 400)
    assert f"constraints.not_on.{ONE}: there is no resource provider {B}." in refused.text


def test_what_is_shared_outlives_the_hosts(service):
    provider(service, "h1", A, aggregates=[RED], VCPU=4)
    provider(service, "h2", B, aggregates=[RED], VCPU=4)
    pool(service, "disks", D, DISK_GB=10)
    hold(service, ONE, **{A: {"VCPU": 1}, D: {"DISK_GB": 9}})

    assert counts(survives(service)) == all_of("possible", 2, 2)
    # a pool that is given is lost
    (lost,) = survives(service, [[D]])["worst"]
    assert (lost["name"], lost["missing"]) == ("disks", {"DISK_GB": 9})
    # what is held of a tree that is gone isn't moved
    (lost,) = survives(service, **{"if": {"without": [D]}})["worst"]
    assert [one["reason"] for one in lost["left"]] == [
        "it may not move: it holds something of a tree that is gone"
    ]


def test_a_changed_cloud_is_judged(service, monkeypatch):
    hosts(service, A, B, VCPU=4)
    hold(service, ONE, **{A: {"VCPU": 3}})
    hold(service, TWO, **{B: {"VCPU": 3}})
    assert survives(service)["absorbed"] == 0

    answer = survives(service, **{"if": {"add": [{"like": A}]}})
    assert counts(answer) == all_of("possible", 3, 3)
    answer = survives(service, **{"if": {"freed": [TWO]}})
    assert counts(answer) == all_of("possible", 2, 2)
    expect(service.post(SURVIVES, {"each": "root", "if": {"without": [str(uuid4())]}}), 400)
    # nobody is in an aggregate yet: still it is known who is on the hosts that would be
    read, of_trees = [], holdings.of_trees
    monkeypatch.setattr(
        holdings, "of_trees", lambda link, roots: read.append(roots) or of_trees(link, roots)
    )
    change = {"aggregates": {A.upper(): {"add": [RACK]}}}
    (lost,) = survives(service, "aggregate", **{"if": change})["worst"]
    assert (lost["name"], lost["consumers"], lost["missing"]) == (RACK, 1, {"VCPU": 2})
    # and that alone is read
    assert [len(roots) for roots in read] == [1]
    # a sharing provider that doesn't share any more is a host
    disk = pool(service, "pool", RACK, DISK_GB=100)
    hold(service, THREE, **{disk: {"DISK_GB": 1}})
    change = {"traits": {disk: {"remove": ["MISC_SHARES_VIA_AGGREGATE"]}}}
    answer = survives(service, "aggregate", **{"if": change})
    assert [lost["consumers"] for lost in answer["worst"]] == [1]


def test_statements_dont_grow_with_hosts(service):
    hosts(service, A, B, VCPU=4)
    hold(service, ONE, **{A: {"VCPU": 3}})
    survives(service)
    with statements(service.database) as few:
        survives(service)
    for number in range(10):
        hold(service, str(uuid4()), **{provider(service, f"m{number}", VCPU=4): {"VCPU": 4}})
    survives(service)
    with statements(service.database) as many:
        survives(service)
    assert len(many) <= len(few) + 1


def test_unlike_guests_share_a_search_as_far_as_units_let_them(service, monkeypatch):
    provider(service, "h1", A, VCPU=16, MEMORY_MB=100)
    units = {"min_unit": 2, "max_unit": 6, "step_size": 2}
    provider(service, "h2", B, VCPU={"total": 16, **units}, MEMORY_MB=100)
    for number, cores in enumerate((2, 4, 6)):
        held = {"VCPU": cores, "MEMORY_MB": cores}
        hold(service, numbered("d", number), **{A: held})
    searches = []

    def noted(cloud, request, budget):
        searches.append(request)
        return one_of_each_tree(cloud, request, budget)

    monkeypatch.setattr(quick, "one_of_each_tree", noted)
    assert survives(service, [[A]])["verdict"] == "possible"
    assert len(searches) == 1
    # what h2 doesn't sell isn't had from it because others have it from there
    hold(service, ONE, **{A: {"VCPU": 3, "MEMORY_MB": 3}})
    (lost,) = survives(service, [[A]])["worst"]
    assert (lost["verdict"], lost["consumers"], lost["placed"]) == ("impossible", 4, 3)
    assert [one["consumer"] for one in lost["left"]] == [ONE]


def test_sets_for_which_there_is_no_time_are_unknown(service, monkeypatch):
    hosts(service, A, B, C, VCPU=4)
    hold(service, ONE, **{A: {"VCPU": 3}})
    monkeypatch.setattr(operation, "_SECONDS", 1e-9)
    # no search looks at the clock, and so each would end in time
    monkeypatch.setattr(budget, "_STEPS", 10**9)
    # finding out which hosts are alike takes time, too
    monkeypatch.setattr(Likeness, "_description", None)

    answer = survives(service)

    assert counts(answer) == all_of("unknown", 3, 2, 1)
    (lost,) = answer["worst"]
    assert (lost["verdict"], lost["consumers"], lost["placed"]) == ("unknown", 1, 0)
    assert [one["reason"] for one in lost["left"]] == ["the time was over before a place was found"]
