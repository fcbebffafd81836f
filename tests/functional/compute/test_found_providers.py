"""What a provider has when the client first sees it is nobody's to wipe (compute.md §3.6, §3.9).

An operator, or another host, put traits and aggregates on a provider that this host comes upon: a
pool it joins, a child somebody made at the same moment.
"""

from functools import partial
from uuid import uuid4

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions
from compute.report.wire.context import admin_context
from virt.fake import FakeSharedStorageDriver

SHARES = "MISC_SHARES_VIA_AGGREGATE"
OPERATORS = "CUSTOM_GOLD"


@pytest.fixture
def pool(host, outsider):
    """Make a pool of other hosts, with an operator's inventory and traits."""
    name = f"ssp-{uuid4()}"
    uuid, aggregate, operators_aggregate = (str(uuid4()) for _ in range(3))
    outsider.provider(
        uuid=uuid,
        name=name,
        inventory={"DISK_GB": {"total": 500}},
        traits=[SHARES, "STORAGE_DISK_SSD", OPERATORS],
        aggregates=[aggregate, operators_aggregate],
    )

    class Joining(FakeSharedStorageDriver):
        def __init__(self, virtapi, conf, shared=True):
            super().__init__(virtapi, conf, shared)
            self.pool_uuid, self.aggregate_uuid = uuid, aggregate
            self.pool_name = name

    Joining.uuid = uuid
    Joining.has = lambda: (outsider.traits(uuid), outsider.aggregates(uuid))
    Joining.had = ({SHARES, "STORAGE_DISK_SSD", OPERATORS}, {aggregate, operators_aggregate})
    return Joining


@pytest.mark.parametrize("was_flat", [False, True], ids=["a new host", "a host with a disk"])
def test_a_host_that_joins_a_pool_keeps_what_operators_put_there(host, outsider, pool, was_flat):
    if was_flat:
        host.start(partial(pool, shared=False))
        outsider.allocate({host.uuid: {"DISK_GB": 10}})
    host.start(pool)
    assert pool.has() == pool.had
    host.start(pool)
    assert (host.adapter.writes, pool.has()) == ([], pool.had)


def test_a_node_that_joins_a_pool_its_client_knows_from_another_node_keeps_it_as_well(
    client, context, outsider
):
    aggregate, other = str(uuid4()), str(uuid4())
    pool = outsider.provider(
        inventory={"DISK_GB": {"total": 5}},
        traits=[SHARES, OPERATORS],
        aggregates=[aggregate, other],
    )
    first, second = outsider.provider(aggregates=[aggregate]), outsider.provider()
    client.get_provider_subtree_and_ensure_root(context, first, with_sharing=True)
    tree = client.get_provider_subtree_and_ensure_root(context, second, with_sharing=True)
    tree.new_root(f"name-of-{pool}", pool)
    tree.update_inventory(pool, {"DISK_GB": {"total": 5}})
    tree.add_traits(pool, SHARES, "STORAGE_DISK_SSD")
    tree.add_aggregates(pool, aggregate)
    tree.add_aggregates(second, aggregate)
    steps = [str(step) for step in client.tree_sync.rehearse(tree, None)]
    client.update_from_provider_tree(context, tree)
    assert outsider.traits(pool) == {SHARES, OPERATORS, "STORAGE_DISK_SSD"}
    assert outsider.aggregates(pool) == {aggregate, other}
    assert tree.data(pool).traits == outsider.traits(pool)
    assert len(steps) == 2
    assert client.tree_sync.rehearse(tree, None) == []


@pytest.mark.parametrize("allocations", [None, {}])
def test_a_plan_that_comes_upon_a_provider_keeps_what_it_has(
    client, context, outsider, allocations
):
    root = outsider.provider()
    tree = client.get_provider_subtree_and_ensure_root(context, root)
    pool = outsider.provider(
        inventory={"DISK_GB": {"total": 5}}, traits=[SHARES, OPERATORS], aggregates=[str(uuid4())]
    )
    has = outsider.aggregates(pool)
    tree.new_root(f"name-of-{pool}", pool)
    tree.add_traits(pool, SHARES, "STORAGE_DISK_SSD")
    tree.add_aggregates(pool, root)
    client.update_from_provider_tree(context, tree, allocations)
    assert outsider.traits(pool) == {SHARES, OPERATORS, "STORAGE_DISK_SSD"}
    assert outsider.aggregates(pool) == has | {root}
    if allocations is not None:
        assert outsider.totals(pool) == {"DISK_GB": 5}


