"""One case for every reason of an explanation: its count, its message, what would help."""

import dataclasses

import pytest

from placement.candidates.cloud.columns import Column
from placement.candidates.request import CandidateRequest, Group
from placement.extensions.explain.conditions import Reason
from placement.extensions.explain.explanation import explain
from tests.endless import endless
from tests.unit.placement.candidates.snapshots import child, host

AVX, SSE = frozenset(["HW_CPU_X86_AVX2"]), frozenset(["HW_CPU_X86_SSE"])
RACK, LAB = frozenset(["rack"]), frozenset(["lab"])
SHARES = "MISC_SHARES_VIA_AGGREGATE"
ONE_HOST = {"a": (None, {"VCPU": 8, "VGPU": 2}, [*AVX], ["rack"]), "b": (None, {}, [], ["lab"])}
GPUS = (Group("1", {"VGPU": 1}), Group("2", {"VGPU": 1}))
TWO_NODES = {
    "a": host(),
    "n0": child("a", VCPU=1),
    "n1": child("a"),
    "g1": child("n1", VGPU=1),
}
APART = (Group("_C", {"VCPU": 1}), Group("_G", {"VGPU": 1}))
SHARED = {
    "a": (None, {"VCPU": 8}, [], ["rack"]),
    "disk": (None, {"DISK_GB": 9}, [SHARES], ["lab"]),
}


def one(**conditions):
    return CandidateRequest((Group("", {"VCPU": 1}, **conditions),))


def amounts(**resources):
    return CandidateRequest((Group("", resources),))


CASES = [
    ("no_inventory", "DISK_GB", ONE_HOST, amounts(DISK_GB=5), "2 have no DISK_GB", []),
    (
        "capacity",
        "VCPU",
        {"a": host(VCPU=8), "b": host(VCPU=4)},
        amounts(VCPU=9),
        "2 short of VCPU 9 (nearest: a has 8)",
        [("VCPU 9 → 8", 1)],
    ),
    (
        "trait",
        "HW_CPU_X86_SSE",
        {"a": host(VCPU=8)},
        one(required=(SSE,)),
        "1 lacks HW_CPU_X86_SSE",
        [("without HW_CPU_X86_SSE", 1)],
    ),
    (
        "forbidden_trait",
        "HW_CPU_X86_AVX2",
        {"a": ONE_HOST["a"]},
        one(forbidden=AVX),
        "1 has forbidden HW_CPU_X86_AVX2",
        [("without forbidden HW_CPU_X86_AVX2", 1)],
    ),
    (
        "aggregate",
        "lab",
        {"a": ONE_HOST["a"], "b": (None, {"DISK_GB": 1}, [], ["lab"])},
        one(member_of=(LAB,)),
        "1 outside member_of",
        [("without member_of lab", 1)],
    ),
    (
        "forbidden_aggregate",
        "rack",
        {"a": ONE_HOST["a"]},
        one(not_member_of=RACK),
        "1 in forbidden aggregate rack",
        [("without forbidden aggregate rack", 1)],
    ),
    (
        "in_tree",
        "b",
        ONE_HOST,
        one(in_tree="b"),
        "1 outside the tree of b",
        [("without in_tree b", 1)],
    ),
    (
        "root_required",
        "HW_CPU_X86_SSE",
        {"a": host(VCPU=1)},
        dataclasses.replace(one(), root_required=SSE),
        "1 has a root without HW_CPU_X86_SSE",
        [("without root_required=HW_CPU_X86_SSE", 1)],
    ),
    (
        "no_sharing",
        "DISK_GB",
        SHARED,
        amounts(DISK_GB=1, VCPU=1),
        "1 has no DISK_GB own or shared",
        [],
    ),
    (
        "same_subtree",
        "_C,_G",
        TWO_NODES,
        CandidateRequest(APART, same_subtree=(frozenset(["_C", "_G"]),)),
        "1 fails same_subtree=_C,_G",
        [("without same_subtree=_C,_G", 1)],
    ),
    (
        "isolate",
        "group_policy=isolate",
        {"a": host(), "a1": child("a", VGPU=2)},
        CandidateRequest(GPUS, isolate=True),
        "1 has too few providers for group_policy=isolate",
        [("without group_policy=isolate", 1)],
    ),
    (
        "together",
        "",
        {"a": host(VGPU=1)},
        CandidateRequest(GPUS),
        "1 fits each group, but not all together",
        [],
    ),
    (
        "unknown_name",
        "nowhere",
        {"a": host(VCPU=1)},
        one(in_tree="nowhere"),
        "1 because provider nowhere does not exist",
        [("without in_tree nowhere", 1)],
    ),
]
HUGE = [2**62, 2**63 - 1, 2**63, 2**64, 10**400]
ODD = [
    ("min_unit", "", {"min_unit": 8}, "1 has a min_unit above VCPU 6"),
    ("max_unit", "", {"max_unit": 4}, "1 has a max_unit below VCPU 6"),
    ("step_size", "", {"step_size": 4}, "1 has a step_size that VCPU 6 does not fit"),
]


