import pytest

from compute import exceptions
from tests.unit.virt.conftest import ROOT_UUID
from tests.unit.virt.consumers import body, resources, totals, uuid
from virt import fake
from virt.inventory import record
from virt.sriov import PhysicalFunction

MEDIUM = {
    "VCPU": record(10, 0, 4.0),
    "MEMORY_MB": record(8192, 512, 1.0),
    "DISK_GB": record(1028, 0, 1.0),
}
HELD = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 20}


@pytest.fixture
def reshape(virtapi, conf, tree):
    """Start a driver in its new form on a host known in its old one: ask, then reshape."""

    def run(old, new, allocations):
        old.update_provider_tree(tree, "host1")
        with pytest.raises(exceptions.ReshapeNeeded):
            new.update_provider_tree(tree, "host1")
        new.update_provider_tree(tree, "host1", allocations=allocations)
        # From now on it is business as usual.
        new.update_provider_tree(tree, "host1")

    return run


def test_vgpu_moves_to_the_physical_gpus(virtapi, conf, tree, reshape):
    allocations = {uuid(n): body({ROOT_UUID: HELD | {"VGPU": 1}}) for n in (1, 2)}
    mdevs = {uuid(1): {"pci_0000_84_00_0": 1}, uuid(2): {"pci_0000_85_00_0": 1}}
    old = fake.FakeReshapeVGPUDriver(virtapi, conf, nested=False)
    new = fake.FakeReshapeVGPUDriver(virtapi, conf, mdevs=mdevs)

    reshape(old, new, allocations)

    gpus = [f"host1_pci_0000_{slot}_00_0" for slot in (84, 85, 86)]
    assert tree.data("host1").inventory == MEDIUM
    assert [tree.data(gpu).inventory for gpu in gpus] == [{"VGPU": record(1)}] * 3
    assert resources(allocations) == {
        uuid(1): {ROOT_UUID: HELD, tree.data(gpus[0]).uuid: {"VGPU": 1}},
        uuid(2): {ROOT_UUID: HELD, tree.data(gpus[1]).uuid: {"VGPU": 1}},
    }


def test_a_guest_the_hypervisor_gave_no_vgpu_fails_the_reshape(virtapi, conf, reshape):
    old = fake.FakeReshapeVGPUDriver(virtapi, conf, nested=False)
    new = fake.FakeReshapeVGPUDriver(virtapi, conf)

    with pytest.raises(exceptions.ReshapeFailed):
        reshape(old, new, {uuid(1): body({ROOT_UUID: {"VGPU": 1}})})


def test_numa_cells_take_processors_and_memory(virtapi, conf, tree, reshape):
    allocations = {uuid(1): body({ROOT_UUID: HELD})}

    reshape(
        fake.FakeNUMAReshapeDriver(virtapi, conf, modelled=False),
        fake.FakeNUMAReshapeDriver(virtapi, conf),
        allocations,
    )

    assert tree.data("host1").inventory == {"DISK_GB": MEDIUM["DISK_GB"]}
    assert [tree.data(f"host1_numa{cell}").inventory for cell in (0, 1)] == [
        {"VCPU": record(5, 0, 4.0), "MEMORY_MB": record(4096, 256, 1.0)}
    ] * 2
    assert resources(allocations)[uuid(1)] == {
        ROOT_UUID: {"DISK_GB": 20},
        tree.data("host1_numa0").uuid: {"VCPU": 2, "MEMORY_MB": 1024},
    }


def test_virtual_functions_move_to_the_cards_below_the_cells(virtapi, conf, tree, reshape):
    cards = [
        PhysicalFunction("ens1", "net0", range(2), 0),
        PhysicalFunction("ens2", "net1", range(4), 1),
    ]
    allocations = {
        uuid(1): body({ROOT_UUID: HELD | {"SRIOV_NET_VF": 1}}),
        uuid(2): body({ROOT_UUID: HELD | {"SRIOV_NET_VF": 2}}),
    }
    places = {
        uuid(2): {1: {"VCPU": 2, "MEMORY_MB": 1024}, "ens2": {"SRIOV_NET_VF": 2}},
    }

    reshape(
        fake.FakeNUMAReshapeDriver(virtapi, conf, modelled=False, physical_functions=cards),
        fake.FakeNUMAReshapeDriver(virtapi, conf, physical_functions=cards, guest_places=places),
        allocations,
    )

    card = tree.data("host1_ens2")
    assert card.parent_uuid == tree.data("host1_numa1").uuid
    assert (card.inventory, card.traits) == ({"SRIOV_NET_VF": record(4)}, {"CUSTOM_PHYSNET_NET1"})
    assert resources(allocations) == {
        uuid(1): {
            ROOT_UUID: {"DISK_GB": 20},
            tree.data("host1_numa0").uuid: {"VCPU": 2, "MEMORY_MB": 1024},
            tree.data("host1_ens1").uuid: {"SRIOV_NET_VF": 1},
        },
        uuid(2): {
            ROOT_UUID: {"DISK_GB": 20},
            tree.data("host1_numa1").uuid: {"VCPU": 2, "MEMORY_MB": 1024},
            card.uuid: {"SRIOV_NET_VF": 2},
        },
    }


