"""Reshapes of a Linux machine and of a shared pool, with everybody else's things around them."""

from functools import partial
from uuid import uuid4

import pytest

from compute import exceptions
from compute.records.migration import Migration
from tests.unit.virt.host.machines import two_sockets
from virt.fake import FakeSharedStorageDriver
from virt.host.driver import HostDriver

PAGES = "CUSTOM_HUGEPAGES_2MB"
SHARES = "MISC_SHARES_VIA_AGGREGATE"


@pytest.fixture
def machine(host, tmp_path):
    """Make the host's machine: two NUMA cells, each with a card and huge pages."""
    machine = two_sockets(tmp_path / "machine")
    for cell, slot in enumerate(("84", "c4")):
        machine.add_card(f"0000:{slot}:00.0", f"ens{cell}", total=4, node=cell)
        machine.set_hugepages(1024, node=cell)
    spec = [f'{{"devname": "ens{cell}", "physical_network": "net{cell}"}}' for cell in (0, 1)]
    for group, name, value in (
        ("berth", "sysfs_root", str(machine.sysfs)),
        ("berth", "procfs_root", str(machine.procfs)),
        ("pci", "device_spec", spec),
    ):
        host.conf.set_override(name, value, group=group)
    return machine


@pytest.fixture
def neighbours(outsider):
    """Another host with a consumer, and a pool that hosts share."""
    aggregate = str(uuid4())
    other = outsider.provider(inventory={"VCPU": {"total": 8}, "MEMORY_MB": {"total": 8192}})
    pool = outsider.provider(
        inventory={"IPV4_ADDRESS": {"total": 10}}, traits=[SHARES], aggregates=[aggregate]
    )
    resident = outsider.allocate({other: {"VCPU": 2}, pool: {"IPV4_ADDRESS": 1}})
    return other, pool, aggregate, resident


def model(host, numa):
    host.conf.set_override("numa_in_placement", numa, group="berth")
    host.start(HostDriver)


def tree_of(outsider, host):
    found = outsider.call("GET", f"/resource_providers?in_tree={host.uuid}")
    return {row["name"].removeprefix(f"{host.name}_"): row for row in found["resource_providers"]}


def summed(*places):
    total = {}
    for held in places:
        for name, amount in held.items():
            total[name] = total.get(name, 0) + amount
    return total


def test_r25_a_machine_is_modelled_and_flattened_with_nothing_of_anybodys_lost(
    host, machine, outsider, neighbours
):
    other, pool, aggregate, resident = neighbours
    model(host, numa=False)
    outsider.set_aggregates(host.uuid, [aggregate])
    card = tree_of(outsider, host)["ens1"]["uuid"]
    instance = {"VCPU": 2, "MEMORY_MB": 3000, PAGES: 512}
    evacuated = {other: {"VCPU": 1}, host.uuid: {"VCPU": 1, "MEMORY_MB": 512}}
    consumers = {
        outsider.allocate(held): held
        for held in (
            {host.uuid: instance, card: {"SRIOV_NET_VF": 2}, pool: {"IPV4_ADDRESS": 1}},
            {host.uuid: {"VCPU": 3, "MEMORY_MB": 6000}},
            {host.uuid: {"VCPU": 2, "MEMORY_MB": 4000}},
            evacuated,
        )
    }
    moving = uuid4()
    migration = Migration(str(moving), status="migrating", source_compute=host.name)
    migration.source_node, migration.dest_compute = host.name, "another"
    host.cell.migrations.create(migration)
    held = {host.uuid: {"VCPU": 1, "MEMORY_MB": 1000, PAGES: 256}, card: {"SRIOV_NET_VF": 1}}
    consumers[outsider.allocate(held, migration.uuid)] = held
    model(host, numa=True)
    reshapes = [host.moves()]
    modelled = {one: outsider.allocations(one) for one in consumers}
    tree = tree_of(outsider, host)
    cards = [name for name in tree if name.startswith("ens")]
    parents = {tree[name]["parent_provider_uuid"] for name in cards}
    model(host, numa=False)
    reshapes.append(host.moves())

    assert parents == {tree["numa0"]["uuid"], tree["numa1"]["uuid"]}
    for consumer, held in consumers.items():
        there = modelled[consumer]
        assert host.uuid not in there
        assert summed(*there.values()) == summed(*held.values())
        assert {place: there.get(place) for place in (other, pool)} == {
            place: held.get(place) for place in (other, pool)
        }
    back = {one: outsider.allocations(one) for one in consumers}
    assert [back[one].get(host.uuid) for one in consumers] == [
        held[host.uuid] for held in consumers.values()
    ]
    assert outsider.allocations(resident) == {other: {"VCPU": 2}, pool: {"IPV4_ADDRESS": 1}}
    assert reshapes == [1, 1]


