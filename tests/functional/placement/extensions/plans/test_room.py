"""Which few moves make room (extensions.rst)."""

import pytest

from placement.extensions.plans import handler
from placement.http.environ import PREFIX
from tests.functional.placement.extensions.evacuation.test_evacuations import (
    ONE,
    RED,
    THREE,
    TWO,
    A,
    B,
    C,
    hold,
    move,
    pool,
    provider,
)
from tests.functional.placement.small_cloud import expect, holding, numbered, stock

pytestmark = pytest.mark.spread_over_databases

ROOM = f"{PREFIX}/plans/room"
D = numbered("a", 4)
FOUR = numbered("c", 4)


def room(service, query, **more):
    return expect(service.post(ROOM, {"query": query, **more}), 200).json


def told(answer):
    """Return who moves where, and who waits for whom."""
    return [
        (move["consumer"], move["from"][0]["root"], move["to"][0]["root"], move["after"])
        for move in answer["moves"]
    ]


def carry_out(service, answer):
    """Make the moves, one after the other."""
    for one in answer["moves"]:
        move(service, one["consumer"], one["allocations"])


def candidates(service, query):
    found = expect(service.get(f"/allocation_candidates?{query}"), 200).json
    return found["allocation_requests"]


def test_nothing_has_to_move(three):
    answer = room(three, "resources=VCPU:3")
    assert answer == {
        "verdict": "fits",
        "exact": True,
        "moves": [],
        "cost": {"moves": 0, "amounts": {}},
        "then": {"trees": [{"root": B, "name": "b"}], "candidates": 1},
        "message": "It fits on b: nothing has to move.",
        "tried": {"trees": 0},
        "constraints": 0,
    }


def test_one_move(three):
    answer = room(three, "resources=VCPU:4")
    assert answer == {
        "verdict": "possible",
        "exact": True,
        "moves": [
            {
                "consumer": ONE,
                "consumer_type": "INSTANCE",
                "project_id": "p",
                "from": [{"root": A, "name": "a"}],
                "to": [{"root": B, "name": "b"}],
                "allocations": {B: {"resources": {"VCPU": 2}}},
                "after": [],
            }
        ],
        "cost": {"moves": 1, "amounts": {"VCPU": 2}},
        "then": {"trees": [{"root": A, "name": "a"}], "candidates": 1},
        "message": f"1 move makes room on a: {ONE} to b. Nova's own filters were not asked.",
        "tried": {"trees": 3},
        "constraints": 0,
    }
    assert candidates(three, "resources=VCPU:4") == []
    carry_out(three, answer)
    assert len(candidates(three, "resources=VCPU:4")) == 1


def test_a_place_that_another_move_makes(service):
    """The guest of A fits on B after that of B went to C."""
    provider(service, "a", A, VCPU=8)
    provider(service, "b", B, VCPU=6)
    provider(service, "c", C, VCPU=4)
    hold(service, ONE, **{A: {"VCPU": 6}})
    hold(service, TWO, **{B: {"VCPU": 4}})
    answer = room(service, "resources=VCPU:8")
    assert told(answer) == [(TWO, B, C, []), (ONE, A, B, [0])]
    assert answer["exact"]
    carry_out(service, answer)
    assert len(candidates(service, "resources=VCPU:8")) == 1


def test_two_that_would_change_places_prove_nothing_if_a_pool_is_there(service):
    """Somebody who makes way by what a pool gives isn't looked for."""
    service.write("PUT", "/resource_classes/CUSTOM_CARD")
    provider(service, "a", A, VCPU=8, CUSTOM_CARD=1)
    provider(service, "b", B, VCPU=8)
    hold(service, ONE, **{A: {"VCPU": 7}})
    hold(service, TWO, **{B: {"VCPU": 6}})
    answer = room(service, "resources=VCPU:2,CUSTOM_CARD:1")
    assert (answer["verdict"], answer["exact"]) == ("impossible", True)
    pool(service, "s", C, DISK_GB=10)
    answer = room(service, "resources=VCPU:2,CUSTOM_CARD:1")
    assert (answer["verdict"], answer["exact"]) == ("unknown", False)


