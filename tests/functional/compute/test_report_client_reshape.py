"""Allocations of a tree, and reshaping them (compute.md §3.8–3.9, scenarios C14–C20)."""

import copy
from uuid import uuid4

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions
from tests.functional.compute.test_whole_tree_writes import answered

SHARES = "MISC_SHARES_VIA_AGGREGATE"
RESHAPER = ("POST", "/reshaper", "1.30")


class Cloud:
    """Scenario C14: cn with two NUMA nodes, a shared disk, two instances, and another host."""

    def __init__(self, outsider):
        self.aggregate = str(uuid4())
        self.foo = f"CUSTOM_FOO_{uuid4().hex.upper()}"
        self.pcpu = "CUSTOM_PCPU"
        self.name = f"cn-{uuid4()}"
        numa = {
            "VCPU": {"total": 8},
            self.pcpu: {"total": 8},
            "SRIOV_NET_VF": {"total": 4},
        }
        self.cn = outsider.provider(
            self.name,
            inventory={"MEMORY_MB": {"total": 2048}, "SRIOV_NET_VF": {"total": 2}},
            aggregates=[self.aggregate],
        )
        self.numa1, self.numa2 = (
            outsider.provider(
                f"{self.name}-numa{cell}",
                parent=self.cn,
                inventory=numa,
                traits=[f"CUSTOM_NUMA_{cell}"],
            )
            for cell in (1, 2)
        )
        self.ssp = outsider.provider(
            inventory={"DISK_GB": {"total": 500}}, traits=[SHARES], aggregates=[self.aggregate]
        )
        self.othercn = outsider.provider(
            inventory={"VCPU": {"total": 8}}, aggregates=[self.aggregate]
        )
        self.i1 = outsider.allocate(
            {
                self.cn: {"MEMORY_MB": 512, "SRIOV_NET_VF": 1},
                self.numa1: {"VCPU": 2, self.pcpu: 2},
                self.ssp: {"DISK_GB": 100},
            }
        )
        self.i2 = outsider.allocate(
            {
                self.cn: {"MEMORY_MB": 256},
                self.numa2: {self.pcpu: 1, "SRIOV_NET_VF": 1},
                self.ssp: {"DISK_GB": 50},
            }
        )
        self.other = outsider.allocate({self.othercn: {"VCPU": 1}, self.ssp: {"DISK_GB": 30}})


@pytest.fixture
def cloud(outsider):
    return Cloud(outsider)


@pytest.fixture
def cycle(client, context, cloud):
    """`cycle(edit)` is what a tracker does at start-up: read, let `edit` change it, flush."""

    def run(edit=lambda tree, allocations: None):
        tree = client.get_provider_tree_and_ensure_root(context, cloud.cn)
        allocations = client.get_allocations_for_provider_tree(context, cloud.name)
        edit(tree, allocations)
        client.update_from_provider_tree(context, tree, allocations)

    return run


# C14, C15


def test_c14_allocations_of_a_tree_are_those_of_its_consumers_and_complete(
    client, context, cloud, outsider
):
    client.get_provider_tree_and_ensure_root(context, cloud.cn)
    found = client.get_allocations_for_provider_tree(context, cloud.name)
    assert found.keys() == {cloud.i1, cloud.i2}
    assert found[cloud.i1] == {
        "allocations": {
            uuid: {"generation": outsider.generation(uuid), "resources": resources}
            for uuid, resources in outsider.allocations(cloud.i1).items()
        },
        "project_id": "project",
        "user_id": "user",
        "consumer_generation": 1,
    }
    assert cloud.ssp in found[cloud.i2]["allocations"]


def test_c15_a_consumer_of_the_shared_disk_alone_is_absent(client, context, cloud, outsider):
    outsider.allocate({cloud.ssp: {"DISK_GB": 1}})
    client.get_provider_tree_and_ensure_root(context, cloud.cn)
    found = client.get_allocations_for_provider_tree(context, cloud.name)
    assert found.keys() == {cloud.i1, cloud.i2}


def test_c14_a_tree_without_consumers_has_an_empty_dict_of_allocations(client, context):
    uuid = str(uuid4())
    client.get_provider_tree_and_ensure_root(context, uuid)
    assert client.get_allocations_for_provider_tree(context, uuid) == {}


def test_c14_allocations_of_an_unknown_node_are_a_value_error(client, context):
    with pytest.raises(ValueError, match="No such provider nowhere"):
        client.get_allocations_for_provider_tree(context, "nowhere")


