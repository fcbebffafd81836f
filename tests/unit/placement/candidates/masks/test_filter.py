"""Masks say which trees may serve a group (allocation-candidates.md 2)."""

from types import SimpleNamespace

import numpy as np
import pytest

from placement.candidates.cloud.snapshot import AllTrees
from placement.candidates.masks.filter import GroupFilter, contested, root_filter
from placement.candidates.masks.mask_steps import StepListener
from placement.candidates.request import CandidateRequest, Group
from tests.unit.placement.candidates.snapshots import child, host

AVX, SSD = frozenset(["HW_CPU_X86_AVX2"]), frozenset(["STORAGE_DISK_SSD"])


@pytest.fixture
def snapshot(clouds):
    """Return trees of two providers, one with processors and one with memory, and lesser ones."""

    def tree(name, *traits, memory=8):
        parts = {name: (None, {"VCPU": 4}, list(traits), [])}
        return parts | ({f"{name}'s": child(name, MEMORY_MB=memory)} if memory else {})

    return clouds.snapshot(
        tree("all", *AVX, *SSD)
        | tree("no trait")
        | tree("one trait", *AVX)
        | tree("no memory", *AVX, *SSD, memory=0)
        | {"empty": host()}
    )


def roots(snapshot, group, allowed=None):
    """Return the names of the trees that have options for every part of the group."""
    mask = snapshot.forest.is_root if allowed is None else allowed
    found = GroupFilter(AllTrees(snapshot), mask, StepListener()).apply(group)
    return None if found is None else named(snapshot, found.roots)


def named(snapshot, mask):
    return [snapshot.register.uuids[slot] for slot in mask.nonzero()[0]]


def test_each_class_and_each_trait_set_needs_a_provider_of_the_tree(snapshot):
    both = {"VCPU": 1, "MEMORY_MB": 1}

    assert roots(snapshot, Group("", both)) == ["all", "no trait", "one trait"]
    assert roots(snapshot, Group("", both, (AVX,))) == ["all", "one trait"]
    assert roots(snapshot, Group("", both, (AVX, SSD))) == ["all"]
    assert roots(snapshot, Group("", {"VCPU": 1}, (AVX, SSD))) == ["all", "no memory"]
    assert roots(snapshot, Group("", {"VCPU": 1, "MEMORY_MB": 9})) is None


def test_a_suffixed_group_needs_one_provider_for_all(snapshot):
    assert roots(snapshot, Group("_G", {"VCPU": 1}, (SSD,))) == ["all", "no memory"]
    assert roots(snapshot, Group("_G", {"VCPU": 1, "MEMORY_MB": 1})) is None


def test_other_trees_than_those_allowed_are_never_named(snapshot):
    request = CandidateRequest((), avoid=frozenset(["all's"]), root_required=AVX)
    allowed = root_filter(AllTrees(snapshot), request, StepListener())

    assert named(snapshot, allowed) == ["one trait", "no memory"]
    assert roots(snapshot, Group("", {"VCPU": 1, "MEMORY_MB": 1}), allowed) == ["one trait"]
    assert roots(snapshot, Group("_G", {"VCPU": 1}, (SSD,)), allowed) == ["no memory"]


def test_roots_can_be_chosen_by_a_trait_that_they_lack(snapshot):
    request = CandidateRequest((), root_forbidden=SSD)

    assert named(snapshot, root_filter(AllTrees(snapshot), request, StepListener())) == [
        "no trait",
        "one trait",
        "empty",
    ]


def test_what_is_free_of_a_contested_class_is_rounded_down_to_what_can_be_asked():
    demands = [((7, 12), (3, 1)), ((7, 12), (3, 1)), ((9, 1),)]

    found = contested([SimpleNamespace(demand=demand) for demand in demands])

    free = np.array([-1, 11, 12, 23, 24, 99])
    assert {class_id: each.rounded(free).tolist() for class_id, each in found.items()} == {
        3: [0, 2, 2, 2, 2, 2],
        7: [0, 0, 12, 12, 24, 24],
    }
    assert list(found) == [3, 7]
