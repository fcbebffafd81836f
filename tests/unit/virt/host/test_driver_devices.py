"""Huge pages, network cards, mediated devices, processors and disk of the host driver."""

import copy
import json
import shutil

import pytest

from compute import exceptions
from tests.unit.virt.conftest import ROOT_UUID
from tests.unit.virt.consumers import body, resources, uuid
from tests.unit.virt.host.machines import two_sockets
from virt.host.driver import HostDriver
from virt.inventory import record
from virt.node import disk
from virt.node.facts import DiskSpace

PAGES, BIG_PAGES = "CUSTOM_HUGEPAGES_2MB", "CUSTOM_HUGEPAGES_1GB"
SPEC = ['{"devname": "ens1", "physical_network": "net-0"}']


@pytest.fixture
def machine(tmp_path):
    return two_sockets(tmp_path)


@pytest.fixture
def make(make_conf, virtapi, machine):
    """Make a driver of the machine, ready to work as host1."""

    def make_driver(numa=False, **options):
        conf = make_conf(
            berth__sysfs_root=machine.roots[0],
            berth__procfs_root=machine.roots[1],
            berth__numa_in_placement=numa,
            **options,
        )
        driver = HostDriver(virtapi, conf)
        driver.init_host("host1")
        return driver

    return make_driver


def move(driver, tree, allocations):
    """Take a host through a reshape."""
    with pytest.raises(exceptions.ReshapeNeeded):
        driver.update_provider_tree(tree, "host1")
    driver.update_provider_tree(tree, "host1", allocations=allocations)


# Huge pages


def test_huge_pages_are_on_the_root_by_size(make, machine, tree):
    machine.set_hugepages(512, node=0)
    machine.set_hugepages(256, node=1)
    machine.set_hugepages(4, size_kb=1048576, node=1)

    make().update_provider_tree(tree, "host1")

    inventory = tree.data("host1").inventory
    assert (inventory[PAGES], inventory[BIG_PAGES]) == (record(768), record(4))


def test_huge_pages_are_on_the_cell_that_has_them(make, machine, tree):
    machine.set_hugepages(512, node=0)
    machine.set_hugepages(4, size_kb=1048576, node=1)

    make(numa=True).update_provider_tree(tree, "host1")

    assert tree.data("host1_numa0").inventory[PAGES] == record(512)
    assert tree.data("host1_numa1").inventory[BIG_PAGES] == record(4)
    assert set(tree.data("host1").inventory) == {"DISK_GB"}


@pytest.mark.parametrize("form", ["flat", "standard", "numa"])
def test_huge_pages_that_the_host_keeps_are_reserved_where_they_are(make, machine, tree, form):
    """All of a cell's, where it has fewer than the option says."""
    machine.set_hugepages(512, node=0)
    machine.set_hugepages(16, node=1)
    kept = [
        {"node": "0", "size": "2048", "count": "100"},
        {"node": "1", "size": "2MB", "count": "64"},
    ]
    options = {} if form == "flat" else {"berth__numa_classes": form}

    driver = make(numa=form != "flat", reserved_huge_pages=kept, **options)
    driver.update_provider_tree(tree, "host1")

    wanted = {"host1": 116} if form == "flat" else {"host1_numa0": 100, "host1_numa1": 16}
    assert {name: tree.data(name).inventory[PAGES]["reserved"] for name in wanted} == wanted


def test_huge_pages_move_with_the_memory_of_their_guest(make, machine, tree):
    machine.set_hugepages(512, node=1)
    make().update_provider_tree(tree, "host1")
    held = {"VCPU": 2, "MEMORY_MB": 1024, PAGES: 512}
    allocations = {uuid(1): body({ROOT_UUID: held})}

    move(make(numa=True), tree, allocations)
    there = copy.deepcopy(resources(allocations))
    cell = tree.data("host1_numa1").uuid
    move(make(), tree, allocations)

    assert there == {uuid(1): {cell: held}}
    assert resources(allocations) == {uuid(1): {ROOT_UUID: held}}


