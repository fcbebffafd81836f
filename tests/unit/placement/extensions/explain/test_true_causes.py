"""What explanations said falsely of clouds with nested, shared or several-aggregate providers."""

import pytest

from placement.candidates.request import CandidateRequest, Group
from placement.extensions.explain.explanation import explain
from tests.endless import endless
from tests.unit.placement.candidates.snapshots import child, host

AVX = frozenset(["HW_CPU_X86_AVX2"])
SHARES = "MISC_SHARES_VIA_AGGREGATE"
ZONE, TENANT, RACK = (frozenset([name]) for name in ("zone", "tenant", "rack"))


def told(clouds, providers, *groups, **conditions):
    request = CandidateRequest(groups, **conditions)
    return explain(clouds.snapshot(providers), request, endless())


def lacking(found):
    """Return what each of the nearest trees lacks: provider, reason, name."""
    shown = found.as_json()["nearest"]
    return {
        near["root"]: [
            (one.get("uuid", near["uuid"]), one["reason"], one["name"]) for one in near["missing"]
        ]
        for near in shown
    }


@pytest.mark.parametrize("sets", [(ZONE, TENANT), (TENANT, ZONE)])
def test_each_of_several_member_of_is_judged_by_itself(clouds, sets):
    providers = {
        "host1": (None, {"VCPU": 4}, [], ["zone"]),
        "host2": (None, {"VCPU": 4}, [], ["tenant"]),
        "host3": (None, {"VCPU": 4}, [], ["tenant"]),
    }

    found = told(clouds, providers, Group("", {"VCPU": 1}, member_of=sets))

    assert found.message == "0 of 3 trees: 2 outside member_of zone, 1 outside member_of tenant"
    assert lacking(found) == {
        "host1": [("host1", "aggregate", "tenant")],
        "host2": [("host2", "aggregate", "zone")],
        "host3": [("host3", "aggregate", "zone")],
    }


def test_a_root_and_its_child_in_one_of_two_aggregates_each(clouds):
    providers = {"host1": (None, {}, [], ["zone"]), "n0": ("host1", {"VCPU": 4}, [], ["tenant"])}

    found = told(clouds, providers, Group("", {"VCPU": 1}, member_of=(ZONE, TENANT)))

    assert found.message == "0 of 1 tree: 1 outside member_of tenant and zone"
    assert lacking(found) == {"host1": [("n0", "aggregate", "tenant+zone")]}


def test_a_trait_of_the_root_does_not_take_the_class_from_its_cells(clouds):
    providers = {"host1": (None, {}, [*AVX], []), "n0": child("host1", VCPU=16)}

    found = told(clouds, providers, Group("", {"VCPU": 4}, (AVX,)))

    text = "1 has no provider with HW_CPU_X86_AVX2 and VCPU"
    assert found.message == f"0 of 1 tree: {text}"
    assert [one.reason.value for one in found.reasons] == ["trait"]
    assert lacking(found) == {"host1": [("n0", "trait", *AVX)]}


def test_a_trait_of_a_root_that_serves_nothing(clouds):
    providers = {"host1": (None, {}, [*AVX], []), "n0": child("host1", VCPU=16, MEMORY_MB=8)}

    found = told(clouds, providers, Group("", {"VCPU": 4, "MEMORY_MB": 1}, (AVX,)))

    assert found.message == (
        "0 of 1 tree: 1 has HW_CPU_X86_AVX2 only where nothing of this can be served"
    )
    assert lacking(found) == {"host1": [("n0", "trait", *AVX)]}


def test_a_pool_outside_the_aggregate_is_named(clouds):
    host_ = (None, {"VCPU": 4}, [], ["zone", "rack"])
    providers = {"host1": host_, "host2": host_, "pool": (None, {"DISK_GB": 9}, [SHARES], ["rack"])}

    found = told(clouds, providers, Group("", {"VCPU": 1, "DISK_GB": 1}, member_of=(ZONE,)))

    assert found.message == (
        "0 of 3 trees: 2 have no provider with member_of zone and DISK_GB, "
        "1 lends to other trees only"
    )
    (missing,) = found.as_json()["nearest"][1]["missing"]
    assert (missing["reason"], missing["aggregates"]) == ("aggregate", ["rack"])
    assert lacking(found)["host1"] == [("pool", "aggregate", "zone")]


def test_no_single_provider_has_both(clouds):
    providers = {
        "host1": host(),
        "n0": child("host1", VCPU=2, MEMORY_MB=64512),
        "n1": child("host1", VCPU=14, MEMORY_MB=5536),
    }

    found = told(clouds, providers, Group("_1", {"VCPU": 8, "MEMORY_MB": 16384}))

    assert found.message == (
        "0 of 1 tree: 1 has no provider with MEMORY_MB 16384 and VCPU 8 in group _1 "
        "(n0 has MEMORY_MB 64512 and VCPU 2, n1 has MEMORY_MB 5536 and VCPU 14)"
    )


def test_a_sum_that_is_too_much_is_told_with_its_numbers(clouds):
    groups = [Group(f"_{name}", {"VCPU": 3}) for name in "ABC"]

    found = told(clouds, {"host1": host(VCPU=5)}, *groups)

    (missing,) = found.as_json()["nearest"][0]["missing"]
    assert (missing["reason"], missing["name"]) == ("together", "VCPU")
    assert (missing["asked"], missing["free"]) == (9, 5)
    assert found.message.startswith("0 of 1 tree: 1 fits each group, but not _A and _B together")


def test_one_group_is_not_together_with_itself(clouds):
    """Below 1.29, all that a candidate takes of a tree comes from one provider."""
    providers = {"host1": host(), "n0": child("host1", VCPU=8), "n1": child("host1", MEMORY_MB=2)}

    found = told(clouds, providers, Group("", {"VCPU": 8, "MEMORY_MB": 1}), nested=False)

    assert found.message == "0 of 1 tree: 1 has all that is asked for, but not on one provider"