@pytest.mark.parametrize(
    ("reason", "name", "providers", "request_", "text", "helps"), CASES, ids=[c[0] for c in CASES]
)
def test_a_reason(clouds, reason, name, providers, request_, text, helps):
    answer = explain(clouds.snapshot(providers), request_, endless()).as_json()

    assert (reason, name) in {(one["reason"], one["name"]) for one in answer["reasons"]}
    assert answer["message"].startswith("0 of ")
    assert text in answer["message"]
    assert answer["verdict"] == "none"
    assert sum(one["trees"] for one in answer["reasons"]) == answer["trees"]["total"]
    assert [(one["text"], one["trees"]) for one in answer["relaxations"]] == helps


@pytest.mark.parametrize(("reason", "_", "fields", "text"), ODD, ids=[case[0] for case in ODD])
def test_units_are_reasons_of_their_own(clouds, reason, _, fields, text):
    snapshot = clouds.snapshot({"a": host(VCPU=16)})
    key = snapshot.names.class_ids["VCPU"]
    plain = {"min_unit": 1, "max_unit": 16, "step_size": 1} | fields
    values = [[16], [0], *([number] for number in plain.values()), [1.0], [0]]
    snapshot = dataclasses.replace(snapshot, columns={key: Column.of([0], values)})

    found = explain(snapshot, amounts(VCPU=6), endless())

    assert found.message == f"0 of 1 tree: {text}"
    assert [one.reason.value for one in found.reasons] == [reason]


def test_every_reason_has_a_case():
    assert {case[0] for case in (*CASES, *ODD)} == {reason.value for reason in Reason}


def test_a_message_names_three_reasons(clouds):
    providers = {
        **{f"s{n}": (None, {"DISK_GB": 1}, [], []) for n in range(4)},
        **{f"t{n}": (None, {"VCPU": 1}, [], ["rack"]) for n in range(3)},
        **{f"u{n}": (None, {"VCPU": 2}, [], []) for n in range(2)},
        "v": (None, {"VCPU": 2}, ["HW_CPU_X86_AVX2"], ["rack"]),
    }
    request = CandidateRequest((Group("_X", {"VCPU": 2}, (), AVX, (RACK,)),))

    assert explain(clouds.snapshot(providers), request, endless()).message == (
        "0 of 10 trees: 4 have no VCPU in group _X, 3 short of VCPU 2 in group _X "
        "(nearest: t0 has 1), 2 outside member_of in group _X, and 1 more tree for other reasons"
    )


def test_names_are_asked_for_once_with_the_providers_shown(clouds):
    asked = []

    def naming(uuids):
        asked.append(list(uuids))
        return {"a": "host-a"}

    found = explain(clouds.snapshot({"a": host(VCPU=8)}), amounts(VCPU=9), endless(), naming=naming)

    assert asked == [["a"]]
    assert "nearest: host-a has 8" in found.message