@pytest.mark.parametrize("numa", [False, True])
def test_pages_that_come_and_go_at_run_time_need_no_reshape(make, machine, tree, numa):
    machine.set_hugepages(512, node=0)
    machine.set_hugepages(512, node=1)
    driver = make(numa=numa)
    driver.update_provider_tree(tree, "host1")
    machine.set_hugepages(0, node=1)

    driver.update_provider_tree(tree, "host1")

    left = {tree.data(one).name: tree.data(one).inventory for one in tree.get_provider_uuids()}
    assert sum(inventory.get(PAGES, {"total": 0})["total"] for inventory in left.values()) == 512


# Cells that only describe


def test_cells_can_describe_what_the_root_keeps(make, machine, tree):
    machine.set_hugepages(512, node=1)

    make(numa=True, berth__numa_classes="numa").update_provider_tree(tree, "host1")

    root, *cells = (tree.data(name).inventory for name in ("host1", "host1_numa0", "host1_numa1"))
    described = {
        "NUMA_CORE": record(2),
        "NUMA_THREAD": record(4),
        "NUMA_MEMORY_MB": record(8192),
    }
    assert (root["VCPU"], root["MEMORY_MB"]) == (record(8, 0, 4.0), record(16384, 512))
    assert PAGES not in root
    assert cells == [described, described | {PAGES: record(512)}]


def test_describing_a_flat_host_moves_nothing(make, tree):
    make().update_provider_tree(tree, "host1")

    make(numa=True, berth__numa_classes="numa").update_provider_tree(tree, "host1")

    assert tree.exists("host1_numa1")


def test_guests_move_between_cells_and_a_root_that_cells_describe(make, tree):
    make(numa=True).update_provider_tree(tree, "host1")
    held = {"VCPU": 2, "MEMORY_MB": 1024}
    cell = tree.data("host1_numa1").uuid
    allocations = {uuid(1): body({cell: held})}

    move(make(numa=True, berth__numa_classes="numa"), tree, allocations)
    described = copy.deepcopy(resources(allocations))
    move(make(numa=True), tree, allocations)

    assert described == {uuid(1): {ROOT_UUID: held}}
    assert resources(allocations) == {uuid(1): {tree.data("host1_numa0").uuid: held}}


# Network cards


def test_a_card_that_is_offered_has_as_many_functions_as_it_can_have(make, machine, tree):
    machine.add_card("0000:84:00.0", "ens1", total=8, present=2)

    make(pci__device_spec=SPEC).update_provider_tree(tree, "host1")

    card = tree.data("host1_ens1")
    assert (card.parent_uuid, card.inventory) == (ROOT_UUID, {"SRIOV_NET_VF": record(8)})
    assert card.traits == {"CUSTOM_PHYSNET_NET_0"}


def test_a_card_is_below_its_cell(make, machine, tree):
    machine.add_card("0000:84:00.0", "ens1", total=8, node=1)

    make(numa=True, pci__device_spec=SPEC).update_provider_tree(tree, "host1")

    assert tree.data("host1_ens1").parent_uuid == tree.data("host1_numa1").uuid


def test_a_card_nobody_offers_is_not_reported(make, machine, tree):
    machine.add_card("0000:84:00.0", "ens2", total=8)

    make(pci__device_spec=SPEC).update_provider_tree(tree, "host1")

    assert tree.get_provider_uuids() == [ROOT_UUID]


def test_a_guest_keeps_its_card_when_the_host_is_modelled(make, machine, tree):
    for number in (1, 2):
        machine.add_card(f"0000:8{number}:00.0", f"ens{number}", total=4, node=1)
    spec = ['[{"devname": "ens1", "physical_network": "a"}]', SPEC[0].replace("ens1", "ens2")]
    make(pci__device_spec=spec).update_provider_tree(tree, "host1")
    allocations = {uuid(1): body({tree.data("host1_ens2").uuid: {"SRIOV_NET_VF": 2}})}

    move(make(numa=True, pci__device_spec=spec), tree, allocations)

    card = tree.data("host1_ens2_numa1")
    assert card.parent_uuid == tree.data("host1_numa1").uuid
    assert resources(allocations) == {uuid(1): {card.uuid: {"SRIOV_NET_VF": 2}}}


