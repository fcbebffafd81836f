"""Questions about a cloud as if it were changed (extensions.rst)."""

import pytest

from placement.extensions.what_if import changed_cloud
from tests.functional.placement.small_cloud import expect, holding, numbered
from tests.functional.placement.topology import Cloud

pytestmark = pytest.mark.spread_over_databases

CONSUMER = numbered("c", 1)
NOBODY = numbered("d", 1)
EXPLAIN = "/berth/v1/allocation_candidates/explain"


@pytest.fixture
def cloud(service):
    """Two hosts of 4 VCPU; the second has a card below it and is in a rack."""
    service.put("/traits/CUSTOM_GOLD")
    return Cloud(service).build(
        [
            {"name": "h1", "inventories": {"VCPU": {"total": 4}}},
            {"name": "h2", "inventories": {"VCPU": {"total": 4}}, "aggregates": ["rack"]},
            {"name": "h2_card", "parent": "h2", "inventories": {"VGPU": {"total": 2}}},
        ]
    )


def fits(cloud, query, change):
    body = {"requests": {"q": {"query": query}}, "by": ["root"], "if": change}
    return expect(cloud.service.post("/berth/v1/capacity", body), 200).json["requests"]["q"]


def refusal(cloud, change):
    body = {"requests": {"q": {"query": "resources=VCPU:1"}}, "if": change}
    answer = cloud.service.post("/berth/v1/capacity", body)
    assert answer.status_code == 400, answer.text
    return answer.json["errors"][0]["detail"]


@pytest.mark.parametrize(
    ("change", "query", "count"),
    [
        (lambda cloud: {}, "resources=VCPU:3", 2),
        (
            lambda cloud: {"inventories": {cloud.uuids["h1"]: {"VCPU": {"total": 9}}}},
            "resources=VCPU:3",
            4,
        ),
        (
            lambda cloud: {"inventories": {cloud.uuids["h1"]: {"VGPU": {"total": 1}}}},
            "resources=VGPU:1",
            3,
        ),
        (
            lambda cloud: {"all": {"classes": {"VCPU": {"allocation_ratio": 6.0}}}},
            "resources=VCPU:3",
            16,
        ),
        (
            lambda cloud: {
                "all": {
                    "classes": {"VCPU": {"allocation_ratio": 6.0}},
                    "member_of": cloud.aggregate("rack"),
                }
            },
            "resources=VCPU:3",
            9,
        ),
        (
            lambda cloud: {
                "traits": {cloud.uuids["h1"]: {"add": ["CUSTOM_GOLD"]}},
                "all": {"classes": {"VCPU": {"total": 9}}, "required": "!CUSTOM_GOLD"},
            },
            "resources=VCPU:3&required=CUSTOM_GOLD",
            3,
        ),
        (
            lambda cloud: {"aggregates": {cloud.uuids["h1"]: {"add": [cloud.aggregate("rack")]}}},
            f"resources=VCPU:3&member_of={NOBODY}",
            0,
        ),
        (lambda cloud: {"add": [{"like": cloud.uuids["h2"], "count": 3}]}, "resources=VGPU:1", 8),
        (lambda cloud: {"without": [cloud.uuids["h2"]]}, "resources=VGPU:1", 0),
    ],
)
def test_the_answer_is_that_of_the_changed_cloud(cloud, change, query, count):
    assert fits(cloud, query, change(cloud))["fits"] == count
    # nothing was changed
    assert fits(cloud, "resources=VCPU:3", {})["fits"] == 2


def test_traits_and_aggregates_may_go(cloud):
    h1, h2, rack = cloud.uuids["h1"], cloud.uuids["h2"], cloud.aggregate("rack")
    gold, racked = "resources=VCPU:3&required=CUSTOM_GOLD", f"resources=VCPU:3&member_of={rack}"
    given = {"traits": {h1: {"add": ["CUSTOM_GOLD"]}}}
    taken = {
        "traits": {h1: {"add": ["CUSTOM_GOLD"], "remove": ["CUSTOM_GOLD"]}},
        "aggregates": {h2: {"remove": [rack]}},
    }
    for query in (gold, racked):
        assert [fits(cloud, query, change)["fits"] for change in (given, taken)] == [1, 0]


def test_new_hosts_have_names_and_hold_nothing_unless_asked_for(cloud):
    expect(
        cloud.service.put(f"/allocations/{CONSUMER}", holding({cloud.uuids["h2"]: {"VCPU": 3}})),
        204,
    )
    like = {"like": cloud.uuids["h2"], "name": "rack9"}
    found = fits(cloud, "resources=VCPU:2", {"add": [like | {"count": 2}]})
    assert [(one["name"], one["fits"]) for one in found["by_root"]] == [
        ("h1", 2),
        ("rack9-1", 2),
        ("rack9-2", 2),
    ]
    assert fits(cloud, "resources=VCPU:2", {"add": [like | {"empty": False}]})["fits"] == 2


