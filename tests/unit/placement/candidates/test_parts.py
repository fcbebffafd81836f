"""A search with a limit looks at few trees, and gives what the whole cloud would give."""

import numpy as np
import pytest

from placement.candidates import search
from placement.candidates import subset_choice as narrowing
from placement.candidates.cloud import full_start_memory as past_searches
from placement.candidates.request import CandidateRequest, Generation, Group
from placement.candidates.trees import tree_problems as trees
from tests.endless import endless
from tests.unit.placement.candidates.snapshots import child, host

TREES = 12
FEW = {"FEWEST": 4, "EACH": 1, "MOST": 2, "TIMES": (1, 2), "CHUNK": 4}


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch):
    """Make small clouds large ones."""
    for name, value in FEW.items():
        monkeypatch.setattr(narrowing, f"_{name}", value)
    monkeypatch.setattr(search, "_SMALL", 0)
    monkeypatch.setattr(trees, "_FIRST_CHUNK", 4)


@pytest.fixture
def looked_at(monkeypatch):
    """Return the sizes of the clouds that were searched, in their order."""
    sizes = []
    anchors = search.Search.anchors

    def noting(asked, trees, most):
        sizes.append(trees.cloud.size)
        return anchors(asked, trees, most)

    monkeypatch.setattr(search.Search, "anchors", noting)
    return sizes


def a_request(limit=2, **resources):
    group = Group("_G", resources or {"VGPU": 1})
    return CandidateRequest(groups=(group,), limit=limit)


def hosts(cards):
    """Return trees with so many GPUs each, by their number."""
    cloud = {}
    for number, count in enumerate(cards):
        cloud[f"h{number}"] = host(VCPU=4)
        for card in range(count):
            cloud[f"h{number}.{card}"] = child(f"h{number}", VGPU=1)
    return cloud


def uuids(snapshot, found):
    """Return the providers of each candidate, in their order."""
    assert found.snapshot is snapshot
    return [
        [snapshot.register.uuids[batch.family.slots(number)[local]] for local in batch.solution]
        for batch in found.batches
        for number in range(len(batch))
    ]


def whole(monkeypatch, snapshot, request, generation=None):
    with monkeypatch.context() as patch:
        patch.setattr(search, "_SMALL", 1_000_000)
        return uuids(snapshot, search.search(snapshot, request, endless(), generation))


def test_the_first_trees_are_enough(clouds, looked_at, monkeypatch):
    snapshot = clouds.snapshot(hosts([1] * TREES))

    found = uuids(snapshot, search.search(snapshot, a_request(), endless()))

    assert looked_at == [8]
    assert found == [["h0.0"], ["h1.0"]]
    assert found == whole(monkeypatch, snapshot, a_request())


def test_trees_behind_the_part_may_come_before_trees_in_it(clouds, looked_at, monkeypatch):
    # trees are looked at by four, and those with fewer providers come first
    snapshot = clouds.snapshot(hosts([2, 2, 0, 2, 1, 2, 2, 2, 2, 2, 2, 2]))

    found = uuids(snapshot, search.search(snapshot, a_request(), endless()))

    assert found[0] == ["h4.0"]
    assert len(looked_at) > 1
    assert found == whole(monkeypatch, snapshot, a_request())


def test_full_hosts_are_passed_over(clouds, looked_at, monkeypatch):
    cloud = hosts([1] * TREES)
    for number in range(TREES - 4):
        cloud[f"h{number}.0"] = child(f"h{number}", VGPU=0)
    snapshot = clouds.snapshot(cloud)

    found = uuids(snapshot, search.search(snapshot, a_request(), endless()))

    assert looked_at == [8, 8]
    assert found == [["h8.0"], ["h9.0"]]
    assert found == whole(monkeypatch, snapshot, a_request())


@pytest.mark.parametrize(
    ("lacking", "more"),
    [
        (child("", VGPU=1, VCPU=1), {}),
        (("", {"VGPU": 1, "VCPU": 2}, [], []), {"required": (frozenset(["HW_GPU_API_VULKAN"]),)}),
        (
            ("", {"VGPU": 1, "VCPU": 2}, ["HW_GPU_API_VULKAN", "HW_GPU_API_DXVA"], []),
            {"forbidden": frozenset(["HW_GPU_API_DXVA"])},
        ),
    ],
    ids=["another class", "a trait", "no trait"],
)
def test_hosts_that_lack_something_are_passed_over(clouds, looked_at, monkeypatch, lacking, more):
    monkeypatch.setattr(narrowing, "_RARE", 0)
    able = ({"VGPU": 1, "VCPU": 2}, ["HW_GPU_API_VULKAN"], [])
    cloud = {}
    for number in range(TREES):
        cloud[f"h{number}"] = host()
        made = lacking[1:] if number < TREES - 4 else able
        cloud[f"h{number}.0"] = (f"h{number}", *made)
    snapshot = clouds.snapshot(cloud)
    request = CandidateRequest(groups=(Group("_G", {"VGPU": 1, "VCPU": 2}, **more),), limit=2)

    found = uuids(snapshot, search.search(snapshot, request, endless()))

    assert looked_at == [8, 8]
    assert [set(each) for each in found] == [{"h8.0"}, {"h9.0"}]
    assert found == whole(monkeypatch, snapshot, request)


