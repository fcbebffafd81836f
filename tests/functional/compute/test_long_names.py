"""Hosts may be called whatever placement takes: their children's names are made to fit."""

import json
from functools import partial

import pytest

from compute import exceptions
from compute.provider_tree.names import child_name
from tests.unit.virt.libvirt.older_driver import OlderDriver
from tests.unit.virt.node.hosts import (
    GPUS,
    TYPE,
    KnownHost,
    floating,
    mdev_uuid,
    mediated,
    network_card,
)
from virt.fake import MediumFakeDriver
from virt.libvirt import LibvirtDriver

NETWORK = json.dumps({"devname": "ens1", "physical_network": "physnet1"})


@pytest.fixture(params=[170, 198, 200])
def named(host, request):
    """Make the host, with a name of so many characters."""
    host.name = host.name + "n" * (request.param - len(host.name))
    host.conf.set_override("host", host.name)
    return host


def names(host, outsider):
    rows = outsider.call("GET", f"/resource_providers?in_tree={host.uuid}")["resource_providers"]
    return {row["name"]: row["uuid"] for row in rows}


def test_a_host_of_any_name_is_modelled_and_modelled_flat_again(named, outsider):
    known = KnownHost(
        hostname=named.name,
        creatable={gpu: {TYPE: 1} for gpu in GPUS},
        mediated_devices=mediated(dict(enumerate(GPUS, start=1))),
        pci_devices=tuple(network_card("ens1", 0x90, 4, numa_node=1)),
        encryption_slots={"amd_sev": 9},
    )
    named.conf.set_override("device_spec", [NETWORK], "pci")
    named.conf.set_override("enabled_mdev_types", [TYPE], "devices")
    named.start(partial(OlderDriver, host_info=known, former={"VGPU": 3}))
    held = {"VCPU": 2, "MEMORY_MB": 1024, "VGPU": 1}
    guest = outsider.allocate({named.uuid: held})
    known.there = [floating(guest, 2, mediated_devices=[mdev_uuid(2)])]

    named.conf.set_override("numa_in_placement", True, "berth")
    named.start(partial(LibvirtDriver, host_info=known))
    children = ["numa0", "numa1", "ens1_numa1", "amd_sev", *GPUS]
    expected = {child_name(named.name, suffix) for suffix in children}
    found = names(named, outsider)
    assert found.keys() == expected | {named.name}
    assert outsider.allocations(guest) == {
        found[child_name(named.name, "numa0")]: {"VCPU": 2, "MEMORY_MB": 1024},
        found[child_name(named.name, GPUS[1])]: {"VGPU": 1},
    }
    named.start(partial(LibvirtDriver, host_info=known))
    assert named.adapter.writes == []

    named.conf.set_override("numa_in_placement", False, "berth")
    named.start(partial(LibvirtDriver, host_info=known))
    assert child_name(named.name, "numa0") not in names(named, outsider)
    assert outsider.allocations(guest)[named.uuid] == {"VCPU": 2, "MEMORY_MB": 1024}


def test_a_host_whose_own_name_is_too_long_is_refused_with_a_sentence(host):
    host.name = "n" * 201
    host.conf.set_override("host", host.name)
    with pytest.raises(exceptions.InvalidConfiguration, match="has 201 characters; placement take"):
        host.start(MediumFakeDriver)