@pytest.mark.one_by_one
def test_what_another_made_at_the_same_moment_is_read_with_all_it_has(
    client, context, outsider, placement_adapter
):
    root, other = outsider.provider(), outsider.provider()
    child = str(uuid4())
    tree = client.get_provider_tree_and_ensure_root(context, root)

    def made_by_another(method, url):
        if method == "POST" and url == "/resource_providers" and not outsider.exists(child):
            outsider.provider(uuid=child, name=f"child-{child}", parent=other)
            # As a client of old does it: the generation stays 0.
            outsider.call("PUT", f"/resource_providers/{child}/aggregates", [root], version="1.1")

    placement_adapter.before = made_by_another
    tree.new_child(f"child-{child}", root, child)
    tree.add_aggregates(child, other)
    client.update_from_provider_tree(context, tree)
    assert outsider.aggregates(child) == {root, other}


@pytest.mark.parametrize("part", ["aggregates", "traits"])
def test_what_changes_while_a_provider_is_read_is_not_written_over(
    client, context, outsider, placement_adapter, part
):
    uuid = outsider.provider(traits=["HW_CPU_X86_AVX"])
    aggregate = str(uuid4())
    changes = []

    def change(method, url):
        # After this part was read, and before the next: each time it is read.
        after = {"aggregates": "traits", "traits": "inventories"}[part]
        if method == "GET" and url == f"/resource_providers/{uuid}/{after}":
            changes.append(str(uuid4()))
            if part == "aggregates":
                outsider.set_aggregates(uuid, changes)
            else:
                outsider.set_traits(uuid, [f"CUSTOM_{n}" for n in range(len(changes))])

    placement_adapter.before = change
    tree = client.get_provider_tree_and_ensure_root(context, uuid)
    placement_adapter.before = None
    tree.add_aggregates(uuid, aggregate)
    tree.add_traits(uuid, OPERATORS)
    before = outsider.aggregates(uuid), outsider.traits(uuid)
    try:
        client.update_from_provider_tree(context, tree)
    except exceptions.ResourceProviderUpdateConflict:
        assert (outsider.aggregates(uuid), outsider.traits(uuid)) == before
    else:
        assert outsider.aggregates(uuid) == before[0] | {aggregate}
        assert outsider.traits(uuid) == before[1] | {OPERATORS}


@pytest.mark.one_by_one
def test_a_provider_that_changed_once_while_it_was_read_is_read_again(
    client, context, outsider, placement_adapter
):
    uuid = outsider.provider(traits=["HW_CPU_X86_AVX"])
    aggregate, theirs = str(uuid4()), str(uuid4())

    def change(method, url):
        if method == "GET" and url.endswith("/traits") and not outsider.aggregates(uuid):
            outsider.set_aggregates(uuid, [theirs])

    placement_adapter.before = change
    tree = client.get_provider_tree_and_ensure_root(context, uuid)
    tree.add_aggregates(uuid, aggregate)
    client.update_from_provider_tree(context, tree)
    assert outsider.aggregates(uuid) == {aggregate, theirs}


@pytest.mark.one_by_one
def test_a_trait_that_comes_during_the_reshape_conflicts_and_stays(
    client, context, outsider, placement_adapter
):
    uuid = outsider.provider(inventory={"VCPU": {"total": 4}})

    def change(method, url):
        if method == "GET" and url.endswith("/inventories"):
            outsider.set_traits(uuid, [OPERATORS])

    tree = client.get_provider_tree_and_ensure_root(context, uuid)
    tree.add_traits(uuid, "HW_CPU_X86_AVX")
    placement_adapter.before = change
    with pytest.raises(exceptions.ResourceProviderUpdateConflict):
        client.update_from_provider_tree(context, tree, {})
    placement_adapter.before = None
    tree = client.get_provider_tree_and_ensure_root(context, uuid)
    tree.add_traits(uuid, "HW_CPU_X86_AVX")
    client.update_from_provider_tree(context, tree)
    assert outsider.traits(uuid) == {OPERATORS, "HW_CPU_X86_AVX"}


