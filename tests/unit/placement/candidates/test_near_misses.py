"""What a request without candidates fell short of."""

import pytest

from placement.candidates.budget import Budget, OutOfMemory, OutOfTime
from placement.candidates.near_misses import NearMiss, near_misses
from placement.candidates.request import CandidateRequest, Group
from placement.errors import BadRequest
from tests.unit.placement.candidates.snapshots import child, host

AVX, SSE = frozenset(["HW_CPU_X86_AVX2"]), frozenset(["HW_CPU_X86_SSE"])


def trait(*names):
    return [name for names_ in names for name in names_]


def asked(*groups, **more):
    return CandidateRequest(groups, **more)


def test_a_trait_that_nobody_with_room_has_is_named(clouds):
    snapshot = clouds.snapshot(
        {"full": (None, {"VCPU": 1}, trait(AVX), []), "plain": host(VCPU=8), "other": host(VCPU=4)}
    )

    misses = near_misses(snapshot, asked(Group("", {"VCPU": 4}, (AVX,))))

    assert misses == (
        NearMiss("required HW_CPU_X86_AVX2", "", None, ("plain", "other")),
        NearMiss("resources VCPU:4", "", 1, ("full",)),
    )


def test_the_nearest_amounts_that_can_be_had_are_told(clouds):
    snapshot = clouds.snapshot({"a": host(VCPU=2), "b": host(VCPU=5), "c": host(VCPU=5)})

    misses = near_misses(snapshot, asked(Group("", {"VCPU": 6})))

    assert misses == (NearMiss("resources VCPU:6", "", 5, ("b", "c")),)


def test_conditions_that_only_together_are_too_much_are_told_each(clouds):
    snapshot = clouds.snapshot(
        {"a": (None, {"VCPU": 1}, trait(AVX), []), "b": (None, {"VCPU": 1}, trait(SSE), [])}
    )

    misses = near_misses(snapshot, asked(Group("", {"VCPU": 1}, (AVX, SSE))))

    assert {(miss.asked, miss.roots) for miss in misses} == {
        ("required HW_CPU_X86_AVX2", ("b",)),
        ("required HW_CPU_X86_SSE", ("a",)),
    }


def test_nothing_is_near_when_two_things_are_missing(clouds):
    snapshot = clouds.snapshot({"a": host(VCPU=1)})

    assert near_misses(snapshot, asked(Group("", {"VCPU": 2}, (AVX,)))) == ()


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({"forbidden": AVX}, "required !HW_CPU_X86_AVX2"),
        ({"not_member_of": frozenset(["x"])}, "member_of !x"),
        ({"member_of": (frozenset(["y", "z"]),)}, "member_of y,z"),
        ({"in_tree": "b"}, "in_tree b"),
    ],
)
def test_every_condition_of_a_group_can_be_what_is_in_the_way(clouds, condition, words):
    snapshot = clouds.snapshot(
        {"a": (None, {"VCPU": 1}, trait(AVX), ["x"]), "b": host(), "c": (None, {}, [], ["y"])}
    )

    misses = near_misses(snapshot, asked(Group("_X", {"VCPU": 1}, **condition)))

    assert misses == (NearMiss(words, "_X", None, ("a",)),)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({"root_required": SSE}, "root_required HW_CPU_X86_SSE"),
        ({"root_forbidden": AVX}, "root_required !HW_CPU_X86_AVX2"),
        ({"isolate": True}, "group_policy isolate"),
    ],
)
def test_every_condition_of_the_request_can_be_what_is_in_the_way(clouds, condition, words):
    snapshot = clouds.snapshot({"a": (None, {}, trait(AVX), []), "a1": child("a", VGPU=2)})
    groups = (Group("1", {"VGPU": 1}), Group("2", {"VGPU": 1}))

    misses = near_misses(snapshot, asked(*groups, **condition))

    assert misses == (NearMiss(words, None, None, ("a",)),)


def test_devices_under_different_parents_are_told_as_such(clouds):
    snapshot = clouds.snapshot(
        {
            "a": host(),
            "n0": child("a", VCPU=1),
            "n1": child("a"),
            "g1": child("n1", VGPU=1),
        }
    )
    groups = (Group("_C", {"VCPU": 1}), Group("_G", {"VGPU": 1}))
    request = asked(*groups, same_subtree=(frozenset(["_C", "_G"]),))

    assert near_misses(snapshot, request) == (NearMiss("same_subtree _C,_G", None, None, ("a",)),)


def test_names_that_do_not_exist_are_refused_as_by_the_search(clouds):
    snapshot = clouds.snapshot({"a": host(VCPU=1)})

    with pytest.raises(BadRequest, match="CUSTOM_NONE"):
        near_misses(snapshot, asked(Group("", {"CUSTOM_NONE": 1, "VCPU": 2})))


def test_a_request_with_candidates_missed_nothing(clouds):
    snapshot = clouds.snapshot({"a": host(VCPU=1), "b": host(VCPU=2)})

    assert near_misses(snapshot, asked(Group("", {"VCPU": 2}))) == ()


def test_a_name_that_the_search_does_not_come_to_is_no_error(clouds):
    snapshot = clouds.snapshot({"a": host(VCPU=1)})
    groups = (Group("1", {"VCPU": 2}), Group("2", {"CUSTOM_NONE": 1}))

    with pytest.raises(BadRequest, match="CUSTOM_NONE"):
        near_misses(snapshot, asked(Group("1", {"VCPU": 1}), groups[1]))
    assert near_misses(snapshot, asked(*groups, root_required=AVX)) == ()


def test_all_tries_together_have_one_budget(clouds):
    snapshot = clouds.snapshot({"a": host(VCPU=1, DISK_GB=1), "n": child("a", VCPU=1)})
    looks = iter(range(20))
    budget = Budget(seconds=2.5, clock=lambda: next(looks))

    with pytest.raises(OutOfTime):
        near_misses(snapshot, asked(Group("", {"VCPU": 9, "DISK_GB": 9}, (AVX, SSE))), budget)


def test_near_misses_of_trees_that_were_not_searched_to_an_end_are_not_told(clouds):
    snapshot = clouds.snapshot({"a": host(VCPU=1), "n": child("a", VCPU=1)})
    request = asked(Group("1", {"VCPU": 1}), Group("2", {"VCPU": 1}), isolate=True)

    with pytest.raises(OutOfMemory):
        near_misses(snapshot, request, Budget(size=1))
