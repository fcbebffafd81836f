"""Conditions as named steps: which they are, and what they leave."""

import pytest

from placement.candidates.cloud.snapshot import AllTrees
from placement.candidates.masks import mask_steps
from placement.candidates.masks.mask_steps import Remaining, resolve
from placement.candidates.request import Group
from tests.unit.placement.candidates.snapshots import child, host

AVX = frozenset(["HW_CPU_X86_AVX2"])
RACK = frozenset(["rack"])


@pytest.fixture
def snapshot(clouds):
    return clouds.snapshot(
        {
            "a": (None, {"VCPU": 4}, [], ["rack"]),
            "a1": child("a", VCPU=2),
            "b": (None, {"VCPU": 4}, ["HW_CPU_X86_AVX2"], []),
            "c": host(),
        }
    )


def steps(snapshot, kind, **conditions):
    """Return (name, what is left of own, what is left of shared) of each step."""
    remaining = Remaining(*[snapshot.forest.alive] * 2, snapshot.forest.is_root)
    found = []
    for step in kind(snapshot, resolve(AllTrees(snapshot), Group("_X", **conditions))):
        remaining = remaining.after(step)
        masks = (remaining.own, remaining.shared)
        found.append((step.name, *(snapshot_names(snapshot, mask) for mask in masks)))
    return found


def snapshot_names(snapshot, mask):
    return " ".join(snapshot.register.uuids[slot] for slot in mask.nonzero()[0])


def test_one_provider_meets_all_conditions_by_itself(snapshot):
    conditions = {"resources": {"VCPU": 3}, "forbidden": AVX, "member_of": (RACK,)}

    assert steps(snapshot, mask_steps.of_one_provider, **conditions) == [
        ("resources", "a b", "a b"),
        ("forbidden traits", "a", "a"),
        ("member_of", "a", "a"),
    ]


def test_a_group_without_a_positive_filter_has_no_provider(snapshot):
    assert steps(snapshot, mask_steps.of_one_provider, forbidden=AVX) == [
        ("no positive filter", "", ""),
        ("forbidden traits", "", ""),
    ]


def test_the_aggregates_of_a_root_span_its_own_tree_alone(snapshot):
    conditions = {"resources": {"VCPU": 1}, "member_of": (RACK,)}

    assert steps(snapshot, mask_steps.of_several_providers, **conditions) == [
        ("member_of", "a a1", "a")
    ]


def test_a_wanted_tree_takes_nothing_from_other_trees(snapshot):
    conditions = {"resources": {"VCPU": 1}, "in_tree": "a1"}

    assert steps(snapshot, mask_steps.of_several_providers, **conditions) == [
        ("in_tree", "a a1", "")
    ]


def test_a_step_that_treats_own_and_shared_alike_keeps_one_mask_for_both(snapshot):
    alive = snapshot.forest.alive
    group = resolve(AllTrees(snapshot), Group("_X", {"VCPU": 1}))

    (step,) = mask_steps.of_resources(snapshot, group)
    remaining = Remaining(alive, alive, alive).after(step)

    assert remaining.own is remaining.shared is remaining.providers
