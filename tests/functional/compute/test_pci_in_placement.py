"""PCI devices in placement, through tracker, client and service (compute.md §6.11)."""

import json
from functools import partial

import pytest

from compute import exceptions
from compute.records.instance import Instance
from compute.service.manager import DriverInitFailed
from tests.unit.virt.host.machines import two_sockets
from tests.unit.virt.node.hosts import KnownHost, network_card
from virt.host.driver import HostDriver
from virt.libvirt import LibvirtDriver
from virt.pci_device import PciDevice

GPUS = [PciDevice(f"0000:8{n}:00.0", "10de", "1db6", 0) for n in (4, 5)]
CLASS = "CUSTOM_GPU"


@pytest.fixture
def known(host):
    return KnownHost(hostname=host.name, pci_devices=GPUS)


@pytest.fixture
def start(host, known):
    def start(*specs, on=True):
        host.conf.set_override("report_in_placement", on, "pci")
        host.conf.set_override("device_spec", [json.dumps(spec) for spec in specs], "pci")
        host.start(partial(LibvirtDriver, host_info=known))
        return host

    return start


SPEC = {"vendor_id": "10de", "resource_class": "gpu", "traits": "fast"}


def devices_of(outsider, host):
    """address → uuid of the provider"""
    found = outsider.call("GET", f"/resource_providers?in_tree={host.uuid}")
    return {
        row["name"].removeprefix(f"{host.name}_").lower(): row["uuid"]
        for row in found["resource_providers"]
        if row["uuid"] != host.uuid
    }


def test_each_device_is_a_child_of_the_root(host, start, outsider):
    start(SPEC)
    found = devices_of(outsider, host)
    assert set(found) == {device.address for device in GPUS}
    for uuid in found.values():
        assert outsider.totals(uuid) == {CLASS: 1}
        assert outsider.traits(uuid) == {"CUSTOM_FAST", "COMPUTE_MANAGED_PCI_DEVICE", "OWNER_NOVA"}
    sent = len(host.adapter.writes)
    assert (host.update().failures, host.adapter.writes[sent:]) == ({}, [])


def test_devices_of_an_instance_are_allocated_at_any_update(host, start, outsider):
    start(SPEC)
    instance = Instance(host=host.name, node=host.name, pci_devices=[{"address": GPUS[1].address}])
    host.cell.instances.create(instance)
    outsider.allocate({host.uuid: {"VCPU": 1}}, instance.uuid)
    assert host.update().failures == {}
    device = devices_of(outsider, host)[GPUS[1].address]
    assert outsider.allocations(instance.uuid) == {host.uuid: {"VCPU": 1}, device: {CLASS: 1}}
    sent = len(host.adapter.writes)
    assert (host.update().failures, host.adapter.writes[sent:]) == ({}, [])


def test_a_device_for_one_use_is_nobodys_until_somebody_frees_it(host, start, outsider):
    spec = {**SPEC, "one_time_use": "yes"}
    start(spec)
    device = devices_of(outsider, host)[GPUS[1].address]
    assert "HW_PCI_ONE_TIME_USE" in outsider.traits(device)
    guest = outsider.allocate({host.uuid: {"VCPU": 1}, device: {CLASS: 1}})
    assert host.update().failures == {}
    assert outsider.inventory(device)[CLASS]["reserved"] == 1
    outsider.allocate({host.uuid: {"VCPU": 2}, device: {CLASS: 1}}, guest)
    outsider.call("DELETE", f"/allocations/{guest}")
    start(spec)
    inventory = outsider.inventory(device)
    assert inventory[CLASS]["reserved"] == 1
    outsider.set_inventory(device, {CLASS: inventory[CLASS] | {"reserved": 0}})
    start(spec)
    assert outsider.inventory(device)[CLASS]["reserved"] == 0
    assert host.update().failures == {}


@pytest.mark.parametrize("way", ["whole", pytest.param("one by one", marks=pytest.mark.one_by_one)])
def test_a_device_that_was_given_back_is_reserved_at_its_next_guest_while_the_agent_runs(
    host, start, outsider, way
):
    start({**SPEC, "one_time_use": "yes"})
    device = devices_of(outsider, host)[GPUS[1].address]
    first = outsider.allocate({host.uuid: {"VCPU": 1}, device: {CLASS: 1}})
    host.update()
    outsider.call("DELETE", f"/allocations/{first}")
    host.update()
    inventory = outsider.inventory(device)[CLASS]
    outsider.set_inventory(device, {CLASS: inventory | {"reserved": 0}})
    assert host.update().failures == {}
    assert outsider.inventory(device)[CLASS]["reserved"] == 0
    outsider.allocate({host.uuid: {"VCPU": 1}, device: {CLASS: 1}})
    assert host.update().failures == {}
    assert outsider.inventory(device)[CLASS]["reserved"] == 1