def test_impossible(three):
    answer = room(three, "resources=VCPU:9")
    assert (answer["verdict"], answer["exact"], answer["moves"]) == ("impossible", True, [])
    assert answer["then"] == {"trees": [], "candidates": 0}
    # where a trait is missing, nothing is too little
    answer = room(three, "resources=VCPU:1&required=HW_NUMA_ROOT")
    assert (answer["verdict"], "too little" in answer["message"]) == ("impossible", False)
    # each host has room if it were empty, and nobody has a place elsewhere
    answer = room(three, "resources=VCPU:8", limit={"moves": 10})
    assert (answer["verdict"], answer["exact"]) == ("impossible", True)


def test_more_than_is_free_in_all_is_impossible_after_any_moves(three):
    answer = room(three, "resources=VCPU:8")
    assert (answer["verdict"], answer["exact"]) == ("impossible", True)
    words = "No moves make room: VCPU 8 is asked for, and at most 7 is free in all."
    assert answer["message"] == words
    answer = room(three, "resources=VCPU:4", count=2)
    assert (answer["verdict"], answer["exact"]) == ("impossible", True)
    # who moves may ask for less than it holds
    less = room(three, "resources=VCPU:8", requests={TWO: "resources=VCPU:1"})
    assert less["verdict"] != "impossible" or "free in all" not in less["message"]
    assert room(three, "resources=VCPU:8", requests={ONE: "resources=VCPU:2"})["message"] == words
    # what is over its capacity takes nothing from what is free elsewhere
    path = f"/resource_providers/{C}/inventories"
    generation = three.get(path).json["resource_provider_generation"]
    expect(three.put(path, stock(generation, VCPU=1)), 200)
    assert "at most 5 is free" in room(three, "resources=VCPU:8")["message"]


def test_more_moves_than_may_be(service):
    provider(service, "a", A, VCPU=8)
    provider(service, "b", B, VCPU=8)
    hold(service, ONE, **{A: {"VCPU": 2}})
    hold(service, TWO, **{A: {"VCPU": 2}})
    hold(service, THREE, **{B: {"VCPU": 1}})
    answer = room(service, "resources=VCPU:8", within=[A], limit={"moves": 1})
    assert (answer["verdict"], answer["exact"]) == ("unknown", False)
    assert answer["message"] == "No plan of up to 1 move, the limit, makes room. A longer one may."
    answer = room(service, "resources=VCPU:8", within=[A], limit={"moves": 2})
    assert (answer["verdict"], answer["exact"]) == ("possible", True)


def test_who_may_not_move(three):
    query = "resources=VCPU:4"
    kept = room(three, query, movable={"except": [ONE]})
    assert ONE not in [move["consumer"] for move in kept["moves"]]
    assert kept["verdict"] == "impossible"
    only = room(three, query, movable={"only": [ONE]})
    assert told(only) == [(ONE, A, B, [])]
    other = room(three, query, movable={"consumer_types": ["MIGRATION"]})
    assert (other["verdict"], other["exact"]) == ("impossible", True)


def test_who_is_on_two_trees_never_moves(three):
    body = holding({A: {"VCPU": 2}, B: {"VCPU": 1}}, 1)
    expect(three.put(f"/allocations/{ONE}", body), 204)
    assert room(three, "resources=VCPU:4")["verdict"] == "impossible"


def test_constraints(three):
    query = "resources=VCPU:4"
    apart = room(three, query, constraints={"apart": [[ONE, THREE]]})
    assert told(apart) == [(ONE, A, C, [])]
    assert apart["constraints"] == 1
    assert "1 constraint was taken into account." in apart["message"]
    shut = room(three, query, constraints={"not_on": {ONE: [B]}})
    assert told(shut) == [(ONE, A, C, [])]
    both = {"apart": [[ONE, THREE]], "not_on": {ONE: [C]}}
    assert room(three, query, constraints=both)["verdict"] != "possible"
    together = room(three, query, constraints={"together": [[ONE, THREE]]})
    assert told(together) == [(ONE, A, B, [])]