def test_the_provider_of_a_card_that_is_gone_is_removed(make, machine, tree):
    card = machine.add_card("0000:84:00.0", "ens1", total=8)
    driver = make(pci__device_spec=SPEC)
    driver.update_provider_tree(tree, "host1")
    shutil.rmtree(card)

    driver.update_provider_tree(tree, "host1")

    assert tree.get_provider_uuids() == [ROOT_UUID]


# Mediated devices


def test_enabled_mediated_devices_are_on_a_provider_of_their_gpu(make, machine, tree):
    machine.add_gpu("0000:c1:00.0", {"nvidia-35": 3}, [("a-uuid", "nvidia-35")])

    make(devices__enabled_mdev_types=["nvidia-35"]).update_provider_tree(tree, "host1")

    gpu = tree.data("host1_pci_0000_c1_00_0")
    assert (gpu.parent_uuid, gpu.inventory) == (ROOT_UUID, {"VGPU": record(4)})


def test_without_enabled_types_no_gpu_is_reported(make, machine, tree):
    machine.add_gpu("0000:c1:00.0", {"nvidia-35": 3})

    make().update_provider_tree(tree, "host1")

    assert tree.get_provider_uuids() == [ROOT_UUID]


# Memory encryption, processors, disk


def test_memory_encryption_is_on_a_provider_of_its_own(make, machine, tree):
    machine.write(machine.sysfs / "fs" / "cgroup" / "misc.capacity", "sev 15\n")

    make().update_provider_tree(tree, "host1")

    child = tree.data("host1_amd_sev")
    assert child.inventory == {"MEM_ENCRYPTION_CONTEXT": record(15) | {"max_unit": 1}}
    assert child.traits == {"HW_CPU_X86_AMD_SEV"}


def test_processors_can_be_shared_and_dedicated(make, tree):
    driver = make(compute__cpu_shared_set="0-1", compute__cpu_dedicated_set="2-6")

    driver.update_provider_tree(tree, "host1")

    inventory = tree.data("host1").inventory
    assert (inventory["VCPU"], inventory["PCPU"]) == (record(2, 0, 4.0), record(5))


def test_processors_in_an_option_must_be_online(make):
    with pytest.raises(exceptions.InvalidConfiguration, match="cpu_shared_set has CPUs 8-9"):
        make(compute__cpu_shared_set="0-9")


def test_the_disk_is_the_file_system_of_the_configured_path(make, tree, monkeypatch):
    asked = []

    def disk_space(path):
        asked.append(path)
        return DiskSpace(total_gb=77, free_gb=7)

    monkeypatch.setattr("virt.host.driver.disk_space", disk_space)

    make(instances_path="/srv/guests").update_provider_tree(tree, "host1")

    assert set(asked) == {"/srv/guests"}
    assert tree.data("host1").inventory["DISK_GB"] == record(77)


