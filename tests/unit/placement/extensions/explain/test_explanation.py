"""What the chain says of each of its steps."""

import random

from placement.candidates.budget import Budget, OutOfMemory
from placement.candidates.request import CandidateRequest, Group
from placement.extensions.explain.conditions import Reason
from placement.extensions.explain.explanation import explain
from tests.endless import endless
from tests.unit.placement.candidates.snapshots import child, host
from tests.unit.placement.candidates.tree_problems import looks

AVX = frozenset(["HW_CPU_X86_AVX2"])


def steps(explanation):
    return [
        (step.step, step.name, step.group, step.providers, step.trees) for step in explanation.steps
    ]


def test_each_step_says_how_many_providers_and_trees_are_left(clouds):
    snapshot = clouds.snapshot(
        {
            "small": host(VCPU=2, DISK_GB=9),
            "large": (None, {"VCPU": 8, "DISK_GB": 9}, ["HW_CPU_X86_AVX2"], []),
            "diskless": (None, {"VCPU": 8}, ["HW_CPU_X86_AVX2"], []),
        }
    )
    asked = CandidateRequest((Group("", {"VCPU": 4, "DISK_GB": 1}, (AVX,)),))

    explanation = explain(snapshot, asked, endless())

    assert steps(explanation) == [
        ("required", "HW_CPU_X86_AVX2", "", (3, 2), (3, 2)),
        ("resources", "VCPU", "", (2, 2), (2, 2)),
        ("resources", "DISK_GB", "", (2, 1), (2, 1)),
    ]
    assert explanation.fruitful == ("large",)
    assert (explanation.verdict, explanation.candidates) == ("some", 1)


def test_a_class_that_does_not_exist_is_missing_everywhere(clouds):
    """It is no error, as the search ends at the group before it."""
    snapshot = clouds.snapshot({"a": host(MEMORY_MB=9)})
    asked = CandidateRequest((Group("1", {"VCPU": 1}), Group("2", {"CUSTOM_NONE": 1})))

    (nearest,) = explain(snapshot, asked, endless()).nearest

    assert [(one.group, one.name) for one in nearest.missing] == [
        ("1", "VCPU"),
        ("2", "CUSTOM_NONE"),
    ]


def test_trees_are_named_by_whether_a_combination_fits(clouds):
    snapshot = clouds.snapshot(
        {
            "a": host(),
            "a1": child("a", VGPU=1),
            "b": host(),
            "b1": child("b", VGPU=1),
            "b2": child("b", VGPU=1),
        }
    )
    asked = CandidateRequest((Group("1", {"VGPU": 1}), Group("2", {"VGPU": 1})))

    explanation = explain(snapshot, asked, endless())

    assert explanation.fruitful == ("b",)
    assert explanation.candidates == 2
    assert explanation.message == (
        "1 of 2 trees: 1 fits each group, but not all together (1 and 2 fit a1 only)"
    )


def test_a_tree_whose_search_ran_into_a_bound_is_undecided(clouds):
    providers = {"root": host(VCPU=1)}
    providers |= {f"c{n}": child("root", VGPU=98, SRIOV_NET_VF=98) for n in range(11)}
    source = random.Random(3)
    groups = tuple(
        Group(str(n), {name: source.randint(20, 45) for name in ("SRIOV_NET_VF", "VGPU")})
        for n in range(30)
    )

    explanation = explain(clouds.snapshot(providers), CandidateRequest(groups), looks(70))

    assert explanation.undecided == ("root",)
    assert explanation.fruitful == ()
    assert (explanation.verdict, explanation.candidates) == ("unknown", None)
    assert explanation.message == "0 of 1 tree: 1 not searched to the end"


def test_what_many_groups_ask_alike_is_told_of_each(clouds):
    snapshot = clouds.snapshot({"a": host(VCPU=4), "b": host(VCPU=2)})
    groups = tuple(Group(f"_{n}", {"VCPU": 5 + n % 2}) for n in range(100))

    explanation = explain(snapshot, CandidateRequest(groups), endless(), relaxations=False)

    assert [near.uuid for near in explanation.nearest] == ["a", "b"]
    for near in explanation.nearest:
        told = [(one.group, one.asked) for one in near.missing if one.reason is Reason.CAPACITY]
        assert told == [(f"_{n}", 5 + n % 2) for n in range(100)]
    assert [step.group for step in explanation.steps] == [group.suffix for group in groups]


def test_trees_that_there_was_no_time_for_are_not_told(clouds):
    """How far each tree is from what is asked costs time; that there is no candidate is known."""
    snapshot = clouds.snapshot({f"h{n}": host(VCPU=4) for n in range(50)})
    groups = tuple(Group(f"_{n}", {"VCPU": 5 + n}) for n in range(200))

    told = []
    for looks_left in range(2, 602, 100):
        explanation = explain(
            snapshot, CandidateRequest(groups), looks(looks_left), relaxations=False
        )
        assert (explanation.verdict, explanation.candidates) == ("none", 0)
        assert explanation.message.startswith("0 of 50 trees: 50 short of VCPU 5 in group _0")
        told.append(len(explanation.nearest))
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0, 10)


def test_conditions_that_take_too_much_memory_leave_it_unknown(clouds):
    snapshot = clouds.snapshot({f"h{n}": host(VCPU=400) for n in range(50)})
    groups = tuple(Group(f"_{n}", {"VCPU": 1 + n}) for n in range(200))

    explanation = explain(snapshot, CandidateRequest(groups), Budget(None, 50_000))

    assert (explanation.verdict, explanation.candidates) == ("unknown", None)
    assert isinstance(explanation.ended, OutOfMemory)
