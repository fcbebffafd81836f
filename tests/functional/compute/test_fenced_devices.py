"""What an operator fences off stays so: `reserved` and traits on the providers of devices."""

import json
import re
from functools import partial

import pytest

from compute import exceptions
from tests.unit.virt.node.hosts import GPUS, TYPE, KnownHost, network_card
from virt.libvirt import LibvirtDriver
from virt.pci_device import PciDevice

CARD = [PciDevice("0000:85:00.0", "10de", "1db6", 0)]
SPECS = [
    {"devname": "ens1", "physical_network": "physnet1"},
    {"vendor_id": "10de", "resource_class": "gpu", "traits": "fast,HW_GPU_API_VULKAN"},
]
#: last part of the provider's name → its class
DEVICES = {
    "amd_sev": "MEM_ENCRYPTION_CONTEXT",
    GPUS[0]: "VGPU",
    "ens1": "SRIOV_NET_VF",
    "0000:85:00.0": "CUSTOM_GPU",
}
FAULTY = "CUSTOM_FAULTY"


@pytest.fixture
def known(host):
    return KnownHost(
        hostname=host.name,
        creatable={GPUS[0]: {TYPE: 3, "small": 6}},
        pci_devices=[*CARD, *network_card("ens1", 0x90, 4, numa_node=1)],
        encryption_slots={"amd_sev": 9},
    )


@pytest.fixture
def start(host, known):
    def start(specs=SPECS, fails=False, **options):
        defaults = {
            "devices__enabled_mdev_types": [TYPE],
            "pci__report_in_placement": True,
            "pci__device_spec": [json.dumps(spec) for spec in specs],
        }
        for name, value in (defaults | options).items():
            group, _, option = name.rpartition("__")
            host.conf.set_override(option, value, group or None)
        host.start(partial(LibvirtDriver, host_info=known))
        assert bool(host.outcome.failures) is fails, host.outcome.failures

    return start


def devices_of(outsider, host):
    """Last part of the name → uuid."""
    found = outsider.call("GET", f"/resource_providers?in_tree={host.uuid}")
    return {
        row["name"].removeprefix(f"{host.name}_"): row["uuid"]
        for row in found["resource_providers"]
        if row["uuid"] != host.uuid
    }


def fence(outsider, uuid, name, reserved=None):
    """Reserve all of the provider, or so much, and mark it."""
    inventory = outsider.inventory(uuid)[name]
    kept = inventory["total"] if reserved is None else reserved
    outsider.set_inventory(uuid, {name: inventory | {"reserved": kept}})
    outsider.set_traits(uuid, [*outsider.traits(uuid), FAULTY])


def offered(outsider, uuid):
    """Class → what may be allocated, and whether the provider is marked."""
    inventory = outsider.inventory(uuid)
    free = {name: record["total"] - record["reserved"] for name, record in inventory.items()}
    return free, FAULTY in outsider.traits(uuid)


@pytest.mark.parametrize("device", DEVICES)
def test_a_fenced_device_is_not_offered_again_by_a_start(device, host, start, outsider):
    start()
    uuid = devices_of(outsider, host)[device]
    fence(outsider, uuid, DEVICES[device])
    start()
    assert offered(outsider, uuid) == ({DEVICES[device]: 0}, True)
    sent = len(host.adapter.writes)
    assert (host.update().failures, host.adapter.writes[sent:]) == ({}, [])


def test_a_part_that_is_kept_stays_kept(host, start, outsider):
    start()
    uuid = devices_of(outsider, host)["ens1"]
    fence(outsider, uuid, "SRIOV_NET_VF", reserved=1)
    start()
    assert offered(outsider, uuid) == ({"SRIOV_NET_VF": 3}, True)


def test_a_fenced_card_stays_so_when_it_gets_another_class_and_total(host, start, outsider):
    start()
    uuid = devices_of(outsider, host)[GPUS[0]]
    fence(outsider, uuid, "VGPU")
    start(devices__enabled_mdev_types=["small"], berth__mdev_classes={"small": "CUSTOM_SMALL"})
    assert offered(outsider, uuid) == ({"CUSTOM_SMALL": 0}, True)


