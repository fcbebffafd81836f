"""Would all consumers of some hosts fit elsewhere (extensions.md 6)."""

from uuid import uuid4

import pytest

from tests.functional.placement.service import statements
from tests.functional.placement.small_cloud import expect, holding, numbered

pytestmark = pytest.mark.spread_over_databases

EVACUATE = "/berth/v1/capacity/evacuate"
A, B, C = (numbered("a", number) for number in range(1, 4))
ONE, TWO, THREE = (numbered("c", number) for number in range(1, 4))
RED = numbered("e", 1)


def provider(service, name, uuid=None, parent=None, traits=(), aggregates=(), **stock):
    """Create a provider; an amount of `stock` is a total or a whole inventory."""
    uuid = uuid or str(uuid4())
    body = {"name": name, "uuid": uuid, "parent_provider_uuid": parent}
    service.write("POST", "/resource_providers", body)
    inventories = {
        key: given if isinstance(given, dict) else {"total": given} for key, given in stock.items()
    }
    service.write(
        "PUT",
        f"/resource_providers/{uuid}/inventories",
        {"resource_provider_generation": 0, "inventories": inventories},
    )
    service.write(
        "PUT",
        f"/resource_providers/{uuid}/traits",
        {"resource_provider_generation": 1, "traits": list(traits)},
    )
    service.write(
        "PUT",
        f"/resource_providers/{uuid}/aggregates",
        {
            "resource_provider_generation": 1 + bool(traits),
            "aggregates": list(aggregates),
        },
    )
    return uuid


def pool(service, name, uuid=None, **stock):
    """Create a sharing provider that serves the aggregate RED."""
    return provider(
        service, name, uuid, traits=["MISC_SHARES_VIA_AGGREGATE"], aggregates=[RED], **stock
    )


def hold(service, consumer, **allocations):
    """Give a consumer resources; a provider's name is its uuid."""
    expect(service.put(f"/allocations/{consumer}", holding(allocations)), 204)


def evacuate(service, *roots, **more):
    return expect(service.post(EVACUATE, {"without": list(roots), **more}), 200).json


def move(service, consumer, allocations):
    """Replace what a consumer holds."""
    known = service.get(f"/allocations/{consumer}").json
    expect(service.put(f"/allocations/{consumer}", known | {"allocations": allocations}), 204)


def carry_out(service, answer):
    """Make the moves, one after the other."""
    for consumer, made in answer["moves"].items():
        move(service, consumer, made["allocations"])


def shrink(service, uuid, generation, **stock):
    body = {
        "resource_provider_generation": generation,
        "inventories": {name: {"total": total} for name, total in stock.items()},
    }
    service.write("PUT", f"/resource_providers/{uuid}/inventories", body)


def total_of(service, uuid):
    return service.get(f"/resource_providers/{uuid}/usages").json["usages"]


def test_all_fit_elsewhere(service):
    provider(service, "h1", A, VCPU=8, MEMORY_MB=1000)
    provider(service, "h2", B, VCPU=4, MEMORY_MB=1000)
    hold(service, ONE, **{A: {"VCPU": 2, "MEMORY_MB": 100}})
    hold(service, TWO, **{A: {"VCPU": 2, "MEMORY_MB": 100}})

    answer = evacuate(service, A)

    place = {"root": B, "allocations": {B: {"resources": {"VCPU": 2, "MEMORY_MB": 100}}}}
    assert answer == {
        "fits": True,
        "exact": True,
        "verdict": "possible",
        "consumers": {"total": 2, "fit": 2, "unfit": 0},
        "moves": {ONE: place, TWO: place},
        "unfit": [],
    }
    carry_out(service, answer)
    assert total_of(service, A) == {"VCPU": 0, "MEMORY_MB": 0}


def test_who_finds_no_place_is_told_why(service):
    provider(service, "h1", A, VCPU=8, MEMORY_MB=4000)
    provider(service, "h2", B, VCPU=8, MEMORY_MB=1000)
    hold(service, ONE, **{A: {"VCPU": 1, "MEMORY_MB": 500}})
    hold(service, TWO, **{A: {"VCPU": 1, "MEMORY_MB": 2000}})

    answer = evacuate(service, A)

    assert answer["consumers"] == {"total": 2, "fit": 1, "unfit": 1}
    assert (answer["fits"], answer["exact"]) == (False, True)
    assert list(answer["moves"]) == [ONE]
    assert answer["unfit"] == [
        {
            "consumer": TWO,
            "message": "0 of 2 trees: 1 to be avoided, 1 short of MEMORY_MB 2000 "
            "(nearest: h2 has 500)",
        }
    ]