def test_what_consumers_hold_can_be_freed(cloud):
    expect(
        cloud.service.put(f"/allocations/{CONSUMER}", holding({cloud.uuids["h1"]: {"VCPU": 4}})),
        204,
    )
    assert fits(cloud, "resources=VCPU:3", {})["fits"] == 1
    assert fits(cloud, "resources=VCPU:3", {"freed": [CONSUMER]})["fits"] == 2


def test_who_is_freed_and_asks_gives_back_once(cloud):
    for number, (host, amount) in enumerate([("h1", 2), ("h1", 2), ("h2", 4)], 1):
        held = holding({cloud.uuids[host]: {"VCPU": amount}})
        expect(cloud.service.put(f"/allocations/{numbered('c', number)}", held), 204)
    body = {"query": "resources=VCPU:3", "consumer": CONSUMER}
    for change in ({}, {"freed": [CONSUMER]}):
        found = expect(cloud.service.post(EXPLAIN, {**body, "if": change}), 200).json
        assert (found["verdict"], found["nearest"][0]["missing"][0]["free"]) == ("none", 2), change


def test_an_evacuation_may_count_on_new_hosts(cloud):
    for number, host in enumerate(("h1", "h2"), 1):
        expect(
            cloud.service.put(
                f"/allocations/{numbered('c', number)}", holding({cloud.uuids[host]: {"VCPU": 3}})
            ),
            204,
        )
    body = {"without": [cloud.uuids["h1"]]}
    path = "/berth/v1/capacity/evacuate"
    assert expect(cloud.service.post(path, body), 200).json["verdict"] == "impossible"
    body["if"] = {"add": [{"like": cloud.uuids["h1"]}]}
    found = expect(cloud.service.post(path, body), 200).json
    assert (found["verdict"], list(found["moves"])) == ("possible", [CONSUMER])
    # who counts as gone needs no place
    body["if"] = {"freed": [CONSUMER]}
    assert expect(cloud.service.post(path, body), 200).json["consumers"]["total"] == 0


def test_an_explanation_is_of_the_changed_cloud(cloud):
    body = {"query": "resources=VCPU:9"}
    assert expect(cloud.service.post(EXPLAIN, body), 200).json["verdict"] == "none"
    body["if"] = {"add": [{"like": cloud.uuids["h1"]}], "all": {"classes": {"VCPU": {"total": 8}}}}
    found = expect(cloud.service.post(EXPLAIN, body), 200).json
    assert found["nearest"][0]["missing"][0]["free"] == 8
    assert {one["name"] for one in found["nearest"]} == {"h1", "h2", "new-1"}


def test_an_aggregate_whose_last_provider_left_may_be_named(cloud):
    cloud.service.write("POST", "/resource_providers", {"name": "h3", "uuid": NOBODY})
    rack = numbered("b", 9)
    place = f"/resource_providers/{NOBODY}/aggregates"
    for generation, aggregates in enumerate(([rack], [])):
        # a search in between: the cloud knows the aggregate
        assert fits(cloud, f"resources=VCPU:3&member_of={rack}", {})["fits"] == 0
        body = {"resource_provider_generation": generation, "aggregates": aggregates}
        expect(cloud.service.put(place, body, version="1.39"), 200)
    change = {"aggregates": {cloud.uuids["h1"]: {"add": [rack]}}}
    assert fits(cloud, f"resources=VCPU:3&member_of={rack}", change)["fits"] == 1


def test_the_last_step_is_the_one_that_ends_a_search(cloud):
    cloud.service.write("POST", "/resource_providers", {"name": "h3", "uuid": NOBODY})
    racks = numbered("b", 9), cloud.aggregate("rack")
    body = {"resource_provider_generation": 0, "aggregates": [racks[0]]}
    expect(cloud.service.put(f"/resource_providers/{NOBODY}/aggregates", body), 200)
    query = f"resources=VCPU:1&in_tree={CONSUMER}&member_of={racks[0]}"
    for more in ("", f"&member_of={racks[1]}"):
        found = expect(cloud.service.post(EXPLAIN, {"query": query + more}), 200).json
        assert found["steps"][-1]["step"] == ("member_of" if more else "in_tree")


