"""The libvirt driver keeps the contract, in each of its forms and through each of its reshapes."""

import json
from functools import partial

import pytest

from tests.unit.virt.consumers import uuid
from tests.unit.virt.contracts import assert_kept, rules_of
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
from virt.testing import (
    DeviceContract,
    DeviceScenario,
    DriverContract,
    ReshapeContract,
    ReshapeScenario,
    Scenario,
    TurnsContract,
    TurnsScenario,
)

NETWORK = json.dumps({"devname": "ens1", "physical_network": "physnet1"})
DEVICES = {"devices__enabled_mdev_types": [TYPE], "pci__device_spec": [NETWORK]}
HELD = {"VCPU": 2, "MEMORY_MB": 1024}


def new_machine():
    """Return two cells, three GPUs, a card, encrypted memory; guests as tests add them."""
    return KnownHost(
        creatable={device: {TYPE: 0} for device in GPUS},
        mediated_devices=mediated(dict(enumerate(GPUS, start=1))),
        pci_devices=tuple(network_card("ens1", 0x90, 4, numa_node=1)),
        encryption_slots={"amd_sev": 9},
        guest_traits={"COMPUTE_ARCH_X86_64": True, "COMPUTE_STORAGE_BUS_IDE": False},
    )


@pytest.fixture
def maker(make_conf, virtapi):
    """Say how a driver of a machine is made."""

    def make(machine, driver_class=LibvirtDriver, **options):
        return partial(driver_class, virtapi, make_conf(**options), machine)

    return make


FORMS = {
    "plain": {},
    "devices": DEVICES,
    "modelled": {**DEVICES, "berth__numa_in_placement": True},
    "described": {**DEVICES, "berth__numa_in_placement": True, "berth__numa_classes": "numa"},
    "dedicated": {"compute__cpu_shared_set": "0-3", "compute__cpu_dedicated_set": "4-7"},
}
#: whether the cells of a NUMA machine are modelled after the reshape
DIRECTIONS = {"to cells": True, "back to the root": False}


def without_devices():
    """Return the machine without its GPUs, its card and encrypted memory."""
    machine = new_machine()
    machine.change(creatable={}, mediated_devices=(), pci_devices=(), encryption_slots={})
    return machine


@pytest.mark.parametrize("rule", rules_of(DeviceContract))
def test_devices_that_go_and_come_back_keep_it(rule, maker):
    scenarios = {
        form: DeviceScenario(
            maker(new_machine(), **FORMS[form]), without=maker(without_devices(), **FORMS[form])
        )
        for form in ("plain", "devices", "modelled", "described")
    }
    assert_kept(DeviceContract, rule, scenarios)


@pytest.mark.parametrize("rule", rules_of(DriverContract))
def test_each_form_keeps_it(rule, maker):
    scenarios = {form: Scenario(maker(new_machine(), **options)) for form, options in FORMS.items()}
    assert_kept(DriverContract, rule, scenarios)


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


HYPERVISORS = {"test:///default": False, "test:////of-our-own.xml": True}


@pytest.mark.parametrize("rule", rules_of(DriverContract))
def test_drivers_of_hypervisors_keep_it(rule, on_hypervisor):
    scenarios = {
        f"{form}, {uri}": Scenario(on_hypervisor(own, berth__numa_in_placement=numa))
        for uri, own in HYPERVISORS.items()
        for form, numa in {"flat": False, "modelled": True}.items()
    }
    assert_kept(DriverContract, rule, scenarios)


def both_ways(make):
    """Return the scenarios of a machine whose cells get modelled, and are no longer modelled."""
    return {
        direction: ReshapeScenario(
            make(berth__numa_in_placement=numa), old_driver=make(berth__numa_in_placement=not numa)
        )
        for direction, numa in DIRECTIONS.items()
    }


@pytest.mark.parametrize("rule", rules_of(ReshapeContract))
def test_reshapes_of_hypervisors_keep_it(rule, on_hypervisor):
    scenarios = {
        f"{direction}, {uri}": scenario
        for uri, own in HYPERVISORS.items()
        for direction, scenario in both_ways(partial(on_hypervisor, own)).items()
    }
    assert_kept(ReshapeContract, rule, scenarios)