@pytest.mark.parametrize(("counted", "reserved"), [(False, 1), (True, 3)])
def test_the_image_cache_is_reserved_if_asked_for(
    make, tree, tmp_path, monkeypatch, counted, reserved
):
    monkeypatch.setattr("virt.host.driver.disk_space", lambda path: DiskSpace(77, 7))
    cache = tmp_path / "guests" / "_base_of_host1"
    cache.mkdir(parents=True)
    image = cache / "image"
    image.write_bytes(b"image")
    # as many bytes a block that the image has 2 GiB of the disk
    monkeypatch.setattr(disk, "BLOCK", 2 * 1024**3 // image.stat().st_blocks)

    make(
        instances_path=str(tmp_path / "guests"),
        reserved_host_disk_mb=1024,
        image_cache__subdirectory_name="_base_of_host1",
        workarounds__reserve_disk_resource_for_image_cache=counted,
    ).update_provider_tree(tree, "host1")

    assert tree.data("host1").inventory["DISK_GB"]["reserved"] == reserved


# Persistent memory


def test_namespaces_of_persistent_memory_are_those_of_the_option(make, machine, tree):
    machine.add_namespace("namespace0.0", "ns0", 1024)
    machine.add_namespace("namespace0.1", "ns1", 1024)

    make(libvirt__pmem_namespaces=["SMALL:ns0|ns1"]).update_provider_tree(tree, "host1")

    root = tree.data("host1")
    assert root.inventory["CUSTOM_PMEM_NAMESPACE_SMALL"] == record(2)
    assert {one.identifier for one in root.resources["CUSTOM_PMEM_NAMESPACE_SMALL"]} == {
        "ns0",
        "ns1",
    }


# Devices for the compute service


def test_devices_guests_may_have_are_listed_and_those_not_made_yet_are_not(make, machine):
    machine.add_card("0000:84:00.0", "ens1", total=4, present=2, node=1)
    machine.add_pci_device("0000:a1:00.0")

    driver = make(pci__device_spec=['{"product_id": "154c"}'])

    listed = json.loads(driver.get_available_resource("host1")["pci_passthrough_devices"])
    assert [(one["address"], one["dev_type"], one["parent_addr"]) for one in listed] == [
        ("0000:84:02.0", "type-VF", "0000:84:00.0"),
        ("0000:84:03.0", "type-VF", "0000:84:00.0"),
    ]


def test_a_function_with_a_vdpa_device_is_listed_as_such(make, machine):
    machine.add_card("0000:84:00.0", "ens1", total=2, present=2)
    (machine.pci_device("0000:84:03.0") / "vdpa0").mkdir()

    driver = make(pci__device_spec=['{"product_id": "154c"}'])

    listed = json.loads(driver.get_available_resource("host1")["pci_passthrough_devices"])
    assert [(one["dev_type"], one["parent_addr"]) for one in listed] == [
        ("type-VF", "0000:84:00.0"),
        ("vdpa", "0000:84:00.0"),
    ]


# What can't be read


def test_a_broken_device_is_an_error_that_names_the_file(make, machine, tree):
    card = machine.add_card("0000:84:00.0", "ens1", total=8)
    driver = make()
    machine.write(card / "sriov_totalvfs", "many")

    with pytest.raises(exceptions.InvalidConfiguration, match=r"84:00\.0/sriov_totalvfs: invalid"):
        driver.update_provider_tree(tree, "host1")


def test_in_a_reshape_it_is_a_failed_reshape_and_nothing_moves(make, machine, tree):
    make().update_provider_tree(tree, "host1")
    driver = make(numa=True)
    allocations = {uuid(1): body({ROOT_UUID: {"VCPU": 2}})}
    with pytest.raises(exceptions.ReshapeNeeded):
        driver.update_provider_tree(tree, "host1")
    machine.write(machine.node_directory(1) / "meminfo", "lots")

    with pytest.raises(exceptions.ReshapeFailed, match="node1/meminfo"):
        driver.update_provider_tree(tree, "host1", allocations=allocations)

    assert resources(allocations) == {uuid(1): {ROOT_UUID: {"VCPU": 2}}}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"pci__device_spec": ["{"]}, r"\[pci\]device_spec '{'"),
        ({"compute__cpu_shared_set": "a"}, r"\[compute\]cpu_shared_set"),
        ({"berth__mdev_classes": {"x": "VGPU"}}, r"\[berth\]mdev_classes names x"),
    ],
)
def test_options_that_make_no_sense_are_refused_at_the_start(make, options, says):
    with pytest.raises(exceptions.InvalidConfiguration, match=says):
        make(**options)