@pytest.mark.one_by_one
def test_a_consumer_that_vanishes_amid_the_reading_is_left_out(
    client, context, cloud, outsider, placement_adapter
):
    client.get_provider_tree_and_ensure_root(context, cloud.cn)

    def vanish(method, url):
        if url == f"/allocations/{cloud.i1}":
            outsider.call("DELETE", url)

    placement_adapter.before = vanish
    found = client.get_allocations_for_provider_tree(context, cloud.name)
    assert found.keys() == {cloud.i2}


def test_one_provider_tells_what_is_allocated_against_it(client, context, cloud):
    found = client.get_allocations_for_resource_provider(context, cloud.numa2)
    assert found.allocations == {
        cloud.i2: {"resources": {cloud.pcpu: 1, "SRIOV_NET_VF": 1}},
    }


def test_allocations_of_an_unknown_provider_are_an_error(client, context):
    with pytest.raises(exceptions.ResourceProviderAllocationRetrievalFailed):
        client.get_allocations_for_resource_provider(context, str(uuid4()))


def test_a_consumer_without_allocations_has_nothing_else_either(client, context):
    assert client.get_allocs_for_consumer(context, str(uuid4())) == {"allocations": {}}


# C16


def test_without_allocations_nothing_is_reshaped(client, context, cloud, placement_adapter):
    tree = client.get_provider_tree_and_ensure_root(context, cloud.cn)
    client.update_from_provider_tree(context, tree, None)
    assert placement_adapter.writes == []


@pytest.mark.parametrize("real", [True, False])
def test_c16_a_null_reshape_refreshes_generations_and_disturbs_nothing(
    client, context, cloud, outsider, placement_adapter, real
):
    tree = client.get_provider_tree_and_ensure_root(context, cloud.cn)
    allocations = client.get_allocations_for_provider_tree(context, cloud.name) if real else {}
    before = {consumer: outsider.allocations(consumer) for consumer in (cloud.i1, cloud.i2)}
    client.update_from_provider_tree(context, tree, allocations)
    classes = ("PUT", f"/resource_classes/{cloud.pcpu}", "1.7")
    (reshape,) = [sent for sent in placement_adapter.writes if sent != classes]
    assert reshape in (RESHAPER, ("PUT", f"/berth/v1/provider_trees/{cloud.cn}", "1.36"))
    assert before == {uuid: outsider.allocations(uuid) for uuid in (cloud.i1, cloud.i2)}
    for uuid in tree.get_provider_uuids():
        assert client.cache.tree.data(uuid).generation == outsider.generation(uuid)
    tree.add_traits(cloud.numa1, "HW_CPU_X86_AVX")
    tree.add_aggregates(cloud.cn, str(uuid4()))
    client.update_from_provider_tree(context, tree)
    assert outsider.traits(cloud.numa1) == {"HW_CPU_X86_AVX", "CUSTOM_NUMA_1"}


# C17, C18


def test_c17_a_reshape_can_add_to_every_provider_and_every_allocation(cycle, cloud, outsider):
    def add_foo(tree, allocations):
        for uuid in tree.get_provider_uuids():
            inventory = tree.data(uuid).inventory
            inventory[cloud.foo] = {"total": 10}
            tree.update_inventory(uuid, inventory)
        for body in allocations.values():
            for part in body["allocations"].values():
                part["resources"][cloud.foo] = 1

    others = outsider.allocations(cloud.other)
    before = outsider.allocations(cloud.i1)
    cycle(add_foo)
    assert outsider.totals(cloud.numa1) == {
        "VCPU": 8,
        cloud.pcpu: 8,
        "SRIOV_NET_VF": 4,
        cloud.foo: 10,
    }
    assert outsider.allocations(cloud.i1) == {
        uuid: {**resources, cloud.foo: 1} for uuid, resources in before.items()
    }
    assert outsider.allocations(cloud.other) == others


def collapsed(cloud, move_allocations=True):
    """Edits everything of the NUMA nodes onto cn and removes them."""

    def edit(tree, allocations):
        total = tree.data(cloud.cn).inventory
        for numa in (cloud.numa1, cloud.numa2):
            for name, record in tree.data(numa).inventory.items():
                mine = total.setdefault(name, {**record, "total": 0, "max_unit": 0})
                mine["total"] += record["total"]
                mine["max_unit"] = mine["total"]
            tree.remove(numa)
        tree.update_inventory(cloud.cn, total)
        tree.update_traits(cloud.cn, ["HW_CPU_X86_AVX"])
        for body in allocations.values() if move_allocations else ():
            parts = body["allocations"]
            for numa in (cloud.numa1, cloud.numa2):
                for name, amount in parts.pop(numa, {"resources": {}})["resources"].items():
                    held = parts.setdefault(cloud.cn, {"resources": {}})["resources"]
                    held[name] = held.get(name, 0) + amount

    return edit