def test_a_tree_with_any_of_the_traits_is_looked_at(clouds, looked_at, monkeypatch):
    cloud = hosts([1] * TREES)
    for number, trait in ((6, "HW_GPU_API_VULKAN"), (7, "HW_GPU_API_DXVA")):
        cloud[f"h{number}.0"] = (f"h{number}", {"VGPU": 1}, [trait], [])
    snapshot = clouds.snapshot(cloud)
    traits = (frozenset(["HW_GPU_API_VULKAN", "HW_GPU_API_DXVA"]),)
    request = CandidateRequest(groups=(Group("_G", {"VGPU": 1}, traits),))

    found = uuids(snapshot, search.search(snapshot, request, endless()))

    assert looked_at == [4]
    assert found == [["h6.0"], ["h7.0"]]
    assert found == whole(monkeypatch, snapshot, request)


def test_providers_beside_each_other_are_no_subtree_in_a_part_either(clouds, looked_at):
    snapshot = clouds.snapshot(hosts([2] * TREES))
    groups = (Group("_G", {"VGPU": 1}), Group("_H", {"VGPU": 1}))
    same = (frozenset({"_G", "_H"}),)
    request = CandidateRequest(groups=groups, limit=2, same_subtree=same, isolate=True)

    assert uuids(snapshot, search.search(snapshot, request, endless())) == []
    assert looked_at[0] < looked_at[-1] == snapshot.size


def test_a_group_that_takes_nothing_passes_no_tree_over(clouds, monkeypatch):
    monkeypatch.setattr(narrowing, "_RARE", 0)
    cloud = {
        name: (parent, stock, [] if parent else ["HW_NUMA_ROOT"], labels)
        for name, (parent, stock, _, labels) in hosts([0] * 8 + [1] * 4).items()
    }
    snapshot = clouds.snapshot(cloud)
    numa = Group("_N", required=(frozenset(["HW_NUMA_ROOT"]),))
    request = CandidateRequest(groups=(Group("_G", {"VGPU": 1}), numa), limit=2)

    found = uuids(snapshot, search.search(snapshot, request, endless()))

    assert sorted(map(sorted, found)) == [["h8", "h8.0"], ["h9", "h9.0"]]
    assert found == whole(monkeypatch, snapshot, request)


def test_the_first_trees_are_left_out_while_they_are_full_and_tried_again(
    clouds, looked_at, monkeypatch
):
    empty = clouds.snapshot(hosts([1] * TREES))
    cards = [empty.slot(f"h{number}.0") for number in range(TREES - 4)]
    full = empty.using({empty.names.class_ids["VGPU"]: dict.fromkeys(cards, 1)})
    wanted = whole(monkeypatch, full, a_request())
    looked_at.clear()

    for _ in range(3):
        assert uuids(full, search.search(full, a_request(), endless())) == wanted
    # of the first search, the first trees and those that have a GPU left; then these alone
    assert looked_at == [8, 8, 8, 8]
    looked_at.clear()
    for _ in range(20):
        assert uuids(empty, search.search(empty, a_request(), endless())) == [["h0.0"], ["h1.0"]]
    assert len(looked_at) == 20
    assert not empty.past_searches.begins_elsewhere(a_request())


def test_what_is_remembered_of_searches_is_bounded(clouds, monkeypatch):
    monkeypatch.setattr(past_searches, "_REQUESTS", 3)
    snapshot = clouds.snapshot(hosts([0] * TREES))
    for limit in range(1, 9):
        search.search(snapshot, a_request(limit), endless())

    assert len(snapshot.past_searches._left) <= 3


@pytest.mark.parametrize("limit", [2, None])
def test_a_tree_that_is_named_is_the_only_one_looked_at(clouds, looked_at, limit):
    snapshot = clouds.snapshot(hosts([1] * TREES))
    group = Group("_G", {"VGPU": 1}, in_tree="h7.0")

    found = search.search(snapshot, CandidateRequest(groups=(group,), limit=limit), endless())

    assert looked_at == [2]
    assert uuids(snapshot, found) == [["h7.0"]]


def test_candidates_that_no_part_has_are_looked_for_everywhere(clouds, looked_at):
    snapshot = clouds.snapshot(hosts([1] * TREES))

    found = search.search(snapshot, a_request(VGPU=2), endless())

    assert len(found) == 0
    assert looked_at == [8, snapshot.size]