def test_a_card_whose_class_is_held_does_not_get_another(host, start, outsider):
    """The message has class, provider, holder and cure, and no other provider is written."""
    start(pci__report_in_placement=False)
    uuid = devices_of(outsider, host)[GPUS[0]]
    guest = outsider.allocate({uuid: {"VGPU": 1}})
    sent = len(host.adapter.writes)
    other = {"berth__mdev_classes": {TYPE: "CUSTOM_SMALL"}, "pci__report_in_placement": False}

    start(fails=True, **other)

    failure = str(host.outcome.failures[host.name])
    assert re.search(rf"{GPUS[0]} \({uuid}\) should have CUSTOM_SMALL instead of VGPU", failure)
    assert f"VGPU of it is held by {guest}. Configure VGPU again" in failure
    assert host.adapter.writes[sent:] == []
    outsider.call("DELETE", f"/allocations/{guest}")
    start(**other)
    assert list(outsider.inventory(uuid)) == ["CUSTOM_SMALL"]


def test_a_reshape_does_not_take_a_class_from_who_holds_it(host, known, start, outsider):
    """Cells make a reshape; beside it, a card should have another class."""
    start(pci__report_in_placement=False)
    uuid = devices_of(outsider, host)[GPUS[0]]
    guest = outsider.allocate({uuid: {"VGPU": 1}, host.uuid: {"VCPU": 1}})
    before = outsider.allocations(guest)
    sent = len(host.adapter.writes)
    other = {"berth__mdev_classes": {TYPE: "CUSTOM_SMALL"}, "pci__report_in_placement": False}

    with pytest.raises(exceptions.ReshapeFailed) as failed:
        start(berth__numa_in_placement=True, **other)

    told = str(failed.value)
    assert re.search(rf"{GPUS[0]} \({uuid}\) should have CUSTOM_SMALL instead of VGPU", told)
    assert f"VGPU of it is held by {guest}. Configure VGPU again" in told
    assert outsider.allocations(guest) == before
    assert host.adapter.writes[sent:] == []


def test_a_fenced_device_that_went_is_not_offered_when_it_is_back(host, known, start, outsider):
    """Its provider is the fence; it goes once nothing is reserved any more."""
    start()
    uuids = devices_of(outsider, host)
    for device in (GPUS[0], "ens1", "0000:85:00.0"):
        fence(outsider, uuids[device], DEVICES[device])
    had = known.now.creatable, known.now.pci_devices
    known.change(creatable={}, pci_devices=[])
    start()
    known.change(creatable=had[0], pci_devices=had[1])
    start()
    for device in (GPUS[0], "ens1", "0000:85:00.0"):
        uuid = devices_of(outsider, host)[device]
        assert (device, offered(outsider, uuid)[0]) == (device, {DEVICES[device]: 0})
    known.change(creatable={}, pci_devices=[])
    for device in (GPUS[0], "ens1", "0000:85:00.0"):
        fence(outsider, uuids[device], DEVICES[device], reserved=0)
    start()
    assert set(devices_of(outsider, host)) == {"amd_sev"}


def test_a_fenced_card_stays_so_when_cells_are_modelled_and_back(host, start, outsider):
    start()
    fence(outsider, devices_of(outsider, host)["ens1"], "SRIOV_NET_VF")
    start(berth__numa_in_placement=True)
    below_cell = devices_of(outsider, host)["ens1_numa1"]
    assert offered(outsider, below_cell) == ({"SRIOV_NET_VF": 0}, True)
    start(berth__numa_in_placement=False)
    assert offered(outsider, devices_of(outsider, host)["ens1"]) == ({"SRIOV_NET_VF": 0}, True)


def test_a_trait_that_the_tags_name_no_longer_goes_and_others_stay(host, start, outsider):
    start()
    uuid = devices_of(outsider, host)["0000:85:00.0"]
    fence(outsider, uuid, "CUSTOM_GPU")
    assert outsider.traits(uuid) >= {"CUSTOM_FAST", "HW_GPU_API_VULKAN", FAULTY}
    start([SPECS[0], {**SPECS[1], "traits": "slow", "live_migratable": "yes"}])
    marks = {"CUSTOM_SLOW", FAULTY, "COMPUTE_MANAGED_PCI_DEVICE"}
    assert outsider.traits(uuid) - {"OWNER_NOVA"} == marks | {"HW_PCI_LIVE_MIGRATABLE"}
    start([SPECS[0], {**SPECS[1], "traits": None}])
    assert outsider.traits(uuid) - {"OWNER_NOVA"} == marks - {"CUSTOM_SLOW"}
