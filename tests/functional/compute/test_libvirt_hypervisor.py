"""The driver on libvirt's own test hypervisor, from the library to placement and back."""

import json
import os
import re
from functools import partial

import pytest

from compute.exceptions import InvalidConfiguration, ReshapeFailed
from tests.functional.compute.outsider import tree_of
from tests.unit.virt.libvirt.guest_hosts import domain_xml, host_xml, tpm_xml
from tests.unit.virt.libvirt.guest_hosts import guest_xml as domain_guest_xml
from tests.unit.virt.libvirt.hosts import (
    COMPUTER,
    capabilities_xml,
    card_xml,
    gpu_xml,
    guest_xml,
    mdev_of_guest_xml,
    mdev_xml,
    node_xml,
)
from tests.unit.virt.libvirt.library import Altered, require_libvirt
from tests.unit.virt.libvirt.library import test_hypervisor_of as hypervisor_of
from tests.unit.virt.libvirt.owners import SWTPM_OWNERS
from tests.unit.virt.node.hosts import GPUS, TYPE
from virt.fake import MediumFakeDriver
from virt.libvirt import LibvirtDriver
from virt.libvirt.hypervisor import Hypervisor
from virt.libvirt.libvirt_host_info import LibvirtHostInfo
from virt.libvirt.options import cpu_options, disks, guest_options

SERVER = {"DISK_GB": 1, "MEMORY_MB": 1024, "VCPU": 2}
WITH_SWTPM = {"libvirt__swtpm_enabled": True, **SWTPM_OWNERS}
NETWORK = json.dumps({"devname": "ens1", "physical_network": "physnet1"})


@pytest.fixture
def start(host):
    """Start the service on the hypervisor at a URI; the host keeps the name of the test's."""
    require_libvirt()
    import libvirt

    def start(uri, answers=None, **options):
        def connect(asked):
            return Altered(libvirt.open(asked), getHostname=host.name, **(answers or {}))

        for name, value in options.items():
            group, _, option = name.rpartition("__")
            host.conf.set_override(option, value, group or None)
        conf = host.conf
        info = LibvirtHostInfo(
            Hypervisor(uri, connect),
            conf.state_path,
            conf.berth.sysfs_root,
            options=guest_options(conf),
            cpu=cpu_options(conf),
            disks=disks(conf),
        )
        host.start(partial(LibvirtDriver, host_info=info))
        return host

    return start


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


def told(outsider, host, traits):
    """Return which of these traits placement has of the host."""
    return sorted({f"COMPUTE_{one}" for one in traits} & outsider.traits(host.uuid))


def test_placement_is_told_what_guests_can_have(start, outsider, tmp_path):
    """A scheduler with nova's image_metadata_prefilter asks for these traits."""
    uri = hypervisor_of(tmp_path, node_xml())
    asked = ["ARCH_X86_64", "STORAGE_BUS_SATA", "GRAPHICS_MODEL_VIRTIO", "SECURITY_TPM_2_0"]
    asked += ["NET_VIF_MODEL_IGB", "SECURITY_UEFI_SECURE_BOOT", "ARCH_AARCH64"]
    domain = domain_xml(["sata"], ["virtio"], secure=["yes"], tpm=tpm_xml(versions=["2.0"]))
    answers = {
        "getCapabilities": host_xml(domain_guest_xml("x86_64"), domain_guest_xml("aarch64")),
        "getDomainCapabilities": lambda *kind: (
            (domain if kind[1:] == ("x86_64", "pc", "kvm") else domain_xml()) if kind else domain
        ),
        "getLibVersion": 9_003_000,
        "getVersion": 8_000_000,
    }
    host = start(uri, answers, **WITH_SWTPM)
    assert told(outsider, host, asked) == sorted(f"COMPUTE_{one}" for one in asked)

    answers["getCapabilities"] = host_xml(domain_guest_xml("x86_64"))
    answers["getVersion"] = 7_002_000
    start(uri, answers, libvirt__swtpm_enabled=False)
    left = {"ARCH_X86_64", "STORAGE_BUS_SATA", "GRAPHICS_MODEL_VIRTIO", "SECURITY_UEFI_SECURE_BOOT"}
    assert told(outsider, host, asked) == sorted(f"COMPUTE_{one}" for one in left)


def test_sev_es_is_offered_where_qemu_is_new_enough_for_nova(start, outsider, tmp_path):
    sysfs = tmp_path / "sys"
    parameters = sysfs / "module" / "kvm_amd" / "parameters"
    parameters.mkdir(parents=True)
    for name in ("sev", "sev_es"):
        (parameters / name).write_text("Y\n")
    counts = "<maxGuests>15</maxGuests><maxESGuests>9</maxESGuests>"
    features = f"<features><sev supported='yes'>{counts}</sev></features>"
    answers = {
        "getDomainCapabilities": f"<domainCapabilities>{features}</domainCapabilities>",
        "getVersion": 8_000_000,
    }
    uri = hypervisor_of(tmp_path, node_xml())
    host = start(uri, answers, berth__sysfs_root=str(sysfs))
    assert {"amd_sev", "amd_sev_es"} <= tree_of(outsider, host).keys()
    answers["getVersion"] = 7_002_022
    start(uri, answers, berth__sysfs_root=str(sysfs))
    tree = tree_of(outsider, host)
    assert "amd_sev" in tree
    assert "amd_sev_es" not in tree


