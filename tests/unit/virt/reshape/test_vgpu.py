import copy
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compute import exceptions
from compute.provider_tree import ProviderTree
from tests.unit.virt.consumers import body, resources, totals, uuid
from virt.inventory import record
from virt.reshape.vgpu import pgpu_name, remove_other_pgpus, update_pgpus

NODE = "compute1"
ROOT, ELSEWHERE = uuid(1000), uuid(2000)
DEVICES = ["pci_0000_84_00_0", "pci_0000_85_00_0", "pci_0000_86_00_0"]
ONE_EACH = {device: record(1) for device in DEVICES}
SERVER = {"DISK_GB": 20, "MEMORY_MB": 2048, "VCPU": 2}
ROOT_INVENTORY = {"VCPU": record(8), "MEMORY_MB": record(8192), "DISK_GB": record(100)}


@pytest.fixture
def tree():
    return tree_with(ROOT_INVENTORY | {"VGPU": record(3)})


def tree_with(root_inventory):
    tree = ProviderTree()
    tree.new_root(NODE, ROOT)
    tree.update_inventory(ROOT, root_inventory)
    return tree


def child(tree, device):
    return tree.data(pgpu_name(NODE, device))


def update(tree, mdevs=None, allocations=None, inventories=ONE_EACH, **options):
    return update_pgpus(
        tree,
        NODE,
        inventories,
        lambda consumer: (mdevs or {}).get(consumer, {}),
        allocations,
        **options,
    )


def test_vgpu_on_the_root_moves_to_the_children_its_guests_really_use(tree):
    allocations = {uuid(n): body({ROOT: SERVER | {"VGPU": 1}}) for n in (1, 2)}
    mdevs = {uuid(1): {DEVICES[0]: 1}, uuid(2): {DEVICES[2]: 1}}

    with pytest.raises(exceptions.ReshapeNeeded):
        update(tree, mdevs)
    update(tree, mdevs, allocations)

    assert tree.data(NODE).inventory == ROOT_INVENTORY
    assert [child(tree, device).inventory for device in DEVICES] == [{"VGPU": record(1)}] * 3
    assert resources(allocations) == {
        uuid(1): {ROOT: SERVER, child(tree, DEVICES[0]).uuid: {"VGPU": 1}},
        uuid(2): {ROOT: SERVER, child(tree, DEVICES[2]).uuid: {"VGPU": 1}},
    }


def test_the_children_are_in_the_tree_when_the_reshape_is_asked_for_and_are_kept(tree):
    with pytest.raises(exceptions.ReshapeNeeded):
        update(tree)
    first_pass = [child(tree, device).uuid for device in DEVICES]

    update(tree, allocations={})

    assert [child(tree, device).uuid for device in DEVICES] == first_pass


def test_the_providers_are_named_after_the_node_and_the_device(tree):
    found = update(tree, allocations={})

    assert {device: data.name for device, data in found.items()} == {
        device: f"compute1_{device}" for device in DEVICES
    }


def test_without_vgpu_on_the_root_no_reshape_is_needed():
    tree = tree_with(ROOT_INVENTORY)

    update(tree)

    assert child(tree, DEVICES[0]).inventory == {"VGPU": record(1)}


def test_without_devices_nothing_is_done(tree):
    assert update(tree, inventories={}) == {}
    assert tree.data(NODE).inventory == ROOT_INVENTORY | {"VGPU": record(3)}


def test_a_device_with_nothing_to_give_has_no_child():
    tree = tree_with(ROOT_INVENTORY)
    update(tree)

    found = update(tree, inventories=ONE_EACH | {DEVICES[1]: record(0)})

    assert DEVICES[1] not in found
    assert not tree.exists(pgpu_name(NODE, DEVICES[1]))


def test_a_guest_with_devices_of_two_cards_gets_a_record_for_each(tree):
    allocations = {uuid(1): body({ROOT: {"VGPU": 3}})}
    inventories = {device: record(4) for device in DEVICES}

    update(tree, {uuid(1): {DEVICES[0]: 1, DEVICES[1]: 2}}, allocations, inventories)

    assert resources(allocations)[uuid(1)] == {
        child(tree, DEVICES[0]).uuid: {"VGPU": 1},
        child(tree, DEVICES[1]).uuid: {"VGPU": 2},
    }


def test_a_guest_holding_only_vgpu_has_no_empty_record_left_on_the_root(tree):
    allocations = {uuid(1): body({ROOT: {"VGPU": 1}})}

    update(tree, {uuid(1): {DEVICES[0]: 1}}, allocations)

    assert ROOT not in allocations[uuid(1)]["allocations"]


