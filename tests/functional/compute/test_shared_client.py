"""One report client, several threads: each works on its own copy of what the client remembers.

While a node's update is under way, another one may read a pool that both share again, or a whole
tree, and others may have changed that in Placement meanwhile (compute.md §3.5, §3.9).
"""

import copy
from uuid import uuid4

import pytest

from compute.exceptions import ResourceProviderUpdateConflict, ResourceProviderVanished
from compute.records.compute_node import ComputeNode
from compute.report.wire.transport import ATTEMPTS

SHARES = "MISC_SHARES_VIA_AGGREGATE"


@pytest.fixture
def aggregate():
    return str(uuid4())


@pytest.fixture
def pool(outsider, aggregate):
    return outsider.provider(
        inventory={"DISK_GB": {"total": 500}}, traits=[SHARES], aggregates=[aggregate]
    )


@pytest.fixture
def nodes(outsider, aggregate):
    return [outsider.provider(aggregates=[aggregate]) for _ in range(2)]


def read_again(client, context, node, outsider):
    """Do what another thread's update of `node` does once what is remembered is old."""
    for uuid in list(client.cache.read_at):
        client.invalidate_resource_provider(uuid, cacheonly=True)
    client.get_provider_subtree_and_ensure_root(context, node, with_sharing=True)


def changed_inventory(outsider, uuid, aggregate):
    outsider.set_inventory(uuid, {"DISK_GB": {"total": 700}})


def changed_traits(outsider, uuid, aggregate):
    outsider.set_traits(uuid, [SHARES, "STORAGE_DISK_SSD"])


def changed_aggregates(outsider, uuid, aggregate):
    outsider.set_aggregates(uuid, [aggregate, str(uuid4())])


@pytest.mark.parametrize("change", [changed_inventory, changed_traits, changed_aggregates])
def test_what_another_node_read_again_isnt_written_over_from_an_older_copy(
    client, context, outsider, aggregate, pool, nodes, change
):
    first, second = nodes
    tree = client.get_provider_subtree_and_ensure_root(context, first, with_sharing=True)
    change(outsider, pool, aggregate)
    now = outsider.inventory(pool), outsider.traits(pool), outsider.aggregates(pool)
    read_again(client, context, second, outsider)
    with pytest.raises(ResourceProviderUpdateConflict):
        client.update_from_provider_tree(context, tree)
    assert (outsider.inventory(pool), outsider.traits(pool), outsider.aggregates(pool)) == now
    tree = client.get_provider_subtree_and_ensure_root(context, first, with_sharing=True)
    tree.update_inventory(first, {"VCPU": {"total": 8}})
    client.update_from_provider_tree(context, tree)
    assert outsider.totals(first) == {"VCPU": 8}


def test_one_copy_can_be_edited_and_sent_again_and_again(client, context, outsider, nodes, pool):
    tree = client.get_provider_subtree_and_ensure_root(context, nodes[0], with_sharing=True)
    for total in (8, 16):
        for uuid, resource_class in ((nodes[0], "VCPU"), (pool, "DISK_GB")):
            tree.update_inventory(uuid, {resource_class: {"total": total}})
            tree.add_aggregates(uuid, str(uuid4()))
            tree.add_traits(uuid, f"CUSTOM_{total}")
            tree.remove_traits(uuid, "CUSTOM_8" if total == 16 else "CUSTOM_16")
        client.update_from_provider_tree(context, tree)
        assert outsider.totals(nodes[0]) == {"VCPU": total}
        assert outsider.traits(pool) == {SHARES, f"CUSTOM_{total}"}
    tree.update_inventory(nodes[0], {"VCPU": {"total": 32}})
    client.update_from_provider_tree(context, tree, {})
    tree.add_traits(nodes[0], "CUSTOM_32")
    client.update_from_provider_tree(context, tree)
    assert outsider.traits(nodes[0]) == {"CUSTOM_16", "CUSTOM_32"}


@pytest.mark.parametrize("whole", [False, True], ids=["one node's copy", "a copy of everything"])
def test_what_came_after_the_copy_isnt_removed_for_being_absent_from_it(
    client, context, outsider, nodes, whole
):
    first, second = nodes
    get = (
        client.get_provider_tree_and_ensure_root
        if whole
        else client.get_provider_subtree_and_ensure_root
    )
    tree = copy.deepcopy(get(context, first))
    theirs = outsider.provider(parent=first, inventory={"FPGA": {"total": 1}})
    client.cache.forget_tree(first)
    client.get_provider_subtree_and_ensure_root(context, first)
    client.get_provider_subtree_and_ensure_root(context, second)
    client.update_from_provider_tree(context, tree)
    assert outsider.exists(theirs)
    assert outsider.exists(second)


def test_what_others_deleted_meanwhile_isnt_made_again(client, context, outsider, nodes):
    theirs = outsider.provider(parent=nodes[0], inventory={"FPGA": {"total": 1}})
    tree = client.get_provider_subtree_and_ensure_root(context, nodes[0])
    outsider.call("DELETE", f"/resource_providers/{theirs}")
    client.clear_provider_cache()
    with pytest.raises(ResourceProviderVanished):
        client.update_from_provider_tree(context, tree)
    assert not outsider.exists(theirs)