def test_who_is_bound_together_leaves_together_though_one_would_do(service):
    for name, root in (("a", A), ("b", B)):
        provider(service, name, root, VCPU=8)
    for consumer in (ONE, TWO):
        hold(service, consumer, **{A: {"VCPU": 2}})
    answer = room(service, "resources=VCPU:6", within=[A], constraints={"together": [[ONE, TWO]]})
    assert sorted(told(answer)) == [(ONE, A, B, []), (TWO, A, B, [])]
    # one that is alike doesn't stand in for who is bound
    hold(service, THREE, **{A: {"VCPU": 2}})
    pair = room(service, "resources=VCPU:6", within=[A], constraints={"together": [[TWO, THREE]]})
    assert sorted(told(pair)) == [(TWO, A, B, []), (THREE, A, B, [])]


def test_a_request_decides_in_place_of_what_is_held(three):
    three.write("PUT", "/traits/CUSTOM_GOLD")
    known = three.get(f"/resource_providers/{C}").json
    gold = {"resource_provider_generation": known["generation"], "traits": ["CUSTOM_GOLD"]}
    expect(three.put(f"/resource_providers/{C}/traits", gold), 200)
    gold = {ONE: "resources=VCPU:1&required=CUSTOM_GOLD"}
    answer = room(three, "resources=VCPU:4", requests=gold)
    assert told(answer) == [(ONE, A, C, [])]
    assert answer["moves"][0]["allocations"] == {C: {"resources": {"VCPU": 1}}}


def test_within(three):
    answer = room(three, "resources=VCPU:4", within=[C])
    assert answer["then"]["trees"] in ([{"root": C, "name": "c"}], [])
    assert answer["verdict"] == "impossible"
    response = three.post(ROOM, {"query": "resources=VCPU:4", "within": [D]})
    assert response.status_code == 400


def test_several(three):
    answer = room(three, "resources=VCPU:3", count=2)
    assert answer["verdict"] == "possible"
    assert answer["cost"]["moves"] == 1
    carry_out(three, answer)
    for number in (1, 2):
        found = candidates(three, "resources=VCPU:3")
        body = holding({}, None) | {"allocations": found[0]["allocations"]}
        expect(three.put(f"/allocations/{numbered('d', number)}", body), 204)


def test_what_is_to_be_moved_least(service):
    """Two small guests make room as one large one does."""
    provider(service, "a", A, VCPU=8, MEMORY_MB=100)
    provider(service, "b", B, VCPU=6, MEMORY_MB=100)
    hold(service, ONE, **{A: {"VCPU": 4, "MEMORY_MB": 50}})
    hold(service, TWO, **{A: {"VCPU": 2, "MEMORY_MB": 10}})
    hold(service, THREE, **{A: {"VCPU": 2, "MEMORY_MB": 10}})
    query = "resources=VCPU:4"
    hold(service, FOUR, **{B: {"VCPU": 3}})
    provider(service, "c", C, VCPU=4, MEMORY_MB=50)
    hold(service, numbered("c", 5), **{C: {"VCPU": 1}})
    fewest = room(service, "resources=VCPU:4&in_tree=" + A)
    assert fewest["cost"]["moves"] in (1, 2)
    least = room(service, f"{query}&in_tree={A}", by="MEMORY_MB")
    assert least["cost"] == {"moves": 2, "amounts": {"MEMORY_MB": 20, "VCPU": 4}}
    assert least["exact"]


def test_room_in_a_pool(service):
    """The disk of a pool gets free as a guest goes where another pool serves."""
    provider(service, "a", A, VCPU=8, aggregates=[numbered("e", 1)])
    pool(service, "s", C, DISK_GB=10)
    provider(service, "b", B, VCPU=8, DISK_GB=6)
    hold(service, ONE, **{A: {"VCPU": 1}, C: {"DISK_GB": 6}})
    answer = room(service, "resources=VCPU:1,DISK_GB:8")
    assert told(answer) == [(ONE, A, B, [])]
    carry_out(service, answer)
    assert len(candidates(service, "resources=VCPU:1,DISK_GB:8")) == 1