def test_what_a_guest_really_has_wins_over_what_it_has_allocated(tree, caplog):
    allocations = {uuid(1): body({ROOT: {"VGPU": 2}})}

    with caplog.at_level(logging.WARNING):
        update(tree, {uuid(1): {DEVICES[0]: 1}}, allocations)

    assert resources(allocations)[uuid(1)] == {child(tree, DEVICES[0]).uuid: {"VGPU": 1}}
    assert "allocated 2 VGPU but has 1 mediated devices" in caplog.text


def test_a_configured_class_takes_the_place_of_vgpu(tree):
    allocations = {uuid(1): body({ROOT: {"VGPU": 1}})}
    classes = {DEVICES[0]: "CUSTOM_NVIDIA_11"}

    update(tree, {uuid(1): {DEVICES[0]: 1}}, allocations, resource_classes=classes)

    assert child(tree, DEVICES[0]).inventory == {"CUSTOM_NVIDIA_11": record(1)}
    assert resources(allocations)[uuid(1)] == {
        child(tree, DEVICES[0]).uuid: {"CUSTOM_NVIDIA_11": 1}
    }


@pytest.mark.parametrize(
    ("mdevs", "reason"),
    [({}, "no mediated device"), ({"pci_gone": 1}, "has devices of pci_gone, which can't")],
)
def test_a_consumer_without_devices_here_fails_the_reshape(tree, mdevs, reason):
    allocations = {uuid(n): body({ROOT: SERVER | {"VGPU": 1}}) for n in (1, 2)}
    before = copy.deepcopy(allocations)

    with pytest.raises(exceptions.ReshapeFailed, match=reason):
        update(tree, {uuid(1): {DEVICES[0]: 1}, uuid(2): mdevs}, allocations)

    assert allocations == before


def test_vgpu_allocated_on_a_card_already_fails_the_reshape(tree):
    other = tree.new_child(pgpu_name(NODE, DEVICES[1]), NODE)
    allocations = {uuid(1): body({other: {"VGPU": 1}})}

    with pytest.raises(exceptions.ReshapeFailed, match="unexpected VGPU allocation on provider"):
        update(tree, {uuid(1): {DEVICES[0]: 1}}, allocations)


@pytest.mark.parametrize("name", ["somebody", pgpu_name(NODE, "pci_0000_99_00_0")])
def test_vgpu_of_another_service_below_the_node_is_left_alone(tree, name):
    other = tree.new_child(name, NODE)
    tree.update_inventory(other, {"VGPU": record(9)})
    tree.add_traits(other, "OWNER_CYBORG")
    allocations = {uuid(1): body({ROOT: {"VGPU": 1}, other: {"VGPU": 2}})}

    update(tree, {uuid(1): {DEVICES[0]: 1}}, allocations)
    remove_other_pgpus(tree, NODE, DEVICES, allocations)

    assert tree.data(other).inventory == {"VGPU": record(9)}
    assert resources(allocations)[uuid(1)] == {
        other: {"VGPU": 2},
        child(tree, DEVICES[0]).uuid: {"VGPU": 1},
    }


def test_a_name_that_another_service_has_taken_is_an_error_that_says_so(tree):
    tree.new_child(pgpu_name(NODE, DEVICES[1]), NODE)
    tree.add_traits(pgpu_name(NODE, DEVICES[1]), "OWNER_CYBORG")

    with pytest.raises(exceptions.InvalidConfiguration, match=r"another service's.*OWNER_CYBORG"):
        update(tree)


def test_vgpu_allocated_on_another_host_is_left_alone(tree):
    allocations = {uuid(1): body({ROOT: {"VGPU": 1}, ELSEWHERE: {"VGPU": 1}})}

    update(tree, {uuid(1): {DEVICES[0]: 1}}, allocations)

    assert resources(allocations)[uuid(1)] == {
        ELSEWHERE: {"VGPU": 1},
        child(tree, DEVICES[0]).uuid: {"VGPU": 1},
    }


@given(
    st.lists(st.dictionaries(st.sampled_from(DEVICES), st.integers(1, 4), min_size=1), max_size=5)
)
def test_totals_are_kept_and_a_second_call_changes_nothing(guests):
    tree = tree_with(ROOT_INVENTORY | {"VGPU": record(60)})
    inventories = {device: record(20) for device in DEVICES}
    mdevs = {uuid(n): counts for n, counts in enumerate(guests)}
    allocations = {
        consumer: body({ROOT: SERVER | {"VGPU": sum(counts.values())}})
        for consumer, counts in mdevs.items()
    }
    before = totals(allocations)

    update(tree, mdevs, allocations, inventories)
    after = copy.deepcopy(allocations)
    update(tree, mdevs, allocations, inventories)
    update(tree, mdevs, None, inventories)

    assert totals(allocations) == before
    assert allocations == after