def test_dedicated_processors_may_sleep_while_no_guest_has_them(start, outsider, tmp_path):
    uri = hypervisor_of(tmp_path, node_xml())
    awake = {"getCPUMap": (8, [True] * 8, 8)}
    asleep = {"getCPUMap": (8, [n not in (6, 7) for n in range(8)], 6)}
    sets = {"compute__cpu_shared_set": "0", "compute__cpu_dedicated_set": "4-7"}
    host = start(uri, awake, **sets)
    with pytest.raises(InvalidConfiguration, match=r"CPUs 6-7.*\[libvirt\]cpu_power_management"):
        start(uri, asleep, **sets)
    start(uri, asleep, libvirt__cpu_power_management=True, **sets)
    assert outsider.totals(host.uuid)["PCPU"] == 4


def test_memory_in_files_is_reported_instead_of_the_hosts(start, outsider, tmp_path):
    uri = hypervisor_of(tmp_path, node_xml(memory_mb=16384))
    host = start(
        uri,
        libvirt__file_backed_memory=65536,
        ram_allocation_ratio=1.0,
        reserved_host_memory_mb=0,
    )
    assert outsider.totals(host.uuid)["MEMORY_MB"] == 65536
    assert told(outsider, host, ["MEM_BACKING_FILE"]) == ["COMPUTE_MEM_BACKING_FILE"]


def test_the_disk_of_guests_in_ceph_is_what_ceph_has(start, outsider, tmp_path, monkeypatch):
    uri = hypervisor_of(tmp_path, node_xml())
    pools = [{"name": "vms", "stats": {"max_avail": 2**40}}]
    said = {"stats": {"total_bytes": 5000 * 2**30}, "pools": pools}
    ceph = tmp_path / "ceph"
    ceph.write_text(f"#!/bin/sh\necho '{json.dumps(said)}'\n")
    ceph.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    options = {"libvirt__images_type": "rbd", "libvirt__images_rbd_pool": "vms"}
    host = start(uri, **options)
    assert outsider.totals(host.uuid)["DISK_GB"] == 5000
    ceph.write_text("#!/bin/sh\necho no cluster >&2; exit 1\n")
    assert "no cluster" in str(host.update().failures[host.name])
    assert outsider.totals(host.uuid)["DISK_GB"] == 5000


def test_traits_are_those_of_the_processors_that_guests_have(start, outsider, tmp_path):
    uri = hypervisor_of(tmp_path, node_xml())
    cpu = "<model>Haswell</model><vendor>Intel</vendor>"
    answers = {"getCapabilities": capabilities_xml(cpu=cpu)}
    avx2 = "HW_CPU_X86_AVX2"
    host = start(uri, answers)
    assert avx2 in outsider.traits(host.uuid)
    start(uri, answers, libvirt__cpu_mode="custom", libvirt__cpu_models=["Nehalem"])
    assert {avx2, "HW_CPU_X86_SSE42"} & outsider.traits(host.uuid) == {"HW_CPU_X86_SSE42"}


@pytest.mark.parametrize("pinned", [False, True], ids=["floating", "and one that is pinned"])
def test_a_dedicated_set_that_leaves_floating_guests_nothing_is_named(
    start, outsider, tmp_path, pinned
):
    host = start(hypervisor_of(tmp_path, node_xml()))
    consumers = [outsider.allocate({host.uuid: {"VCPU": 2}}) for _ in range(2)]
    guests = [
        guest_xml(consumers[0], "floating"),
        guest_xml(consumers[1], "second", pins=["2", "4"] if pinned else ()),
    ]
    uri = hypervisor_of(tmp_path, node_xml(*guests))
    named = r"\[compute\]cpu_dedicated_set alone leaves no processor for VCPU.*cpu_shared_set"
    if pinned:
        with pytest.raises(ReshapeFailed, match=named):
            start(uri, compute__cpu_dedicated_set="2,4")
    else:
        start(uri, compute__cpu_dedicated_set="2,4")
        assert re.search(named, str(host.outcome.failures[host.name]))
    assert outsider.totals(host.uuid)["VCPU"] == 3


def test_a_hypervisor_that_emulates_no_tpm_is_not_reported_with_one(start, tmp_path, caplog):
    uri = hypervisor_of(tmp_path, node_xml())
    answers = {
        "getCapabilities": host_xml(domain_guest_xml("x86_64")),
        "getDomainCapabilities": lambda *kind: domain_xml(),
    }
    with pytest.raises(InvalidConfiguration, match=r"swtpm_enabled is set, but this host's"):
        start(uri, answers, **WITH_SWTPM)


def test_a_hypervisor_whose_file_is_malformed_creates_nothing(start, tmp_path, caplog):
    host = start(hypervisor_of(tmp_path, "<node><cpu>"))
    assert (host.outcome.driver_ready, host.adapter.writes) == (False, [])
    assert "hypervisor.xml" in caplog.text