def test_all_candidates_are_looked_for_everywhere(clouds, looked_at):
    snapshot = clouds.snapshot(hosts([1] * TREES))

    found = search.search(snapshot, a_request(limit=None), endless())

    assert len(found) == TREES
    assert looked_at == [snapshot.size]


def test_a_random_choice_is_one_of_all(clouds, looked_at):
    snapshot = clouds.snapshot(hosts([1] * TREES))

    search.search(snapshot, a_request(), endless(), Generation(seed="any"))

    assert looked_at == [snapshot.size]


def test_hosts_alone_come_before_all_trees(clouds, monkeypatch):
    cloud = hosts([1] * TREES) | {"z0": host(VGPU=1), "z1": host(VCPU=1)}
    snapshot = clouds.snapshot(cloud)

    found = uuids(snapshot, search.search(snapshot, a_request(), endless()))

    assert found == [["z0"], ["h0.0"]]
    assert found == whole(monkeypatch, snapshot, a_request())


def test_hosts_alone_may_be_too_many_for_a_part(clouds, monkeypatch):
    monkeypatch.setattr(narrowing, "_MOST_EXTRA", 1)
    cloud = hosts([1] * TREES) | {"z0": host(VCPU=1), "z1": host(VGPU=1)}
    snapshot = clouds.snapshot(cloud)

    found = uuids(snapshot, search.search(snapshot, a_request(), endless()))

    assert found == [["z1"], ["h0.0"]]
    assert found == whole(monkeypatch, snapshot, a_request())


def lent(**lends):
    """Return trees with a GPU, whose first providers may use what the second one of another has."""
    cloud = {name: (*made[:3], ["rack"]) for name, made in hosts([1] * TREES).items()}
    shared = ("store", lends, ["MISC_SHARES_VIA_AGGREGATE", "STORAGE_DISK_SSD"], ["rack"])
    return cloud | {"store": host(), "store.0": shared}


def test_what_lends_to_the_first_trees_is_looked_at_with_them(clouds, looked_at, monkeypatch):
    snapshot = clouds.snapshot(lent(DISK_GB=100))
    groups = (Group("", {"DISK_GB": 10}), Group("_G", {"VGPU": 1}))
    request = CandidateRequest(groups=groups, limit=2)

    found = uuids(snapshot, search.search(snapshot, request, endless()))

    assert looked_at == [10]
    assert found == [["store.0", "h0.0"], ["store.0", "h1.0"]]
    assert found == whole(monkeypatch, snapshot, request)


def test_a_tree_that_may_borrow_is_not_passed_over(clouds, monkeypatch):
    cloud = lent(DISK_GB=100)
    for number in (0, 1, 2, 3):
        cloud[f"h{number}.0"] = child(f"h{number}")
    for number in (8, 9):
        cloud[f"h{number}"] = (None, {"DISK_GB": 10}, ["STORAGE_DISK_SSD"], ["rack"])
    snapshot = clouds.snapshot(cloud)
    for required in ((), (frozenset(["STORAGE_DISK_SSD"]),)):
        groups = (Group("", {"DISK_GB": 10}, required), Group("_G", {"VGPU": 1}))
        request = CandidateRequest(groups=groups, limit=2)

        found = uuids(snapshot, search.search(snapshot, request, endless()))

        assert found == whole(monkeypatch, snapshot, request)
        assert found == [["store.0", "h4.0"], ["store.0", "h5.0"]]


def test_a_tree_that_is_named_where_others_lend_is_looked_for_everywhere(clouds, looked_at):
    snapshot = clouds.snapshot(lent(DISK_GB=100))
    group = Group("_G", {"VGPU": 1}, in_tree="h7.0")

    found = search.search(snapshot, CandidateRequest(groups=(group,), limit=2), endless())

    assert looked_at == [snapshot.size]
    assert uuids(snapshot, found) == [["h7.0"]]


def test_a_part_is_not_made_of_trees_that_contradict_themselves(clouds, looked_at):
    snapshot = clouds.snapshot(hosts([1] * TREES))
    forest = snapshot.forest
    # the GPU of the first host says it is in the tree of the second
    root = np.array(forest.root)
    root[1] = 2
    object.__setattr__(snapshot, "forest", type(forest).of(forest.parent, root, forest.alive))

    search.search(snapshot, a_request(), endless())

    assert looked_at == [snapshot.size]


def test_a_host_without_children_behind_the_first_trees_still_comes_before_them(
    clouds, monkeypatch
):
    monkeypatch.setattr(narrowing, "_MOST_EXTRA", 1)
    cloud = {"first": host(VGPU=1), **hosts([1] * 20), "last": host(VGPU=1)}
    snapshot = clouds.snapshot(cloud)

    found = uuids(snapshot, search.search(snapshot, a_request(), endless()))

    assert found == whole(monkeypatch, snapshot, a_request()) == [["first"], ["last"]]
