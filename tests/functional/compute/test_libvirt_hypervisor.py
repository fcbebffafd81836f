"""The driver on libvirt's own test hypervisor, from the library to placement and back."""

import json
from functools import partial

import pytest

from tests.unit.virt.libvirt.hosts import (
    COMPUTER,
    card_xml,
    gpu_xml,
    guest_xml,
    mdev_of_guest_xml,
    mdev_xml,
    node_xml,
)
from tests.unit.virt.libvirt.library import Altered, require_libvirt
from tests.unit.virt.libvirt.library import test_hypervisor_of as hypervisor_of
from tests.unit.virt.node.hosts import GPUS, TYPE
from virt.fake import MediumFakeDriver
from virt.libvirt import LibvirtDriver
from virt.libvirt.hypervisor import Hypervisor
from virt.libvirt.libvirt_host_info import LibvirtHostInfo

SERVER = {"DISK_GB": 1, "MEMORY_MB": 1024, "VCPU": 2}
NETWORK = json.dumps({"devname": "ens1", "physical_network": "physnet1"})


@pytest.fixture
def start(host):
    """Start the service on the hypervisor at a URI; the host keeps the name of the test's."""
    require_libvirt()
    import libvirt

    def start(uri, **options):
        def connect(asked):
            return Altered(libvirt.open(asked), getHostname=host.name)

        for name, value in options.items():
            group, _, option = name.rpartition("__")
            host.conf.set_override(option, value, group or None)
        info = LibvirtHostInfo(Hypervisor(uri, connect), host.conf.state_path)
        host.start(partial(LibvirtDriver, host_info=info))
        return host

    return start


def tree_of(outsider, host):
    """name without the host's → uuid"""
    found = outsider.call("GET", f"/resource_providers?in_tree={host.uuid}")
    return {
        row["name"].removeprefix(f"{host.name}_"): row["uuid"]
        for row in found["resource_providers"]
    }


def test_the_default_test_hypervisor_becomes_cells_and_flat_again(host, start, outsider):
    """`test:///default` has two cells of eight processors with 2 and 4 GiB, and one guest.

    Another service was here first: a host that has guests may not be new.
    """
    host.start(MediumFakeDriver)
    start("test:///default", berth__numa_in_placement=True)
    assert host.moves() == 1
    tree = tree_of(outsider, host)
    assert {name: outsider.totals(tree[name]) for name in ("numa0", "numa1")} == {
        "numa0": {"VCPU": 8, "MEMORY_MB": 2048},
        "numa1": {"VCPU": 8, "MEMORY_MB": 4096},
    }
    consumers = [outsider.allocate({tree[f"numa{n}"]: {"VCPU": 1}}) for n in (0, 1)]
    start("test:///default", berth__numa_in_placement=False)
    assert host.moves() == 1
    assert set(tree_of(outsider, host)) == {host.name}
    assert outsider.totals(host.uuid)["VCPU"] == 16
    assert [outsider.allocations(one) for one in consumers] == [{host.uuid: {"VCPU": 1}}] * 2


def test_pinned_guests_vgpus_and_cards_of_a_hypervisor_of_our_own(start, outsider, tmp_path):
    devices = [
        COMPUTER,
        gpu_xml(0x84, 1),
        gpu_xml(0x85, 0),
        mdev_xml(1, GPUS[1]),
        card_xml("ens1", 1, 4),
    ]
    host = start(hypervisor_of(tmp_path, node_xml(*devices)))
    pinned = outsider.allocate({host.uuid: SERVER})
    floating = outsider.allocate({host.uuid: {"VCPU": 1}})
    guests = [
        guest_xml(pinned, "pinned", pins=["2", "4"], devices=mdev_of_guest_xml(1)),
        guest_xml(floating, "floating"),
    ]
    start(
        hypervisor_of(tmp_path, node_xml(*guests, *devices)),
        compute__cpu_shared_set="0",
        compute__cpu_dedicated_set="2,4",
        cpu_allocation_ratio=4.0,
        devices__enabled_mdev_types=[TYPE],
        pci__device_spec=[NETWORK],
    )
    tree = tree_of(outsider, host)
    assert {name: outsider.totals(uuid) for name, uuid in tree.items() if name != host.name} == {
        GPUS[0]: {"VGPU": 1},
        GPUS[1]: {"VGPU": 1},
        "ens1": {"SRIOV_NET_VF": 4},
    }
    assert outsider.traits(tree["ens1"]) == {"CUSTOM_PHYSNET_PHYSNET1", "OWNER_NOVA"}
    assert outsider.allocations(pinned) == {host.uuid: {"PCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 1}}
    assert outsider.allocations(floating) == {host.uuid: {"VCPU": 1}}
    assert host.moves() == 1


def test_a_hypervisor_whose_file_is_malformed_creates_nothing(start, tmp_path, caplog):
    host = start(hypervisor_of(tmp_path, "<node><cpu>"))
    assert (host.outcome.driver_ready, host.adapter.writes) == (False, [])
    assert "hypervisor.xml" in caplog.text
