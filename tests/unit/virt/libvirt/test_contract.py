"""The libvirt driver keeps the contract, in each of its forms and through each of its reshapes."""

import json
from functools import partial

import pytest

from tests.unit.virt.consumers import uuid
from tests.unit.virt.libvirt.hosts import (
    COMPUTER,
    card_xml,
    gpu_xml,
    guest_xml,
    mdev_of_guest_xml,
    mdev_xml,
    node_xml,
)
from tests.unit.virt.libvirt.library import test_hypervisor_of as hypervisor_of
from tests.unit.virt.libvirt.older_driver import OlderDriver
from tests.unit.virt.node.hosts import (
    GPUS,
    TYPE,
    KnownHost,
    floating,
    mdev_uuid,
    mediated,
    network_card,
    pinned,
)
from virt.libvirt import LibvirtDriver
from virt.testing import DriverContract, ReshapeContract, ReshapeScenario, Scenario

NETWORK = json.dumps({"devname": "ens1", "physical_network": "physnet1"})
DEVICES = {"devices__enabled_mdev_types": [TYPE], "pci__device_spec": [NETWORK]}
HELD = {"VCPU": 2, "MEMORY_MB": 1024}


@pytest.fixture
def machine():
    """Two cells, three GPUs, a card, encrypted memory; guests as tests add them."""
    return KnownHost(
        creatable={device: {TYPE: 0} for device in GPUS},
        mediated_devices=mediated(dict(enumerate(GPUS, start=1))),
        pci_devices=tuple(network_card("ens1", 0x90, 4, numa_node=1)),
        encryption_slots={"amd_sev": 9},
    )


@pytest.fixture
def maker(make_conf, virtapi, machine):
    """Say how a driver of the machine is made."""

    def make(driver_class=LibvirtDriver, **options):
        return partial(driver_class, virtapi, make_conf(**options), machine)

    return make


class TestOneForm(DriverContract):
    @pytest.fixture(
        params=[
            {},
            DEVICES,
            {**DEVICES, "berth__numa_in_placement": True},
            {**DEVICES, "berth__numa_in_placement": True, "berth__numa_classes": "numa"},
            {"compute__cpu_shared_set": "0-3", "compute__cpu_dedicated_set": "4-7"},
        ],
        ids=["plain", "devices", "modelled", "described", "dedicated"],
    )
    def scenario(self, request, maker):
        return Scenario(maker(**request.param))


OUR_OWN = node_xml(
    guest_xml(uuid(1), "guest", devices=mdev_of_guest_xml(1)),
    COMPUTER,
    gpu_xml(0x84, 2),
    gpu_xml(0x85, 0),
    mdev_xml(1, GPUS[1]),
    card_xml("ens1", 1, 4),
)


@pytest.fixture
def on_hypervisor(libvirt, make_conf, virtapi, tmp_path):
    """Say how a driver of one of libvirt's test hypervisors is made."""

    def make(own, **options):
        uri = hypervisor_of(tmp_path, OUR_OWN) if own else "test:///default"
        conf = make_conf(
            libvirt__connection_uri=uri,
            berth__sysfs_root=str(tmp_path / "sys"),
            **DEVICES,
            **options,
        )
        return partial(LibvirtDriver, virtapi, conf)

    return make


@pytest.mark.parametrize("own", [False, True], ids=["test:///default", "test:////of-our-own.xml"])
class TestHypervisor(DriverContract):
    @pytest.fixture(params=[False, True], ids=["flat", "modelled"])
    def scenario(self, request, own, on_hypervisor):
        return Scenario(on_hypervisor(own, berth__numa_in_placement=request.param))


@pytest.mark.parametrize("own", [False, True], ids=["test:///default", "test:////of-our-own.xml"])
class TestHypervisorWithCells(ReshapeContract):
    @pytest.fixture(params=[True, False], ids=["to cells", "back to the root"])
    def scenario(self, request, own, on_hypervisor):
        new, old = (
            on_hypervisor(own, berth__numa_in_placement=numa)
            for numa in (request.param, not request.param)
        )
        return ReshapeScenario(new, old_driver=old)


class TestNUMA(ReshapeContract):
    @pytest.fixture(params=[True, False], ids=["to cells", "back to the root"])
    def scenario(self, request, maker):
        new, old = (
            maker(**DEVICES, berth__numa_in_placement=numa)
            for numa in (request.param, not request.param)
        )
        return ReshapeScenario(new, old_driver=old)


class TestVGPU(ReshapeContract):
    @pytest.fixture
    def scenario(self, maker, machine):
        machine.there = [
            floating(uuid(1), mediated_devices=[mdev_uuid(1), mdev_uuid(3)]),
            floating(uuid(2), mediated_devices=[mdev_uuid(2)]),
        ]
        return ReshapeScenario(
            maker(**DEVICES),
            old_driver=maker(partial(OlderDriver, former={"VGPU": 3})),
            held={
                uuid(1): {"host1": {**HELD, "VGPU": 2}},
                uuid(2): {"host1": {"VGPU": 1}},
                uuid(3): {"host1": HELD},
            },
        )


class TestPCPU(ReshapeContract):
    @pytest.fixture
    def scenario(self, maker, machine):
        machine.there = [pinned(uuid(1), [4, 5]), pinned(uuid(2), [6, 7])]
        return ReshapeScenario(
            maker(compute__cpu_shared_set="0-3", compute__cpu_dedicated_set="4-7"),
            old_driver=maker(),
            held={uuid(number): {"host1": HELD} for number in (1, 2)},
            renamed={"VCPU": "PCPU"},
        )


class TestMemoryEncryption(ReshapeContract):
    @pytest.fixture
    def scenario(self, maker):
        return ReshapeScenario(
            maker(),
            old_driver=maker(partial(OlderDriver, former={"MEM_ENCRYPTION_CONTEXT": 9})),
            held={
                uuid(1): {"host1": {**HELD, "MEM_ENCRYPTION_CONTEXT": 1}},
                uuid(2): {"host1": {"MEM_ENCRYPTION_CONTEXT": 1}},
            },
        )
