"""Where the tracker places what an instance holds (compute.md §4.10)."""

import pytest

from compute.consumers.held_shares import InstanceHolding, Share, Side
from compute.provider_tree import ProviderTree
from compute.records.instance import Flavor, Instance
from compute.records.migration import Migration
from compute.resource_tracker.allocations.allocation_places import (
    merged,
    placed,
    wanted_shares,
)
from compute.shares.giver import givers_of

NODE, POOL = "u-node", "u-pool"
SMALL, LARGE = (Flavor(vcpus=1, memory_mb=64, root_gb=size) for size in (10, 30))


@pytest.fixture
def tree():
    """Return a node whose disk is that of a pool."""
    tree = ProviderTree()
    for name, uuid in (("node", NODE), ("pool", POOL)):
        tree.new_root(name, uuid, 1)
        tree.update_aggregates(uuid, ["storage"])
    tree.update_inventory(NODE, {"VCPU": {"total": 8}, "MEMORY_MB": {"total": 1024}})
    tree.update_traits(POOL, ["MISC_SHARES_VIA_AGGREGATE"])
    tree.update_inventory(POOL, {"DISK_GB": {"total": 1000}})
    return tree


@pytest.mark.parametrize("on_shared_storage", [True, False])
@pytest.mark.parametrize(("old", "new"), [(SMALL, LARGE), (LARGE, SMALL)])
def test_both_ends_of_a_resize_share_one_disk_as_large_as_the_larger_flavors(
    tree, old, new, on_shared_storage
):
    instance = Instance(flavor=old, old_flavor=old, new_flavor=new)
    shares = (Share(Side.OLD, old), Share(Side.NEW, new))
    held = InstanceHolding(instance, shares, Migration(instance.uuid, migration_type="resize"))

    givers = givers_of(tree, NODE)
    wanted = wanted_shares(held, shares, givers, {}, on_shared_storage)
    found = placed(wanted, "node", givers, {}, on_shared_storage, runs=True)

    assert found.places == {NODE: {"VCPU": 2, "MEMORY_MB": 128}, POOL: {"DISK_GB": 30}}


PINNED = Flavor(vcpus=2, memory_mb=64, extra_specs={"hw:cpu_policy": "dedicated"})
GRANULAR = Flavor(vcpus=2, memory_mb=64, extra_specs={"resources1:VCPU": "2", "resources:A": "x"})


@pytest.mark.parametrize(
    ("flavor", "classes", "processors"),
    [
        (PINNED, ("VCPU", "PCPU"), {"PCPU": 2}),
        (PINNED, ("VCPU",), {"VCPU": 2}),
        (GRANULAR, ("VCPU",), {"VCPU": 2}),
    ],
)
def test_the_root_gives_what_nova_would_claim_of_it(flavor, classes, processors):
    tree = ProviderTree()
    tree.new_root("node", NODE, 1)
    tree.update_inventory(NODE, {name: {"total": 64} for name in (*classes, "MEMORY_MB")})
    tree.update_inventory(tree.new_child("node_gpu", "node"), {"VGPU": {"total": 1}})
    shares = (Share(Side.NEW, flavor),)
    held = InstanceHolding(Instance(flavor=flavor), shares, None)

    givers = givers_of(tree, NODE)
    wanted = wanted_shares(held, shares, givers, {}, on_shared_storage=False)
    found = placed(wanted, "node", givers, {}, on_shared_storage=False, runs=False)

    assert found.places == {NODE: {"MEMORY_MB": 64} | processors}


def test_what_others_own_stays_and_what_a_flavor_named_before_goes(tree):
    has = {
        NODE: {"VCPU": 1, "PCPU": 1, "CUSTOM_OURS": 1, "CUSTOM_THEIRS": 1},
        "u-elsewhere": {"VCPU": 5},
    }

    found = merged(has, {NODE: {"VCPU": 2}}, givers_of(tree, NODE), {"CUSTOM_OURS"})

    assert found == {NODE: {"VCPU": 2, "CUSTOM_THEIRS": 1}, "u-elsewhere": {"VCPU": 5}}