GETTERS = pytest.mark.parametrize(
    "get",
    [
        lambda client, *args: client.get_provider_tree_and_ensure_root(*args),
        lambda client, *args: client.get_provider_subtree_and_ensure_root(*args, with_sharing=True),
    ],
    ids=["a copy of everything", "one node's copy"],
)


@GETTERS
def test_a_pool_that_another_node_had_forgotten_is_read_again_once(
    client, context, placement_adapter, nodes, pool, get
):
    for node in nodes:
        get(client, context, node)
    client.cache.forget_tree(pool)
    tree = get(client, context, nodes[0])
    assert tree.data(pool).inventory["DISK_GB"]["total"] == 500
    placement_adapter.requests.clear()
    for node in nodes:
        assert get(client, context, node).exists(pool)
    assert placement_adapter.requests == []


@GETTERS
@pytest.mark.parametrize("change", ["deleted", "shares no longer", "shares with others"])
def test_a_pool_that_is_forgotten_and_shares_no_longer_isnt_looked_for_again(
    client, context, outsider, placement_adapter, nodes, pool, get, change
):
    get(client, context, nodes[0])
    client.cache.forget_tree(pool)
    if change == "deleted":
        outsider.call("DELETE", f"/resource_providers/{pool}")
    elif change == "shares no longer":
        outsider.set_traits(pool, [])
    else:
        outsider.set_aggregates(pool, [str(uuid4())])
    assert not get(client, context, nodes[0]).exists(pool)
    placement_adapter.requests.clear()
    get(client, context, nodes[0])
    assert placement_adapter.requests == []


@GETTERS
@pytest.mark.parametrize("times", [ATTEMPTS - 2, ATTEMPTS])
def test_a_pool_that_is_forgotten_whenever_it_was_read_is_a_conflict_in_the_end(
    client, context, monkeypatch, nodes, pool, get, times
):
    get(client, context, nodes[0])
    load, left = client.associations.load_sharing, [pool] * times

    def disturbed(*args):
        load(*args)
        if left:
            client.cache.forget_tree(left.pop())

    monkeypatch.setattr(client.associations, "load_sharing", disturbed)
    client.cache.forget_tree(pool)
    if times < ATTEMPTS:
        assert get(client, context, nodes[0]).exists(pool)
    else:
        with pytest.raises(ResourceProviderUpdateConflict):
            get(client, context, nodes[0])


def test_a_pool_that_the_client_made_and_forgot_is_read_again(client, context, nodes, aggregate):
    tree = client.get_provider_subtree_and_ensure_root(context, nodes[0], with_sharing=True)
    made = str(uuid4())
    tree.new_root(f"pool-{made}", made)
    tree.add_traits(made, SHARES)
    tree.add_aggregates(made, aggregate)
    client.update_from_provider_tree(context, tree)
    client.cache.forget_tree(made)
    tree = client.get_provider_subtree_and_ensure_root(context, nodes[0], with_sharing=True)
    assert tree.data(made).traits == {SHARES}


@pytest.mark.parametrize("change", [changed_inventory, changed_traits, changed_aggregates])
def test_a_copy_made_while_a_pool_is_read_doesnt_mix_old_and_new(
    client, context, outsider, placement_adapter, aggregate, nodes, pool, change
):
    """Old traits at the new generation would be written over the new ones."""
    for node in nodes:
        client.get_provider_subtree_and_ensure_root(context, node, with_sharing=True)
    change(outsider, pool, aggregate)
    now = outsider.totals(pool), outsider.traits(pool), outsider.aggregates(pool)
    for uuid in (nodes[1], pool):
        client.invalidate_resource_provider(uuid, cacheonly=True)
    copies = []
    placement_adapter.after = lambda method, url: copies.append(
        client.cache.tree.subtree_with_sharing(nodes[0])
    )
    client.get_provider_subtree_and_ensure_root(context, nodes[1], with_sharing=True)
    placement_adapter.after = None
    for tree in copies:
        tree.update_inventory(pool, {**tree.data(pool).inventory, "VCPU": {"total": 1}})
        tree.add_traits(pool, "CUSTOM_OURS")
        tree.add_aggregates(pool, str(uuid4()))
        with pytest.raises(ResourceProviderUpdateConflict):
            client.update_from_provider_tree(context, tree)
    assert (outsider.totals(pool), outsider.traits(pool), outsider.aggregates(pool)) == now


def test_consumers_of_a_deleted_node_lose_also_what_they_have_of_a_pool_that_was_forgotten(
    client, context, outsider, monkeypatch, nodes, pool
):
    outsider.set_inventory(nodes[0], {"VCPU": {"total": 4}})
    consumer = outsider.allocate({nodes[0]: {"VCPU": 1}, pool: {"DISK_GB": 5}})
    load = client.trees.load

    def disturbed(*args):
        found = load(*args)
        client.cache.forget_tree(pool)
        return found

    monkeypatch.setattr(client.trees, "load", disturbed)
    node = ComputeNode(uuid=nodes[0], host="h", hypervisor_hostname="n")
    client.delete_resource_provider(context, node, cascade=True)
    assert outsider.allocations(consumer) == {}
