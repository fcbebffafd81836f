"""Disk of the root moves to a pool that several hosts share (compute.md §6.9)."""

import copy

import pytest

from compute.exceptions import ReshapeFailed, ReshapeNeeded
from compute.provider_tree import ProviderTree
from tests.unit.virt.consumers import body, resources, uuid
from virt.inventory import record
from virt.reshape.shared_storage import SHARES, disk_pools, move_disk

ROOT, CHILD, POOL, ANOTHER = uuid(100), uuid(101), uuid(200), uuid(199)


@pytest.fixture
def tree():
    """Make a node with disk of its own, a child, and a pool that shares disk with it."""
    tree = ProviderTree()
    tree.new_root("node", ROOT, 1)
    tree.new_child("child", ROOT, CHILD, 1)
    tree.new_root("pool", POOL, 1)
    tree.update_inventory(ROOT, {"DISK_GB": record(100), "VCPU": record(4)})
    tree.update_aggregates(ROOT, ["rack"])
    share(tree, POOL, ["rack", "room"])
    return tree


def share(tree, name, aggregates):
    tree.update_inventory(name, {"DISK_GB": record(1000)})
    tree.add_traits(name, SHARES)
    tree.update_aggregates(name, aggregates)


def names(tree):
    return [pool.name for pool in disk_pools(tree, "node")]


def test_pools_share_disk_by_an_aggregate_of_the_node_the_lowest_uuid_first(tree):
    tree.new_root("another", ANOTHER, 1)
    share(tree, "another", ["rack"])

    assert names(tree) == ["another", "pool"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda tree: tree.update_aggregates(POOL, ["room"]),
        lambda tree: tree.remove_traits(POOL, SHARES),
        lambda tree: tree.update_inventory(POOL, {"VCPU": record(1)}),
    ],
    ids=["another aggregate", "not sharing", "no disk"],
)
def test_other_providers_are_no_pools(tree, spoil):
    spoil(tree)

    assert names(tree) == []


def test_a_provider_of_the_nodes_own_tree_is_no_pool(tree):
    share(tree, CHILD, ["rack"])

    assert names(tree) == ["pool"]


def test_disk_and_what_is_held_of_it_move_to_the_pool(tree):
    allocations = {
        uuid(1): body({ROOT: {"VCPU": 1, "DISK_GB": 10}}),
        uuid(2): body({ROOT: {"VCPU": 2}}),
    }

    move_disk(tree, "node", tree.data(POOL), allocations)

    assert set(tree.data(ROOT).inventory) == {"VCPU"}
    assert resources(allocations) == {
        uuid(1): {ROOT: {"VCPU": 1}, POOL: {"DISK_GB": 10}},
        uuid(2): {ROOT: {"VCPU": 2}},
    }


def test_without_allocations_a_reshape_is_needed_and_the_tree_stays(tree):
    with pytest.raises(ReshapeNeeded):
        move_disk(tree, "node", tree.data(POOL))

    assert set(tree.data(ROOT).inventory) == {"DISK_GB", "VCPU"}


def test_a_root_without_disk_needs_none(tree):
    tree.update_inventory(ROOT, {"VCPU": record(4)})

    move_disk(tree, "node", tree.data(POOL))

    assert set(tree.data(ROOT).inventory) == {"VCPU"}


def test_more_than_the_pool_could_ever_hold_fails_and_changes_nothing(tree):
    allocations = {uuid(1): body({ROOT: {"DISK_GB": 5000}})}
    before = copy.deepcopy(allocations)

    with pytest.raises(ReshapeFailed):
        move_disk(tree, "node", tree.data(POOL), allocations)

    assert allocations == before