def test_a_node_that_could_not_be_deleted_whole_is_read_again_whole(
    client, outsider, placement_adapter
):
    context = admin_context()
    root = outsider.provider(traits=[OPERATORS])
    child = outsider.provider(parent=root)
    client.get_provider_tree_and_ensure_root(context, root)

    def lose(method, url):
        if method == "DELETE":
            raise ksa_exc.ConnectFailure("gone")

    placement_adapter.before = lose
    node = type("Node", (), {"uuid": root, "hypervisor_hostname": "n"})
    with pytest.raises(ksa_exc.ConnectFailure):
        client.delete_resource_provider(context, node)
    placement_adapter.before = None
    tree = client.get_provider_tree_and_ensure_root(context, root)
    assert tree.data(root).traits == {OPERATORS}
    tree.add_traits(root, "HW_CPU_X86_AVX")
    client.update_from_provider_tree(context, tree)
    assert outsider.traits(root) == {OPERATORS, "HW_CPU_X86_AVX"}
    assert outsider.exists(child)


def test_a_pool_that_its_own_driver_drops_stays_as_it_is(host, outsider):
    class Dropping(FakeSharedStorageDriver):
        def __init__(self, virtapi, conf):
            super().__init__(virtapi, conf)
            self.pool_name, self.pool_uuid = f"ssp-{host.name}", str(uuid4())
            self.aggregate_uuid = str(uuid4())
            self.drops = False

        def update_provider_tree(self, provider_tree, nodename, allocations=None):
            if not self.drops:
                super().update_provider_tree(provider_tree, nodename, allocations)
            elif provider_tree.exists(self.pool_uuid):
                provider_tree.remove(self.pool_uuid)

    host.start(Dropping)
    pool = host.driver.pool_uuid
    made = outsider.totals(pool), outsider.traits(pool), outsider.aggregates(pool)
    host.driver.drops = True
    first, second = host.update(), host.update()
    left = outsider.totals(pool), outsider.traits(pool), outsider.aggregates(pool)

    assert (first.failures, second.failures) == ({}, {})
    assert left == made
    assert made[0] == {"DISK_GB": 500}


@pytest.mark.parametrize("other", ["reads it", "joins it"])
def test_a_node_that_joins_a_pool_while_another_node_reads_it_keeps_it_as_well(
    client, context, outsider, placement_adapter, other
):
    """What the client has of the pool by then isn't taken for all that the pool has."""
    aggregate, theirs = str(uuid4()), str(uuid4())
    had = {"DISK_GB": {"total": 5}, "CUSTOM_Y": {"total": 1}}
    pool = outsider.provider(inventory=had, traits=[SHARES, OPERATORS], aggregates=[aggregate])
    outsider.set_aggregates(pool, [aggregate, theirs])

    def joined(node):
        tree = client.get_provider_subtree_and_ensure_root(context, node, with_sharing=True)
        if not tree.exists(pool):
            tree.new_root(f"name-of-{pool}", pool)
        tree.add_traits(pool, SHARES, "STORAGE_DISK_SSD")
        tree.add_aggregates(pool, aggregate)
        tree.add_aggregates(node, aggregate)
        return tree

    late, first = joined(outsider.provider()), joined(outsider.provider())

    def join(method, url):
        if method == "GET" and url == f"/resource_providers/{pool}/aggregates":
            placement_adapter.before = None
            client.update_from_provider_tree(context, late)

    placement_adapter.before = join
    if other == "joins it":
        client.update_from_provider_tree(context, first)
    else:
        node = outsider.provider(aggregates=[aggregate])
        client.get_provider_subtree_and_ensure_root(context, node, with_sharing=True)
    client.update_from_provider_tree(context, late)
    assert outsider.traits(pool) == {SHARES, OPERATORS, "STORAGE_DISK_SSD"}
    assert outsider.aggregates(pool) == {aggregate, theirs}
    assert outsider.inventory(pool).keys() == had.keys()


def test_two_nodes_make_one_pool_at_the_same_moment(client, context, outsider, placement_adapter):
    pool, trees = str(uuid4()), []
    for name in ("CUSTOM_FIRST", "CUSTOM_SECOND"):
        node = outsider.provider()
        tree = client.get_provider_subtree_and_ensure_root(context, node, with_sharing=True)
        tree.new_root(f"name-of-{pool}", pool)
        tree.add_traits(pool, SHARES, name)
        tree.add_aggregates(pool, pool)
        tree.add_aggregates(node, pool)
        trees.append(tree)

    def meet(method, url):
        if method == "POST" and url == "/resource_providers":
            placement_adapter.after = None
            client.update_from_provider_tree(context, trees[1])

    placement_adapter.after = meet
    client.update_from_provider_tree(context, trees[0])
    assert outsider.traits(pool) == {SHARES, "CUSTOM_FIRST", "CUSTOM_SECOND"}
    assert outsider.aggregates(pool) == {pool}