def test_a_modelled_host_collapses_again(virtapi, conf, tree, reshape):
    cards = [PhysicalFunction("ens1", "net0", range(2), 0)]
    flat, modelled = (
        fake.FakeNUMAReshapeDriver(virtapi, conf, modelled=new, physical_functions=cards)
        for new in (False, True)
    )
    allocations = {uuid(1): body({ROOT_UUID: HELD | {"SRIOV_NET_VF": 1}})}
    before = totals(allocations)
    reshape(flat, modelled, allocations)

    with pytest.raises(exceptions.ReshapeNeeded):
        flat.update_provider_tree(tree, "host1")
    flat.update_provider_tree(tree, "host1", allocations=allocations)

    assert tree.get_provider_uuids() == [ROOT_UUID]
    assert tree.data("host1").inventory == MEDIUM | {"SRIOV_NET_VF": record(2)}
    assert resources(allocations) == {uuid(1): {ROOT_UUID: before[uuid(1)]}}


def test_a_resource_class_gets_its_new_name(virtapi, conf, tree, reshape):
    allocations = {uuid(1): body({ROOT_UUID: HELD | {"CUSTOM_FPGA": 2}})}

    reshape(
        fake.FakeRCRenameDriver(virtapi, conf, renamed=False),
        fake.FakeRCRenameDriver(virtapi, conf),
        allocations,
    )

    assert tree.data("host1").inventory == MEDIUM | {"FPGA": record(4)}
    assert resources(allocations) == {uuid(1): {ROOT_UUID: HELD | {"FPGA": 2}}}


def test_disk_moves_to_the_pool_hosts_share(virtapi, conf, tree, reshape):
    old = fake.FakeSharedStorageDriver(virtapi, conf, shared=False)
    new = fake.FakeSharedStorageDriver(virtapi, conf)
    tree.add_aggregates("host1", "an-aggregate-of-the-operator")
    allocations = {uuid(1): body({ROOT_UUID: HELD})}

    reshape(old, new, allocations)

    pool = tree.data("ssp")
    assert (pool.uuid, pool.parent_uuid) == (new.pool_uuid, None)
    assert pool.inventory == {"DISK_GB": record(500)}
    assert pool.traits == {"MISC_SHARES_VIA_AGGREGATE", "STORAGE_DISK_SSD"}
    assert pool.aggregates == {new.aggregate_uuid}
    assert tree.data("host1").aggregates == {"an-aggregate-of-the-operator", new.aggregate_uuid}
    assert "DISK_GB" not in tree.data("host1").inventory
    assert resources(allocations)[uuid(1)] == {
        ROOT_UUID: {"VCPU": 2, "MEMORY_MB": 1024},
        pool.uuid: {"DISK_GB": 20},
    }


def test_a_pool_another_host_reported_is_joined_and_its_guests_stay(virtapi, conf, tree, reshape):
    old = fake.FakeSharedStorageDriver(virtapi, conf, shared=False)
    new = fake.FakeSharedStorageDriver(virtapi, conf)
    tree.new_root("ssp", new.pool_uuid)
    tree.add_traits("ssp", "CUSTOM_OF_THE_OPERATOR")
    other_host = uuid(2000)
    allocations = {uuid(1): body({other_host: {"VCPU": 1}, new.pool_uuid: {"DISK_GB": 7}})}

    reshape(old, new, allocations)

    assert tree.has_traits("ssp", ["CUSTOM_OF_THE_OPERATOR", "MISC_SHARES_VIA_AGGREGATE"])
    assert resources(allocations) == {
        uuid(1): {other_host: {"VCPU": 1}, new.pool_uuid: {"DISK_GB": 7}}
    }


@pytest.mark.parametrize("allocations", [None, {}])
def test_a_bad_driver_asks_for_a_reshape_even_during_one(virtapi, conf, tree, allocations):
    with pytest.raises(exceptions.ReshapeNeeded):
        fake.FakeBadReshapeDriver(virtapi, conf).update_provider_tree(
            tree, "host1", allocations=allocations
        )


def test_a_failing_driver_asks_for_a_reshape_and_then_fails_it(virtapi, conf, tree):
    driver = fake.FakeReshapeFailDriver(virtapi, conf)

    with pytest.raises(exceptions.ReshapeNeeded):
        driver.update_provider_tree(tree, "host1")
    with pytest.raises(exceptions.ReshapeFailed, match="the fake hypervisor can't tell"):
        driver.update_provider_tree(tree, "host1", allocations={})