def test_r24_a_class_is_renamed_with_everybodys_allocations(host, machine, outsider, neighbours):
    other = neighbours[0]
    machine.add_gpu("0000:c1:00.0", {"nvidia-35": 8})
    host.conf.set_override("enabled_mdev_types", ["nvidia-35"], "devices")
    host.conf.set_override("mdev_classes", {"nvidia-35": "CUSTOM_GPU"}, "berth")
    model(host, numa=False)
    gpu = tree_of(outsider, host)["pci_0000_c1_00_0"]["uuid"]
    consumers = [
        outsider.allocate({gpu: {"CUSTOM_GPU": n}, host.uuid: {"VCPU": 1}, other: {"VCPU": 1}})
        for n in (1, 2)
    ]
    host.conf.set_override("mdev_classes", {}, "berth")
    host.conf.set_override("renamed_resource_classes", {"CUSTOM_GPU": "VGPU"}, "berth")
    model(host, numa=False)
    reshapes = [host.moves()]
    model(host, numa=False)

    assert [*reshapes, host.moves()] == [1, 0]
    assert outsider.totals(gpu) == {"VGPU": 8}
    assert [outsider.allocations(one) for one in consumers] == [
        {gpu: {"VGPU": n}, host.uuid: {"VCPU": 1}, other: {"VCPU": 1}} for n in (1, 2)
    ]


class TestVGPU:
    """R21 of compute.md §9.3, of a machine whose guests nobody knows."""

    @pytest.fixture
    def older(self, host, machine, outsider):
        model(host, numa=False)
        inventory = outsider.inventory(host.uuid)
        outsider.set_inventory(host.uuid, inventory | {"VGPU": {"total": 3}})
        machine.add_gpu("0000:c1:00.0", {"nvidia-35": 3})
        host.conf.set_override("enabled_mdev_types", ["nvidia-35"], "devices")
        return host

    def test_r21_vgpu_that_nobody_has_moves_to_the_gpu(self, older, outsider):
        consumer = outsider.allocate({older.uuid: {"VCPU": 1}})
        older.start(HostDriver)
        assert older.moves() == 1
        gpu = tree_of(outsider, older)["pci_0000_c1_00_0"]["uuid"]
        assert (outsider.totals(gpu), "VGPU" in outsider.totals(older.uuid)) == ({"VGPU": 3}, False)
        assert outsider.allocations(consumer) == {older.uuid: {"VCPU": 1}}

    def test_r21_who_has_some_is_named_and_ends_the_service(self, older, outsider):
        consumer = outsider.allocate({older.uuid: {"VCPU": 1, "VGPU": 1}})
        with pytest.raises(exceptions.ReshapeFailed, match=consumer):
            older.start(HostDriver)
        assert outsider.allocations(consumer) == {older.uuid: {"VCPU": 1, "VGPU": 1}}
        assert older.moves() == 0