def test_c18_a_collapse_that_forgets_the_allocations_fails_and_changes_nothing(
    cycle, cloud, outsider, placement_adapter
):
    before = outsider.allocations(cloud.i1)
    with pytest.raises(
        exceptions.ReshapeFailed, match=r"placement\.(inventory|resource_provider)\.inuse"
    ):
        cycle(collapsed(cloud, move_allocations=False))
    assert outsider.allocations(cloud.i1) == before
    assert outsider.totals(cloud.numa1) == {"VCPU": 8, cloud.pcpu: 8, "SRIOV_NET_VF": 4}
    assert not [sent for sent in placement_adapter.requests if sent[0] == "DELETE"]


def test_c18_a_tree_collapses_onto_its_root_and_expands_again(
    cycle, cloud, outsider, client, context, placement_adapter
):
    original = {consumer: outsider.allocations(consumer) for consumer in (cloud.i1, cloud.i2)}
    tree = client.get_provider_tree_and_ensure_root(context, cloud.cn)
    cycle(collapsed(cloud))
    assert not outsider.exists(cloud.numa1)
    assert not outsider.exists(cloud.numa2)
    assert outsider.totals(cloud.cn) == {
        "MEMORY_MB": 2048,
        "SRIOV_NET_VF": 10,
        "VCPU": 16,
        cloud.pcpu: 16,
    }
    assert outsider.traits(cloud.cn) == {"HW_CPU_X86_AVX"}
    assert outsider.allocations(cloud.i1) == {
        cloud.cn: {"MEMORY_MB": 512, "SRIOV_NET_VF": 1, "VCPU": 2, cloud.pcpu: 2},
        cloud.ssp: {"DISK_GB": 100},
    }
    assert client.cache.tree.get_provider_uuids(cloud.cn) == [cloud.cn]

    def expand(new_tree, allocations):
        for uuid in (cloud.cn, cloud.numa1, cloud.numa2):
            was = tree.data(uuid)
            if uuid != cloud.cn:
                new_tree.new_child(was.name, cloud.cn, uuid)
            new_tree.update_inventory(uuid, was.inventory)
            new_tree.update_traits(uuid, was.traits)
        for consumer, parts in original.items():
            allocations[consumer]["allocations"] = {
                uuid: {"resources": copy.deepcopy(resources)} for uuid, resources in parts.items()
            }

    cycle(expand)
    assert original == {uuid: outsider.allocations(uuid) for uuid in (cloud.i1, cloud.i2)}
    assert outsider.totals(cloud.numa2) == {"VCPU": 8, cloud.pcpu: 8, "SRIOV_NET_VF": 4}
    assert outsider.traits(cloud.cn) == set()
    assert outsider.traits(cloud.numa2) == {"CUSTOM_NUMA_2"}
    placement_adapter.requests.clear()
    client.update_from_provider_tree(
        context, client.get_provider_tree_and_ensure_root(context, cloud.cn)
    )
    assert placement_adapter.requests == []


@pytest.mark.one_by_one
def test_requests_of_a_reshape_are_those_of_the_worked_trace(
    client, context, outsider, placement_adapter
):
    custom = f"CUSTOM_{uuid4().hex.upper()}"
    aggregate = str(uuid4())
    outsider.provider(traits=[SHARES], aggregates=[aggregate])
    cn = outsider.provider(inventory={custom: {"total": 1}}, aggregates=[aggregate])
    c1 = outsider.provider(parent=cn)
    tree = client.get_provider_tree_and_ensure_root(context, cn)
    tree.remove(c1)
    c2 = tree.new_child(f"c2-{cn}", cn)
    tree.update_inventory(cn, {})
    tree.update_inventory(c2, {"VGPU": {"total": 1}})
    tree.add_traits(c2, "HW_CPU_X86_AVX")
    placement_adapter.requests.clear()
    client.update_from_provider_tree(context, tree, allocations={})
    assert placement_adapter.requests == [
        ("GET", f"/resource_providers?in_tree={c2}", "1.14"),
        ("POST", "/resource_providers", "1.20"),
        RESHAPER,
        *(
            ("GET", f"/resource_providers/{uuid}/inventories", None)
            for uuid in tree.get_provider_uuids()
        ),
        ("DELETE", f"/resource_providers/{c1}", None),
        ("GET", "/traits?name=in:HW_CPU_X86_AVX", "1.6"),
        ("PUT", f"/resource_providers/{c2}/traits", "1.6"),
    ]