def test_a_guest_of_a_device_for_one_use_takes_part_in_a_reshape(host, start, outsider):
    spec = {**SPEC, "one_time_use": "yes"}
    start(spec)
    device = devices_of(outsider, host)[GPUS[1].address]
    guest = outsider.allocate({host.uuid: {"VCPU": 1}, device: {CLASS: 1}})
    host.update()
    host.conf.set_override("numa_in_placement", True, "berth")
    start(spec)
    assert host.moves() == 1
    held = outsider.allocations(guest)
    assert (host.uuid in held, held[device]) == (False, {CLASS: 1})
    assert outsider.inventory(device)[CLASS]["reserved"] == 1


def test_an_instance_whose_device_is_for_one_use_gets_its_allocation_then_the_reservation(
    host, start, outsider
):
    start({**SPEC, "one_time_use": "yes"})
    instance = Instance(host=host.name, node=host.name, pci_devices=[{"address": GPUS[1].address}])
    host.cell.instances.create(instance)
    outsider.allocate({host.uuid: {"VCPU": 1}}, instance.uuid)
    failures = [host.update().failures, host.update().failures]
    device = devices_of(outsider, host)[GPUS[1].address]
    assert failures == [{}, {}]
    assert outsider.allocations(instance.uuid)[device] == {CLASS: 1}
    assert outsider.inventory(device)[CLASS]["reserved"] == 1


@pytest.mark.parametrize("says", ["y", "T", 1, True])
def test_however_one_use_is_said_the_device_is_not_given_to_the_next_guest(
    host, start, outsider, says
):
    start({**SPEC, "one_time_use": says})
    device = devices_of(outsider, host)[GPUS[1].address]
    guest = outsider.allocate({host.uuid: {"VCPU": 1}, device: {CLASS: 1}})
    assert host.update().failures == {}
    outsider.call("DELETE", f"/allocations/{guest}")
    assert host.update().failures == {}
    assert outsider.inventory(device)[CLASS]["reserved"] == 1


def test_a_tag_that_cannot_be_read_ends_the_start(start):
    with pytest.raises(DriverInitFailed, match="managed is neither true nor false"):
        start({**SPEC, "managed": "maybe"})


def test_a_card_is_given_whole_or_by_its_functions_also_with_wildcards(
    host, start, known, outsider
):
    card = "0000:90:00.0"
    known.change(pci_devices=network_card("ens1", 0x90, 2))
    start({"address": "*:90:00.*", "resource_class": "card"})
    found = devices_of(outsider, host)
    assert {address: outsider.totals(uuid) for address, uuid in found.items()} == {
        card: {"CUSTOM_CARD": 1}
    }


def test_one_use_without_placement_ends_the_start(start):
    with pytest.raises(exceptions.PlacementPciException, match="one_time_use"):
        start({**SPEC, "one_time_use": "yes"}, on=False)


def test_devices_of_a_machine_without_a_hypervisor_are_children_too(host, outsider, tmp_path):
    machine = two_sockets(tmp_path / "machine")
    machine.add_pci_device("0000:84:00.0", vendor="0x10de", product="0x1db6")
    for group, name, value in (
        ("berth", "sysfs_root", str(machine.sysfs)),
        ("berth", "procfs_root", str(machine.procfs)),
        ("pci", "device_spec", [json.dumps(SPEC)]),
        ("pci", "report_in_placement", True),
    ):
        host.conf.set_override(name, value, group)
    host.start(HostDriver)
    device = devices_of(outsider, host)["0000:84:00.0"]
    assert outsider.totals(device) == {CLASS: 1}


def test_a_device_that_vanished_stays_while_it_is_allocated(host, start, outsider, known):
    start(SPEC)
    device = devices_of(outsider, host)[GPUS[1].address]
    consumer = outsider.allocate({device: {CLASS: 1}})
    known.change(pci_devices=GPUS[:1])
    assert host.update().failures == {}
    assert outsider.totals(device) == {CLASS: 1}
    outsider.call("DELETE", f"/allocations/{consumer}")
    assert host.update().failures == {}
    assert not outsider.exists(device)


def test_another_class_for_a_device_in_use_is_refused_by_name(host, start, outsider):
    start(SPEC)
    outsider.allocate({devices_of(outsider, host)[GPUS[1].address]: {CLASS: 1}})
    with pytest.raises(exceptions.PlacementPciException, match=CLASS):
        start({**SPEC, "resource_class": "other"})


def test_switched_off_later_it_ends_the_start(start):
    start(SPEC)
    with pytest.raises(exceptions.PlacementPciException, match="report_in_placement"):
        start(SPEC, on=False)


def test_devices_named_by_their_interface_end_the_start(start):
    with pytest.raises(exceptions.PlacementPciException, match="devname"):
        start({"devname": "ens1"})