def test_the_funnel_ends_with_what_is_left(clouds):
    found = told(
        clouds, {"host1": host(VGPU=1)}, Group("_A", {"VGPU": 1}), Group("_B", {"VGPU": 1})
    )

    assert [(step.step, step.trees) for step in found.steps[-1:]] == [("together", (1, 0))]


def test_groups_that_fit_few_providers_only_are_named_with_them(clouds):
    providers = {
        "host1": host(),
        "n0": child("host1", VCPU=8),
        "n1": child("host1", VCPU=2),
        "vf": child("n1", SRIOV_NET_VF=4),
    }
    groups = Group("_N0", {"VCPU": 8}), Group("_V", {"SRIOV_NET_VF": 1}), Group("_D", {"VCPU": 1})

    found = told(clouds, providers, *groups, same_subtree=(frozenset(["_N0", "_V"]),))

    text = "1 fails same_subtree=_N0,_V (_V fits vf only, _N0 fits n0 only)"
    assert found.message == f"0 of 1 tree: {text}"


def test_a_trait_that_nobody_has_is_told_with_one_that_may_be_meant(clouds):
    providers = {"host1": (None, {"VCPU": 4}, ["HW_CPU_X86_SSE41"], [])}

    found = told(clouds, providers, Group("", {"VCPU": 1}, (frozenset(["HW_CPU_X86_SSE42"]),)))

    assert found.message == (
        "0 of 1 tree: 1 lacks HW_CPU_X86_SSE42, which no provider has (some have HW_CPU_X86_SSE41)"
    )


def test_a_pool_that_is_not_shared_is_named(clouds):
    providers = {
        "host1": (None, {"VCPU": 4}, [], ["rack"]),
        "pool": (None, {"DISK_GB": 9}, [], ["rack"]),
    }

    found = told(clouds, providers, Group("", {"VCPU": 1, "DISK_GB": 1}))

    text = "1 has no DISK_GB (pool has it, without MISC_SHARES_VIA_AGGREGATE)"
    assert found.message == f"0 of 2 trees: {text}, 1 has no VCPU"


def test_a_full_pool_is_no_host_without_processors(clouds):
    providers = {
        "pool": (None, {"DISK_GB": 5}, [SHARES], ["rack"]),
        "host1": (None, {"VCPU": 4}, [], ["rack"]),
        "host2": (None, {"VCPU": 4}, [], ["rack"]),
    }

    found = told(clouds, providers, Group("", {"VCPU": 1, "DISK_GB": 50}))

    assert found.message == (
        "0 of 3 trees: 2 short of DISK_GB 50 (nearest: pool has 5), 1 lends to other trees only"
    )
    assert [near["root_name"] for near in found.as_json()["nearest"][:2]] == ["host1", "host2"]


def test_a_host_that_shares_its_disk_is_no_pool(clouds):
    providers = {
        "host1": (None, {"VCPU": 4}, [SHARES], ["rack"]),
        "pool": (None, {"DISK_GB": 5}, [SHARES], ["rack"]),
    }

    found = told(clouds, providers, Group("", {"VCPU": 8, "DISK_GB": 1}))

    assert found.message == (
        "0 of 2 trees: 1 short of VCPU 8 (nearest: host1 has 4), 1 lends to other trees only"
    )


def test_conditions_on_several_groups_that_collide_are_all_named(clouds):
    """There is a card for each port, but not below one NUMA node."""
    providers = {
        "host1": host(),
        "n0": child("host1", VCPU=8),
        "n1": child("host1", VCPU=8),
        "nic0": child("n0", SRIOV_NET_VF=8),
        "nic1": child("n1", SRIOV_NET_VF=8),
    }
    groups = Group("_N", {"VCPU": 8}), Group("_P", {"SRIOV_NET_VF": 1})
    near = frozenset(["_N", "_P", "_Q"])

    found = told(
        clouds,
        providers,
        *groups,
        Group("_Q", {"SRIOV_NET_VF": 1}),
        same_subtree=(near,),
        isolate=True,
    )

    text = "1 can't meet group_policy=isolate and same_subtree=_N,_P,_Q together"
    assert found.message.startswith(f"0 of 1 tree: {text} (")


def test_what_is_told_of_one_of_many_trees_is_said_to_be_of_the_nearest(clouds):
    providers = {}
    for name in ("host1", "host2"):
        providers |= {
            name: host(),
            f"{name}_n0": child(name, VCPU=2, MEMORY_MB=64),
            f"{name}_n1": child(name, VCPU=14, MEMORY_MB=5),
        }

    found = told(clouds, providers, Group("_N", {"VCPU": 8, "MEMORY_MB": 16}))

    assert found.message == (
        "0 of 2 trees: 2 have no provider with MEMORY_MB 16 and VCPU 8 in group _N "
        "(nearest: host1_n0 has MEMORY_MB 64 and VCPU 2, host1_n1 has MEMORY_MB 5 and VCPU 14)"
    )


def test_the_nearest_is_one_of_the_trees_that_are_counted(clouds):
    """host2 has more VCPU than host1, but too little memory as well."""
    providers = {"host1": host(VCPU=2, MEMORY_MB=64), "host2": host(VCPU=7, MEMORY_MB=8)}

    found = told(clouds, providers, Group("", {"VCPU": 8, "MEMORY_MB": 16}))

    assert found.message == (
        "0 of 2 trees: 1 short of MEMORY_MB 16 (nearest: host2 has 8), "
        "1 short of VCPU 8 (nearest: host1 has 2)"
    )