def test_who_keeps_its_share_of_a_pool_makes_no_room_there(service):
    """Moves between hosts that one pool serves give nothing of the pool back."""
    for name, uuid in (("a", A), ("b", B)):
        provider(service, name, uuid, VCPU=8, aggregates=[RED])
    pool(service, "s", C, DISK_GB=10)
    hold(service, ONE, **{A: {"VCPU": 1}, C: {"DISK_GB": 6}})
    hold(service, TWO, **{C: {"DISK_GB": 2}})
    for query in ("resources=VCPU:1,DISK_GB:3", "resources=DISK_GB:3"):
        answer = room(service, query)
        assert (answer["verdict"], answer["exact"]) == ("impossible", True)
    # nor is what the first of several take there for the others; disk alone is no room
    provider(service, "d", D, DISK_GB=1)
    answer = room(service, "resources=VCPU:1,DISK_GB:1", count=3)
    assert (answer["verdict"], answer["moves"]) == ("unknown", [])


def test_who_is_left_out_because_of_the_type_is_told(service):
    """Nova gives its guests no type, and then nobody moves by default."""
    provider(service, "a", A, VCPU=8)
    provider(service, "b", B, VCPU=8)
    for consumer in (ONE, TWO):
        body = holding({A: {"VCPU": 1}})
        del body["consumer_type"]
        expect(service.put(f"/allocations/{consumer}", body, version="1.37"), 204)
    hold(service, THREE, **{B: {"VCPU": 1}})
    body = holding({B: {"VCPU": 1}}) | {"consumer_type": "VOLUME"}
    expect(service.put(f"/allocations/{FOUR}", body), 204)
    left_out = (
        "Of all consumers, 3 stay because of their type, which movable.consumer_types may name: "
        "2 unknown, 1 VOLUME."
    )
    answer = room(service, "resources=VCPU:8", limit={"moves": 1})
    assert answer["verdict"] == "impossible"
    assert answer["message"].endswith(left_out)
    answer = room(service, "resources=VCPU:8", movable={"consumer_types": ["unknown"]})
    assert "2 unknown" not in answer["message"]
    answer = room(service, "resources=VCPU:8", movable={"only": [THREE]})
    assert "of their type" not in answer["message"]
    # no type helps where too little is free in all, unless one asks for less than it holds
    assert room(service, "resources=VCPU:13")["message"].endswith("at most 12 is free in all.")
    less = {ONE: "resources=VCPU:1"}
    assert room(service, "resources=VCPU:13", requests=less)["message"].endswith(left_out)


def test_few_of_many_types_are_named(service):
    provider(service, "a", A, VCPU=8)
    provider(service, "b", B, VCPU=7)
    for number in range(7):
        body = holding({A: {"VCPU": 1}}) | {"consumer_type": f"KIND_{number}"}
        consumer = f"dddddddd-0000-4000-8000-00000000000{number}"
        expect(service.put(f"/allocations/{consumer}", body), 204)
    answer = room(service, "resources=VCPU:8")
    assert answer["message"].endswith("1 KIND_3, 1 KIND_4, 2 of other types.")


def test_who_holds_of_a_full_pool_keeps_it(service):
    """A pool that is over its capacity is in nobody's way who takes no more of it."""
    for name, uuid in (("a", A), ("b", B)):
        provider(service, name, uuid, VCPU=8, aggregates=[RED])
    pool(service, "s", C, DISK_GB=10)
    hold(service, ONE, **{A: {"VCPU": 1}, C: {"DISK_GB": 6}})
    hold(service, TWO, **{B: {"VCPU": 1}, C: {"DISK_GB": 4}})
    fewer = {"inventories": {C: {"DISK_GB": {"total": 8}}}}
    answer = room(service, f"resources=VCPU:8&in_tree={A}", **{"if": fewer})
    assert told(answer) == [(ONE, A, B, [])]
    assert answer["moves"][0]["allocations"][C] == {"resources": {"DISK_GB": 6}}