def test_a_reshape_within_a_subtree_names_only_its_providers(
    client, context, cloud, outsider, placement_adapter
):
    neighbour = str(uuid4())
    client.get_provider_tree_and_ensure_root(context, neighbour)
    generation = outsider.generation(cloud.othercn)
    subtree = client.get_provider_subtree_and_ensure_root(context, cloud.cn, with_sharing=True)
    allocations = client.get_allocations_for_provider_tree(context, cloud.name)
    collapsed(cloud)(subtree, allocations)
    client.update_from_provider_tree(context, subtree, allocations)
    assert outsider.generation(cloud.othercn) == generation
    assert client.cache.tree.exists(neighbour)
    assert outsider.exists(neighbour)
    assert outsider.allocations(cloud.i2)[cloud.ssp] == {"DISK_GB": 50}


def test_a_provider_to_be_removed_that_is_gone_already_is_left_out_of_the_reshape(
    client, context, outsider
):
    root = outsider.provider()
    child = outsider.provider(parent=root)
    tree = client.get_provider_tree_and_ensure_root(context, root)
    outsider.call("DELETE", f"/resource_providers/{child}")
    new = outsider.provider(parent=root)
    tree.remove(child)
    tree.new_child(f"name-of-{new}", root, new)
    client.update_from_provider_tree(context, tree, {})
    assert client.cache.tree.get_provider_uuids() == [root, new]


# C19, C20


def test_c19_an_allocation_written_meanwhile_is_a_conflict_and_a_fresh_cycle_succeeds(
    cycle, client, cloud, outsider
):
    def edit_slowly(tree, allocations):
        collapsed(cloud)(tree, allocations)
        outsider.allocate({cloud.numa1: {"VCPU": 1}})

    with pytest.raises(exceptions.PlacementReshapeConflict) as conflict:
        cycle(edit_slowly)
    assert isinstance(conflict.value, exceptions.ReshapeFailed)
    assert client.cache.tree.get_provider_uuids() == []
    assert client.cache.read_at == {}
    assert outsider.exists(cloud.numa1)
    cycle(collapsed(cloud))
    assert not outsider.exists(cloud.numa1)


def test_a_consumer_changed_meanwhile_is_a_conflict(cycle, cloud, outsider):
    def edit_slowly(tree, allocations):
        allocations[cloud.i1]["consumer_generation"] += 1

    with pytest.raises(exceptions.PlacementReshapeConflict):
        cycle(edit_slowly)


@pytest.mark.one_by_one
@pytest.mark.parametrize("failure", ["500", "connection", "class"])
def test_c20_a_reshape_that_fails_deletes_nothing_and_keeps_the_cache(
    cycle, client, cloud, outsider, placement_adapter, failure
):
    def fail(method, url):
        if failure == "500" and url == "/reshaper":
            return answered(500, "out of order")
        if failure == "connection" and url == "/reshaper":
            raise ksa_exc.ConnectFailure("gone")
        if failure == "class" and url.startswith("/resource_classes"):
            return answered(403, "no new classes today")
        return None

    new = str(uuid4())

    def edit_and_add(tree, allocations):
        collapsed(cloud)(tree, allocations)
        tree.new_child(f"new-{new}", cloud.cn, new)

    placement_adapter.before = fail
    with pytest.raises(exceptions.ReshapeFailed) as failed:
        cycle(edit_and_add)
    assert not isinstance(failed.value, exceptions.PlacementReshapeConflict)
    assert not [sent for sent in placement_adapter.requests if sent[0] == "DELETE"]
    assert client.cache.tree.exists(cloud.numa1)
    assert outsider.totals(new) == {}


def test_a_caller_without_the_service_role_fails_to_reshape(
    cycle, cloud, placement_adapter, outsider
):
    placement_adapter.additional_headers["x-roles"] = "admin"
    with pytest.raises(exceptions.ReshapeFailed):
        cycle(collapsed(cloud))
    assert outsider.exists(cloud.numa1)


def test_children_left_by_a_crash_before_the_reshape_are_reused(cycle, cloud, outsider):
    child = outsider.provider(f"{cloud.name}-left", parent=cloud.cn)

    def edit(tree, allocations):
        assert tree.data(f"{cloud.name}-left").uuid == child
        tree.update_inventory(child, tree.data(cloud.numa1).inventory)
        tree.remove(cloud.numa1)
        parts = allocations[cloud.i1]["allocations"]
        parts[child] = {"resources": parts.pop(cloud.numa1)["resources"]}

    cycle(edit)
    assert outsider.allocations(cloud.i1)[child] == {"VCPU": 2, cloud.pcpu: 2}
    assert not outsider.exists(cloud.numa1)