def test_a_provider_is_told_every_check_that_fails(clouds):
    snapshot = clouds.snapshot({"a": host(VCPU=2), "b": host(VCPU=4)})
    request = CandidateRequest(
        (Group("_X", {"VCPU": 3, "DISK_GB": 1}, (AVX,), member_of=(LAB,), not_member_of=RACK),)
    )

    lacks = explain(snapshot, request, endless(), provider=0).as_json()["provider"]

    assert (lacks["uuid"], lacks["root"], lacks["name"]) == ("a", "a", "a")
    assert [one["reason"] for one in lacks["missing"]] == [
        "unknown_name",
        "no_inventory",
        "capacity",
        "max_unit",
        "trait",
    ]


def test_the_nearest_of_many_trees_are_nearest(clouds):
    providers = {
        f"h{n}": (None, {"VCPU": n % 7 + 1, "MEMORY_MB": n % 11 + 1}, [*AVX] if n % 3 else [], [])
        for n in range(150)
    }
    request = CandidateRequest((Group("", {"VCPU": 9, "MEMORY_MB": 11}, (AVX,)),))

    nearest = explain(clouds.snapshot(providers), request, endless(), relaxations=False).nearest

    def lacks(name):
        _, stock, traits, _ = providers[name]
        short = [(9 - stock["VCPU"]) / 9, max(0, (11 - stock["MEMORY_MB"]) / 11)]
        # max_unit is the total, so what is short is above max_unit, too
        failing = 2 * sum(one > 0 for one in short) + (not traits)
        return failing, round(2 * sum(short) + (not traits), 6)

    best = sorted(lacks(name) for name in providers)[:10]
    assert [lacks(miss.uuid) for miss in nearest] == best


@pytest.mark.parametrize("amount", HUGE, ids=["62", "63-", "63", "64", "400 digits"])
def test_an_amount_beyond_any_column_is_explained(clouds, amount):
    cloud = clouds.snapshot({"a": host(VCPU=8), "b": host(VCPU=4)})

    found = explain(cloud, amounts(VCPU=amount), endless())

    assert found.message == f"0 of 2 trees: 2 short of VCPU {amount} (nearest: a has 8)"
    assert found.relaxations[0].text == f"VCPU {amount} → 8"


def test_a_message_names_a_few_of_many_alternatives(clouds):
    many = frozenset(f"rack{number}" for number in range(60))

    found = explain(clouds.snapshot({"a": host(VCPU=1)}), one(member_of=(many,)), endless())

    text = "1 because no provider is in aggregate rack0 or rack1 or rack10 or 57 more"
    assert found.message == f"0 of 1 tree: {text}"


def test_a_provider_without_the_class_is_not_nearer_than_one_that_has_too_little(clouds):
    cloud = clouds.snapshot({"a": host(), "a1": child("a", VCPU=4)})

    found = explain(cloud, amounts(VCPU=9), endless())

    assert found.message == "0 of 1 tree: 1 short of VCPU 9 (nearest: a1 has 4)"
    assert {one.reason for one in found.nearest[0].missing} <= {Reason.CAPACITY, Reason.MAX_UNIT}


@pytest.mark.parametrize(("room", "to"), [(9, 1), (10, 2), (12, 4), (14, 6), (15, 7)])
def test_where_a_sum_is_too_much_the_largest_of_a_few_lower_amounts_helps(clouds, room, to):
    groups = (Group("_A", {"VCPU": 8}), Group("_B", {"VCPU": 8}))

    found = explain(clouds.snapshot({"a": host(VCPU=room)}), CandidateRequest(groups), endless())

    assert f"VCPU 8 → {to} in group _A" in [one.text for one in found.relaxations]


def test_a_trait_of_a_provider_that_gives_nothing_does_not_count(clouds):
    """The root has the trait. Another tree lends all that is asked for."""
    providers = {
        "a": (None, {}, [*AVX], ["rack"]),
        "b": host(VCPU=1),
        "lender": (None, {"VCPU": 8}, [SHARES], ["rack"]),
    }

    found = explain(clouds.snapshot(providers), one(required=(AVX,)), endless())

    lacks = {near.root: near for near in found.nearest}
    assert lacks.keys() == providers.keys()
    assert [(it.reason, it.name) for it in lacks["a"].missing] == [(Reason.TRAIT, *AVX)]
    assert lacks["a"].uuid == "lender"