def test_a_class_that_does_not_exist_is_refused(three):
    response = three.post(ROOM, {"query": "resources=VCPU:4", "by": "CUSTOM_NONE"})
    assert response.status_code == 400
    assert "by: there is no resource class 'CUSTOM_NONE'." in response.text


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"constraints": {"not_on": {ONE: [D]}}}, f"not_on.{ONE}: there is no resource provider"),
        ({"requests": {ONE: "resources=CUSTOM_NONE:1"}}, f"requests.{ONE}: there is no resource"),
    ],
)
def test_terms_that_name_what_does_not_exist_are_refused(three, terms, words):
    response = three.post(ROOM, {"query": "resources=VCPU:4", **terms})
    assert response.status_code == 400
    assert words in response.text


def test_if(three):
    more = {"inventories": {B: {"VCPU": {"total": 9}}}}
    assert room(three, "resources=VCPU:4", **{"if": more})["verdict"] == "fits"
    fewer = room(three, "resources=VCPU:4", **{"if": {"without": [B]}})
    assert told(fewer) == [(ONE, A, C, [])]
    assert room(three, "resources=VCPU:4", **{"if": {"freed": [ONE]}})["verdict"] == "fits"


def test_what_hosts_hold_that_are_taken_away_is_not_moved(service):
    for name, uuid in (("a", A), ("d", D)):
        provider(service, name, uuid, VCPU=8, aggregates=[numbered("e", 1)])
    pool(service, "s", C, DISK_GB=10)
    provider(service, "b", B, VCPU=8, DISK_GB=6)
    hold(service, ONE, **{A: {"VCPU": 1}, C: {"DISK_GB": 6}})
    assert room(service, "resources=VCPU:1,DISK_GB:8")["verdict"] == "possible"
    gone = room(service, "resources=VCPU:1,DISK_GB:8", **{"if": {"without": [A]}})
    assert gone["verdict"] in ("impossible", "unknown")
    assert gone["moves"] == []


def test_no_plan_counts_on_a_pool_that_is_taken_away(service):
    """Of the other pool somebody else has to leave, too."""
    pool(service, "gone", C, DISK_GB=10)
    stays = pool(service, "stays", DISK_GB=10)
    for name, uuid, vcpus in (("a", A, 8), ("d", D, 1)):
        provider(service, name, uuid, VCPU=vcpus, aggregates=[RED])
    provider(service, "b", B, VCPU=7, DISK_GB=10)
    provider(service, "e", VCPU=7)
    hold(service, ONE, **{A: {"VCPU": 7}})
    hold(service, TWO, **{D: {"VCPU": 1}, stays: {"DISK_GB": 10}})
    changed = {"if": {"without": [C]}}
    answer = room(service, "resources=VCPU:8,DISK_GB:8", **changed, limit={"moves": 1})
    assert (answer["verdict"], answer["moves"]) == ("unknown", [])
    answer = room(service, "resources=VCPU:8,DISK_GB:8", **changed)
    assert sorted(move["consumer"] for move in answer["moves"]) == [ONE, TWO]


def test_moves_side_by_side(service):
    """Who waits for nobody has nothing in `after`."""
    provider(service, "a", A, VCPU=8)
    provider(service, "b", B, VCPU=4)
    provider(service, "c", C, VCPU=4)
    hold(service, ONE, **{A: {"VCPU": 4}})
    hold(service, TWO, **{A: {"VCPU": 4}})
    answer = room(service, "resources=VCPU:8")
    assert [move["after"] for move in answer["moves"]] == [[], []]
    carry_out(service, answer)


def test_time_that_is_over_before_the_search(three, monkeypatch):
    budget_of = handler.budget_of

    def over(call, clock):
        budget = budget_of(call, clock)
        budget.shorten(0)
        return budget

    monkeypatch.setattr(handler, "budget_of", over)
    answer = room(three, "resources=VCPU:4", constraints={"apart": [[ONE, TWO]]})
    assert (answer["verdict"], answer["exact"]) == ("unknown", False)
    assert answer["message"] == "The time was over before a plan was found."