def test_the_largest_go_first(service):
    provider(service, "h1", A, VCPU=8)
    provider(service, "h2", B, VCPU=3)
    provider(service, "h3", C, VCPU=2)
    hold(service, ONE, **{A: {"VCPU": 2}})
    hold(service, TWO, **{A: {"VCPU": 3}})

    answer = evacuate(service, A)

    assert [move["root"] for move in answer["moves"].values()] == [B, C]
    carry_out(service, answer)


def test_another_order_is_tried_where_the_largest_first_fail(service):
    # 6 = 3 + 3, 4 = 2 + 2; largest first puts 3 + 2 on the first host
    provider(service, "leaving", A, VCPU=64, PCPU=64)
    provider(service, "six", B, VCPU=6, PCPU=3)
    provider(service, "four", C, VCPU=4, PCPU=9)
    for amounts in ((3, 1), (3, 1), (2, 3), (2, 3)):
        hold(service, str(uuid4()), **{A: dict(zip(("VCPU", "PCPU"), amounts, strict=True))})

    answer = evacuate(service, A)

    assert answer["fits"]
    carry_out(service, answer)


def test_together_they_are_too_many(service):
    provider(service, "h1", A, VCPU=64)
    provider(service, "h2", B, VCPU=4)
    for number in range(5):
        hold(service, numbered("c", number), **{A: {"VCPU": 1}})
    hold(service, numbered("c", 9), **{A: {"VCPU": 2}})

    answer = evacuate(service, A)

    assert (answer["fits"], answer["exact"]) == (False, True)
    assert answer["consumers"] == {"total": 6, "fit": 4, "unfit": 2} or answer["consumers"] == {
        "total": 6,
        "fit": 3,
        "unfit": 3,
    }
    carry_out(service, answer)


def test_a_doubt_is_told(service):
    # 4 and 3 fill 7, which is there, but neither the sum nor any single one proves the rest
    provider(service, "leaving", A, VCPU=900)
    for number in range(14):
        provider(service, f"h{number}", VCPU=5)
    for number in range(20):
        hold(service, numbered("c", number), **{A: {"VCPU": 3}})
    hold(service, numbered("c", 99), **{A: {"VCPU": 2}})

    answer = evacuate(service, A)

    assert (answer["fits"], answer["exact"]) == (False, False)
    assert answer["consumers"]["unfit"] == 6


def test_the_hosts_without_are_no_place_for_each_other(service):
    provider(service, "h1", A, VCPU=8)
    provider(service, "h2", B, VCPU=8)
    hold(service, ONE, **{A: {"VCPU": 2}})

    answer = evacuate(service, A, B)

    assert (answer["fits"], answer["exact"]) == (False, True)
    assert answer["unfit"] == [{"consumer": ONE, "message": "0 of 2 trees: 2 to be avoided"}]


def test_nobody_to_move_fits(service):
    provider(service, "h1", A, VCPU=8)
    assert evacuate(service, A) == {
        "fits": True,
        "exact": True,
        "verdict": "possible",
        "consumers": {"total": 0, "fit": 0, "unfit": 0},
        "moves": {},
        "unfit": [],
    }


def test_shared_storage_is_kept_where_the_new_host_has_it_too(service):
    provider(service, "h1", A, aggregates=[RED], VCPU=8)
    provider(service, "h2", B, aggregates=[RED], VCPU=8)
    provider(service, "h3", VCPU=8)
    shared = pool(service, "nfs", C, DISK_GB=100)
    hold(service, ONE, **{A: {"VCPU": 2}, shared: {"DISK_GB": 60}})
    hold(service, TWO, **{A: {"VCPU": 2}, shared: {"DISK_GB": 40}})

    answer = evacuate(service, A)

    assert answer["fits"]
    assert {move["root"] for move in answer["moves"].values()} == {B}
    carry_out(service, answer)
    assert total_of(service, shared) == {"DISK_GB": 100}


def test_a_pool_over_its_capacity_keeps_what_it_holds(service):
    provider(service, "h1", A, aggregates=[RED], VCPU=8)
    provider(service, "h2", B, aggregates=[RED], VCPU=8)
    shared = pool(service, "nfs", C, DISK_GB=100)
    hold(service, ONE, **{A: {"VCPU": 2}, shared: {"DISK_GB": 60}})
    hold(service, TWO, **{A: {"VCPU": 1}, shared: {"DISK_GB": 40}})
    shrink(
        service, shared, service.get(f"/resource_providers/{shared}").json["generation"], DISK_GB=70
    )

    answer = evacuate(service, A)

    assert answer["fits"]
    carry_out(service, answer)