def test_who_shared_and_is_taken_away_shares_nothing(cloud):
    body = {"name": "pool", "uuid": NOBODY}
    cloud.service.write("POST", "/resource_providers", body)
    place = f"/resource_providers/{NOBODY}"
    body = {"resource_provider_generation": 0, "inventories": {"DISK_GB": {"total": 9}}}
    cloud.service.write("PUT", f"{place}/inventories", body)
    body = {"resource_provider_generation": 1, "traits": ["MISC_SHARES_VIA_AGGREGATE"]}
    cloud.service.write("PUT", f"{place}/traits", body)
    body = {"query": "resources=VCPU:1,DISK_GB:1"}
    found = expect(cloud.service.post(EXPLAIN, body), 200).json
    assert "no_sharing" in {one["reason"] for one in found["reasons"]}
    body["if"] = {"without": [NOBODY]}
    found = expect(cloud.service.post(EXPLAIN, body), 200).json
    assert {one["reason"] for one in found["reasons"]} == {"no_inventory"}
    body = {"resource_provider_generation": 2, "aggregates": [cloud.aggregate("rack")]}
    expect(cloud.service.put(f"{place}/aggregates", body, version="1.39"), 200)
    stocks = {cloud.uuids[host]: {"DISK_GB": {"total": 1}} for host in ("h1", "h2")}
    body = {"query": "resources=DISK_GB:2", "if": {"without": [NOBODY], "inventories": stocks}}
    found = expect(cloud.service.post(EXPLAIN, body), 200).json
    assert {one["reason"] for one in found["reasons"]} == {"capacity"}


@pytest.mark.parametrize("place", ["in_tree", "member_of"])
def test_a_place_that_is_taken_away_ends_a_search_as_one_that_does_not_exist(cloud, place):
    cloud.service.write("POST", "/resource_providers", {"name": "h3", "uuid": NOBODY})
    rack = numbered("b", 9)
    body = {"resource_provider_generation": 0, "aggregates": [rack]}
    expect(cloud.service.put(f"/resource_providers/{NOBODY}/aggregates", body), 200)
    query = f"resources=VCPU:1&{place}={NOBODY if place == 'in_tree' else rack}"
    queries = [
        f"{query}&required=CUSTOM_NOPE",
        f"{query}&resources2=VCPU:1&required2=CUSTOM_NOPE&group_policy=none",
        f"{query}&root_required=CUSTOM_NOPE",
    ]
    body = {"if": {"without": [NOBODY]}}
    supposed = [cloud.service.post(EXPLAIN, {"query": each, **body}) for each in queries]
    short = {"query": f"{query}&resources1=VCPU:9"}
    told = expect(cloud.service.post(EXPLAIN, short | body), 200).json
    assert {one["reason"] for one in told["reasons"]} == {"unknown_name"}
    expect(cloud.service.delete(f"/resource_providers/{NOBODY}"), 204)
    for query, found in zip(queries, supposed, strict=True):
        after = cloud.service.post(EXPLAIN, {"query": query})
        search = cloud.service.get(f"/allocation_candidates?{query}")
        assert found.status_code == after.status_code == search.status_code, query
    assert told == cloud.service.post(EXPLAIN, short).json


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"inventories": {NOBODY: {"VCPU": {"total": 1}}}}, f"no resource provider {NOBODY}"),
        ({"all": {"classes": {"CUSTOM_NOPE": {"total": 1}}}}, "no resource class 'CUSTOM_NOPE'"),
        ({"all": {"classes": {"VCPU": {"total": 0}}}}, "0 is less than the minimum of 1"),
        ({"all": {"classes": {"VCPU": {"reserved": 9}}}}, "Invalid inventory for 'VCPU'"),
        ({"traits": {"h1": {"add": ["CUSTOM_NOPE"]}}}, "does not match any of the regexes"),
        ({"add": [{"like": NOBODY}]}, f"if.add: there is no resource provider {NOBODY}"),
        ({"add": [{"count": 2}]}, "'like' is a required property"),
        ({"without": [NOBODY]}, f"if.without: there is no resource provider {NOBODY}"),
        ({"more": 1}, "'more' was unexpected"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(cloud, change, words):
    assert words in refusal(cloud, change)


def test_a_change_of_too_many_providers_is_refused(cloud, monkeypatch):
    monkeypatch.setattr(changed_cloud, "MOST_CHANGED", 1)
    change = {"all": {"classes": {"VCPU": {"total": 5}}}}
    assert "if: at most 1 providers can be changed" in refusal(cloud, change)


def test_the_place_of_a_wrong_change_is_told(cloud):
    h1, h2 = cloud.uuids["h1"], cloud.uuids["h2"]
    change = {"traits": {h1: {"remove": ["CUSTOM_NOPE"]}}}
    assert f"if.traits.{h1}.remove: there is no trait 'CUSTOM_NOPE'" in refusal(cloud, change)
    change = {"inventories": {h2: {"VGPU": {"reserved": 0}}}}
    assert f"{h2} has no VGPU: a new inventory needs a total" in refusal(cloud, change)
    assert "is no root" in refusal(cloud, {"add": [{"like": cloud.uuids["h2_card"]}]})
    many = {"add": [{"like": h2, "count": 60_000}]}
    assert "at most 100000 providers can be added" in refusal(cloud, many)


@pytest.mark.parametrize("kind", ["inventories", "traits", "aggregates"])
def test_a_key_that_is_no_uuid_is_refused(cloud, kind):
    dashes = "-" * 36
    assert f"if.{kind}: there is no resource provider {dashes}" in refusal(
        cloud, {kind: {dashes: {}}}
    )