def test_guests_follow_their_card(host, machine, outsider):
    model(host, numa=False)
    before = {name: row["uuid"] for name, row in tree_of(outsider, host).items()}
    consumers = {
        name: outsider.allocate({before[name]: {"SRIOV_NET_VF": 3}}) for name in ("ens0", "ens1")
    }
    model(host, numa=True)
    after = {row["uuid"]: name for name, row in tree_of(outsider, host).items()}
    assert {
        name: [after[place] for place in outsider.allocations(consumer)]
        for name, consumer in consumers.items()
    } == {"ens0": ["ens0_numa0"], "ens1": ["ens1_numa1"]}


def test_guests_that_fit_no_cell_end_the_service_and_nothing_moves(host, machine, outsider):
    model(host, numa=False)
    outsider.set_inventory(
        host.uuid, outsider.inventory(host.uuid) | {"MEMORY_MB": {"total": 40000}}
    )
    held = {host.uuid: {"MEMORY_MB": 30000}}
    consumer = outsider.allocate(held)
    with pytest.raises(exceptions.ReshapeFailed, match="no room for 30000 MEMORY_MB"):
        model(host, numa=True)
    assert outsider.allocations(consumer) == held


def test_a_device_that_breaks_is_an_error_of_that_update_only(host, machine, outsider):
    model(host, numa=False)
    path = machine.pci_device("0000:84:00.0") / "sriov_totalvfs"
    machine.write(path, "many")
    outcome = host.update()
    machine.write(path, "2")
    assert isinstance(outcome.failures[host.name], exceptions.InvalidConfiguration)
    assert str(path) in str(outcome.failures[host.name])
    assert host.update().failures == {}
    assert outsider.totals(tree_of(outsider, host)["ens0"]["uuid"]) == {"SRIOV_NET_VF": 2}


def test_a_card_that_vanishes_while_it_is_held_stays_until_its_guests_are_gone(
    host, machine, outsider
):
    model(host, numa=False)
    card = tree_of(outsider, host)["ens1"]["uuid"]
    consumer = outsider.allocate({card: {"SRIOV_NET_VF": 1}})
    machine.pci_device("0000:c4:00.0").rename(machine.sysfs / "pulled")
    failures = host.update().failures
    outsider.allocate({}, consumer)
    assert isinstance(failures[host.name], exceptions.ResourceProviderSyncFailed)
    assert f"{host.name}_ens1" in str(failures[host.name])
    assert host.update().failures == {}
    assert not outsider.exists(card)


def test_disk_moves_to_a_pool_where_other_hosts_guests_stay(host, outsider):
    class Pool(FakeSharedStorageDriver):
        pool_name = f"pool-of-{host.name}"

    other = outsider.provider(inventory={"VCPU": {"total": 8}})
    host.start(partial(Pool, shared=False))
    held = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 20}
    instance = outsider.allocate({host.uuid: held})
    migration = outsider.allocate({host.uuid: {"DISK_GB": 30}, other: {"VCPU": 1}})
    # Another host joined the pool before, and its guests have disk there.
    host.driver.shared = True
    pool = outsider.provider(Pool.pool_name, uuid=host.driver.pool_uuid)
    outsider.set_inventory(pool, {"DISK_GB": {"total": 500}})
    outsider.set_traits(pool, [SHARES])
    outsider.set_aggregates(pool, [host.driver.aggregate_uuid])
    outsider.set_aggregates(host.uuid, [host.driver.aggregate_uuid])
    resident = outsider.allocate({pool: {"DISK_GB": 100}, other: {"VCPU": 2}})
    host.start(Pool)
    assert host.moves() == 1
    assert outsider.allocations(instance) == {
        host.uuid: {"VCPU": 2, "MEMORY_MB": 1024},
        pool: {"DISK_GB": 20},
    }
    assert outsider.allocations(migration) == {pool: {"DISK_GB": 30}, other: {"VCPU": 1}}
    assert outsider.allocations(resident) == {pool: {"DISK_GB": 100}, other: {"VCPU": 2}}
    assert "DISK_GB" not in outsider.totals(host.uuid)