def test_a_pool_can_be_emptied_itself(service):
    provider(service, "h1", A, aggregates=[RED], VCPU=8)
    old = pool(service, "old", B, DISK_GB=100)
    new = pool(service, "new", C, DISK_GB=100)
    hold(service, ONE, **{A: {"VCPU": 8}, old: {"DISK_GB": 60}})

    answer = evacuate(service, old)

    assert answer["moves"][ONE]["allocations"] == {
        A: {"resources": {"VCPU": 8}},
        new: {"resources": {"DISK_GB": 60}},
    }
    carry_out(service, answer)


def test_a_device_below_a_root_asks_for_one_of_its_kind(service):
    provider(service, "h1", A, VCPU=8)
    card = provider(service, "h1-gpu", parent=A, VGPU=4)
    provider(service, "h2", B, VCPU=8)
    halves = [provider(service, f"h2-gpu{number}", parent=B, VGPU=1) for number in range(2)]
    hold(service, ONE, **{A: {"VCPU": 1}, card: {"VGPU": 1}})
    hold(service, TWO, **{A: {"VCPU": 1}, card: {"VGPU": 2}})

    answer = evacuate(service, A)

    assert list(answer["moves"]) == [ONE]
    assert answer["moves"][ONE]["allocations"].keys() & set(halves)
    (unfit,) = answer["unfit"]
    assert unfit["consumer"] == TWO
    assert "short of VGPU 2" in unfit["message"]
    assert answer["exact"]
    carry_out(service, answer)


def test_two_devices_may_come_to_one(service):
    provider(service, "h1", A, VCPU=8)
    cards = [provider(service, f"h1-gpu{number}", parent=A, VGPU=1) for number in range(2)]
    provider(service, "h2", B, VCPU=8)
    card = provider(service, "h2-gpu", parent=B, VGPU={"total": 2, "max_unit": 2})
    hold(service, ONE, **{A: {"VCPU": 1}, cards[0]: {"VGPU": 1}, cards[1]: {"VGPU": 1}})

    answer = evacuate(service, A)

    assert answer["moves"][ONE]["allocations"][card] == {"resources": {"VGPU": 2}}
    carry_out(service, answer)


def test_a_consumer_of_two_of_the_hosts_gets_two_trees(service):
    provider(service, "h1", A, VCPU=8)
    provider(service, "h2", B, VCPU=8)
    provider(service, "h3", C, VCPU=8)
    hold(service, ONE, **{A: {"VCPU": 2}, B: {"VCPU": 1}})

    alone = evacuate(service, A, B)
    assert (alone["fits"], alone["exact"]) == (False, False)
    assert alone["unfit"][0]["message"] == (
        "there is no place for what it holds of 2 trees at the same time"
    )
    fourth = provider(service, "h4", VCPU=1)
    answer = evacuate(service, A, B)

    assert answer["fits"]
    assert answer["moves"][ONE]["root"] == C
    assert answer["moves"][ONE]["allocations"] == {
        C: {"resources": {"VCPU": 2}},
        fourth: {"resources": {"VCPU": 1}},
    }
    carry_out(service, answer)


def test_what_is_held_of_a_host_that_stays_is_kept(service):
    provider(service, "h1", A, VCPU=8)
    provider(service, "h2", B, VCPU=8)
    provider(service, "h3", C, VCPU=8)
    hold(service, ONE, **{A: {"VCPU": 2}, B: {"VCPU": 3}})

    answer = evacuate(service, A)

    assert answer["moves"][ONE] == {
        "root": C,
        "allocations": {B: {"resources": {"VCPU": 3}}, C: {"resources": {"VCPU": 2}}},
    }
    carry_out(service, answer)


def test_a_host_that_gave_up_an_inventory_has_no_part_in_it(service):
    provider(service, "h1", A, VCPU=8, DISK_GB=10)
    provider(service, "h2", B, VCPU=8)
    hold(service, ONE, **{A: {"VCPU": 2, "DISK_GB": 1}})

    (unfit,) = evacuate(service, A)["unfit"]

    assert unfit["message"] == "0 of 2 trees: 1 to be avoided, 1 has no DISK_GB"


def test_units_of_the_new_host_count(service):
    provider(service, "h1", A, VCPU=8)
    provider(service, "h2", B, VCPU={"total": 8, "max_unit": 2})
    provider(service, "h3", C, VCPU={"total": 8, "step_size": 2})
    hold(service, ONE, **{A: {"VCPU": 3}})

    answer = evacuate(service, A)

    assert not answer["fits"]
    assert answer["exact"]


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "'without' is a required property"),
        ({"without": []}, "non-empty"),
        ({"without": "all"}, "is not of type 'array'"),
        ({"without": ["host1"]}, "is not a 'uuid'"),
        ({"without": [A], "by": "root"}, "Additional properties are not allowed"),
        ({"without": [numbered("a", 77)]}, numbered("a", 77)),
    ],
)
def test_bad_requests_are_refused(service, body, detail):
    provider(service, "h1", A, VCPU=8)
    refusal = expect(service.post(EVACUATE, body), 400).json["errors"][0]["detail"]
    assert detail in refusal


