"""Trees of a cloud as a small cloud, in which providers have other slots."""

import numpy as np
import pytest

from placement.candidates.cloud.tree_subset import AllTrees, subset_of
from tests.unit.placement.candidates.snapshots import child, host

CLOUD = {
    "h0": host(VCPU=1),
    "h0.0": child("h0", VGPU=1),
    "h1": host(VCPU=1),
    "h1.0": child("h1", VGPU=1),
    "h2": host(VCPU=3),
    "h2.0": child("h2", VGPU=2),
}


@pytest.fixture
def snapshot(clouds):
    return clouds.snapshot(CLOUD)


@pytest.fixture
def subset(snapshot):
    """Return the trees of h0 and h2."""
    roots = np.array([snapshot.slot("h0"), snapshot.slot("h2")], np.int32)
    return subset_of(snapshot, roots, roots[:0], None, False)


def test_a_provider_has_another_slot_in_a_subset_and_is_told_by_that_of_the_whole_cloud(
    snapshot, subset
):
    slots = np.array([subset.slot(name) for name in ("h2", "h2.0", "h0")])

    assert slots.tolist() == [2, 3, 0]
    uuids = [snapshot.register.uuids[slot] for slot in subset.in_whole(slots)]
    assert uuids == ["h2", "h2.0", "h0"]


def test_a_subset_knows_no_provider_of_other_trees(subset):
    assert [subset.slot(name) for name in ("h1", "h1.0", "nobody")] == [None] * 3
    assert subset.roots(["h2.0", "h1", "h0"]) == [0, 2]


def test_the_columns_of_a_subset_have_its_providers_alone(snapshot, subset):
    classes = snapshot.names.class_ids

    assert subset.cloud.size == 4
    assert subset.cloud.column(classes["VCPU"]).total.tolist() == [1, 3]
    assert subset.cloud.column(classes["VGPU"]).slots.tolist() == [1, 3]
    assert subset.cloud.forest.root.tolist() == [0, 0, 2, 2]


def test_its_own_numbers_lead_nowhere_else(subset):
    assert not hasattr(subset, "register")
    assert not hasattr(subset.cloud, "register")


def test_in_all_trees_the_slots_are_those_of_the_cloud(snapshot):
    trees = AllTrees(snapshot)

    assert trees.slot("h2.0") == snapshot.slot("h2.0") == 5
    assert trees.slot("nobody") is None
    assert trees.in_whole(np.array([4, 5])).tolist() == [4, 5]
    assert trees.roots(["h2.0", "h0"]) == snapshot.roots(["h2.0", "h0"]) == [0, 4]
