"""Trees of a cloud as a small cloud, in which providers have other slots."""

import gc
import itertools
import tracemalloc

import numpy as np
import os_traits
import pytest

from placement.candidates.cloud import tree_subset
from placement.candidates.cloud.snapshot import AllTrees
from placement.candidates.cloud.tree_subset import subset_of
from placement.extensions.what_if.trees import without
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


def test_a_subset_of_a_cloud_without_some_trees_has_none_of_their_providers(snapshot):
    """Whatever the cloud with all of them remembers of the same trees, and the other way round."""
    anchors, others = np.array([0], np.int32), np.array([snapshot.slot("h2")], np.int32)
    fewer = without(snapshot, others.tolist())

    for cloud, there in ((snapshot, [1, 1, 1, 1]), (fewer, [1, 1, 0, 0]), (snapshot, [1] * 4)):
        subset = subset_of(cloud, anchors, others, None, False)
        assert subset.cloud.forest.alive.tolist() == there


class TestMemory:
    """Of 1,000 slots, remembered subsets take about 100 bytes each."""

    MOST = 150_000

    @pytest.fixture(autouse=True)
    def few_slots(self, monkeypatch):
        monkeypatch.setattr(tree_subset, "_MOST_SLOTS", 1_000)

    def test_is_bounded_however_many_subsets_of_few_trees_there_are(self, clouds):
        snapshot = clouds.snapshot({f"h{number}": host(VCPU=1) for number in range(9)})
        slots = range(snapshot.size)
        some = [few for size in (1, 2, 3, 4) for few in itertools.combinations(slots, size)]
        roots = [np.array(few, np.int32) for few in some]

        def look():
            for few in roots:
                subset_of(snapshot, few, few[:0], None, False)

        assert len(roots) == 255
        assert kept_by(look) < self.MOST

    def test_is_bounded_however_many_traits_searches_ask_for(self, clouds):
        names = sorted(os_traits.get_traits())
        snapshot = clouds.snapshot({f"h{n}": (None, {"VCPU": 1}, names, []) for n in range(2)})
        roots = [np.array(few, np.int32) for few in ([0], [1], [0, 1])]

        def look():
            for few in roots:
                for trait_id in snapshot.names.traits:
                    subset = subset_of(snapshot, few, few[:0], None, False)
                    assert subset.cloud.has_trait([trait_id]).all()

        assert kept_by(look) < self.MOST


def kept_by(work):
    """Return how many bytes are allocated after some work that weren't before it."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