def test_a_provider_below_a_root_is_refused_with_its_root(service):
    provider(service, "h1", A, VCPU=8)
    provider(service, "h1-gpu", B, parent=A, VGPU=1)
    refusal = expect(service.post(EVACUATE, {"without": [B]}), 400).json["errors"][0]["detail"]
    assert f"Resource provider {B} is no root: it is in the tree of {A}." in refusal


def test_uuids_may_be_spelled_otherwise(service):
    provider(service, "h1", A, VCPU=8)
    assert evacuate(service, A.upper(), A.replace("-", ""))["fits"]


def test_too_many_roots_are_refused(service):
    refusal = expect(service.post(EVACUATE, {"without": [A] * 10_001}), 400)
    assert "at most 10000 roots" in refusal.json["errors"][0]["detail"]


def test_who_asks_for_more_than_it_holds_needs_a_host_that_has_it(service):
    provider(service, "h1", A, VCPU=8)
    provider(service, "h2", B, VCPU=8)
    provider(service, "h3", C, traits=["HW_CPU_X86_AVX"], VCPU=2)
    hold(service, ONE, **{A: {"VCPU": 2}})
    hold(service, TWO, **{A: {"VCPU": 2}})
    query = "resources=VCPU:2&required=HW_CPU_X86_AVX"

    answer = evacuate(service, A, requests={TWO.upper(): query})

    assert answer["verdict"] == "possible"
    assert {one: move["root"] for one, move in answer["moves"].items()} == {ONE: B, TWO: C}
    carry_out(service, answer)
    both = evacuate(service, C, requests={TWO: query})
    assert (both["verdict"], list(both["moves"])) == ("impossible", [])


def test_groups_of_a_request_come_from_one_provider_each(service):
    provider(service, "h1", A)
    cell = provider(service, "h1-cell", parent=A, VCPU=8)
    provider(service, "h2", B)
    for number in range(2):
        provider(service, f"h2-cell{number}", parent=B, VCPU=2)
    hold(service, ONE, **{cell: {"VCPU": 3}})

    held = evacuate(service, A)
    split = evacuate(
        service, A, requests={ONE: "resources1=VCPU:2&resources2=VCPU:1&group_policy=none"}
    )

    assert (held["verdict"], split["verdict"]) == ("impossible", "possible")
    assert sum(one["resources"]["VCPU"] for one in split["moves"][ONE]["allocations"].values()) == 3


def test_a_given_request_replaces_what_is_held_of_the_tree_alone(service):
    """What the consumer holds of a host that stays is kept beside it."""
    provider(service, "h1", A, VCPU=8)
    provider(service, "h2", B, VCPU=8)
    provider(service, "h3", C, VCPU=8)
    hold(service, ONE, **{A: {"VCPU": 2}, B: {"VCPU": 3}})

    answer = evacuate(service, A, requests={ONE: "resources=VCPU:4"})

    assert answer["moves"][ONE]["allocations"] == {
        B: {"resources": {"VCPU": 3}},
        C: {"resources": {"VCPU": 4}},
    }
    carry_out(service, answer)


def test_too_many_requests_are_refused(service):
    provider(service, "h1", A, VCPU=8)
    requests = {numbered("c", number): "resources=VCPU:1" for number in range(10_001)}
    refusal = expect(service.post(EVACUATE, {"without": [A], "requests": requests}), 400)
    assert "at most 10000 may be named" in refusal.json["errors"][0]["detail"]


def test_statements_do_not_grow_with_consumers(service):
    provider(service, "h1", A, VCPU=64)
    provider(service, "h2", B, VCPU=9)
    counts = []
    for number in range(1, 11):
        hold(service, numbered("c", number), **{A: {"VCPU": number}})
        service.get("/allocation_candidates?resources=VCPU:1")
        with statements(service.database) as sent:
            answer = evacuate(service, A)
        if not answer["fits"]:
            counts.append(len(sent))
    assert len(counts) > 3
    assert len(set(counts)) == 1


def test_moves_are_made_while_others_write(service):
    """The answer is of one moment: what changes later is refused by the move's own write."""
    provider(service, "h1", A, VCPU=8)
    provider(service, "h2", B, VCPU=4)
    hold(service, ONE, **{A: {"VCPU": 4}})
    answer = evacuate(service, A)
    hold(service, TWO, **{B: {"VCPU": 1}})

    body = holding({B: {"VCPU": 4}}, generation=1)
    assert answer["fits"]
    expect(service.put(f"/allocations/{ONE}", body), 409)
    assert not evacuate(service, A)["fits"]