def to_vgpus_of_their_own(maker):
    machine = new_machine()
    machine.there = [
        floating(uuid(1), mediated_devices=[mdev_uuid(1), mdev_uuid(3)]),
        floating(uuid(2), mediated_devices=[mdev_uuid(2)]),
    ]
    return ReshapeScenario(
        maker(machine, **DEVICES),
        old_driver=maker(machine, partial(OlderDriver, former={"VGPU": 3})),
        held={
            uuid(1): {"host1": {**HELD, "VGPU": 2}},
            uuid(2): {"host1": {"VGPU": 1}},
            uuid(3): {"host1": HELD},
        },
    )


def to_dedicated_processors(maker):
    machine = new_machine()
    machine.there = [pinned(uuid(1), [4, 5]), pinned(uuid(2), [6, 7])]
    return ReshapeScenario(
        maker(machine, **FORMS["dedicated"]),
        old_driver=maker(machine),
        held={uuid(number): {"host1": HELD} for number in (1, 2)},
        renamed={"VCPU": "PCPU"},
    )


def to_encrypted_memory_of_its_own(maker):
    machine = new_machine()
    return ReshapeScenario(
        maker(machine),
        old_driver=maker(machine, partial(OlderDriver, former={"MEM_ENCRYPTION_CONTEXT": 9})),
        held={
            uuid(1): {"host1": {**HELD, "MEM_ENCRYPTION_CONTEXT": 1}},
            uuid(2): {"host1": {"MEM_ENCRYPTION_CONTEXT": 1}},
        },
    )


def between_es_and_snp(maker):
    """Return the scenarios of a machine that is switched to SEV-SNP, and back."""
    machines = {}
    for name in ("amd_sev_es", "amd_sev_snp"):
        machines[name] = new_machine()
        machines[name].change(encryption_slots={"amd_sev": 9, name: 5})
    return {
        f"from {old} to {new}": ReshapeScenario(
            maker(machines[new]),
            old_driver=maker(machines[old]),
            held={
                uuid(1): {"host1": HELD, f"host1_{old}": {"MEM_ENCRYPTION_CONTEXT": 1}},
                uuid(2): {f"host1_{old}": {"MEM_ENCRYPTION_CONTEXT": 1}},
                uuid(3): {"host1": HELD, "host1_amd_sev": {"MEM_ENCRYPTION_CONTEXT": 1}},
            },
        )
        for old, new in (tuple(machines), tuple(machines)[::-1])
    }


@pytest.mark.parametrize("rule", rules_of(ReshapeContract))
def test_each_reshape_keeps_it(rule, maker):
    scenarios = {
        **both_ways(partial(maker, new_machine(), **DEVICES)),
        "to vGPUs of their own": to_vgpus_of_their_own(maker),
        "to dedicated processors": to_dedicated_processors(maker),
        "to encrypted memory of its own": to_encrypted_memory_of_its_own(maker),
        **between_es_and_snp(maker),
    }
    assert_kept(ReshapeContract, rule, scenarios)


def of_another_class(maker, new, old):
    options = {
        kind: {
            **DEVICES,
            "berth__mdev_classes": {TYPE: kind},
            "berth__renamed_resource_classes": {other: kind},
        }
        for kind, other in ((new, old), (old, new))
    }
    return TurnsScenario(
        maker(new_machine(), **options[new]),
        older=maker(new_machine(), **options[old]),
        renamed={old: new},
    )


def test_versions_in_turn_keep_it(maker):
    """Cells and none, and a class with another name."""
    machine = new_machine()
    scenarios = {
        "flat, then cells": TurnsScenario(
            maker(machine, **FORMS["modelled"]), older=maker(machine, **DEVICES)
        ),
        "described, then modelled": TurnsScenario(
            maker(machine, **FORMS["modelled"]),
            older=maker(machine, **FORMS["described"]),
            held={uuid(1): {"host1": HELD}},
        ),
        "another class": of_another_class(maker, "CUSTOM_NEW", "CUSTOM_OLD"),
        "a class of its own": of_another_class(maker, "CUSTOM_OWN", "VGPU"),
    }
    assert_kept(TurnsContract, "test_two_versions_in_turn_find_what_they_left", scenarios)
