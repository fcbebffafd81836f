import json

import pytest

from compute import exceptions
from tests.unit.virt.conftest import ROOT_UUID
from tests.unit.virt.consumers import body, resources, uuid
from tests.unit.virt.host.machines import ARM_CPUINFO, S390X_CPUINFO, Machine, two_sockets
from virt.host.driver import HostDriver, LinuxHostInfo
from virt.host.kernel_facts import KernelFacts
from virt.host.samples import two_socket
from virt.inventory import record
from virt.node.disk import disk_space

CELLS = ["host1_numa0", "host1_numa1"]


@pytest.fixture
def driver_on(make_conf, virtapi):
    """Make a driver for a machine, ready to work as host1."""

    def make(machine, numa=False, **options):
        conf = make_conf(
            berth__sysfs_root=machine.roots[0],
            berth__procfs_root=machine.roots[1],
            berth__numa_in_placement=numa,
            **options,
        )
        driver = HostDriver(virtapi, conf)
        driver.init_host("host1")
        return driver

    return make


@pytest.fixture
def disk_gb(tmp_path):
    return disk_space(tmp_path).total_gb


def inventories(tree):
    found = [tree.data(provider) for provider in tree.get_provider_uuids()]
    return {one.name: one.inventory for one in found}


# Nodes and totals


def test_the_only_node_is_named_like_the_host(driver_on, tmp_path):
    assert driver_on(two_sockets(tmp_path)).get_available_nodes() == ["host1"]


def test_before_init_host_the_driver_is_not_ready(virtapi, conf):
    with pytest.raises(exceptions.VirtDriverNotReady):
        HostDriver(virtapi, conf).get_available_nodes()


def test_the_machines_totals_and_usage_are_reported(driver_on, tmp_path, disk_gb):
    resources = driver_on(two_sockets(tmp_path)).get_available_resource("host1")

    assert (resources["vcpus"], resources["memory_mb"], resources["local_gb"]) == (
        8,
        16384,
        disk_gb,
    )
    assert (resources["vcpus_used"], resources["memory_mb_used"]) == (0, 8192)
    assert resources["hypervisor_hostname"] == "host1"
    assert json.loads(resources["numa_topology"])["cells"][1] == {
        "id": 1,
        "cpus": [4, 5, 6, 7],
        "memory_mb": 8192,
        "hugepages": [],
    }


def test_another_hosts_node_is_not_found(driver_on, tmp_path):
    with pytest.raises(exceptions.ComputeHostNotFound):
        driver_on(two_sockets(tmp_path)).get_available_resource("host2")


def test_no_guests_are_reported(driver_on, tmp_path):
    driver = driver_on(two_sockets(tmp_path))

    assert (driver.list_instances(), driver.list_instance_uuids()) == ([], [])


# Flat


def test_by_default_everything_is_on_the_root(driver_on, tmp_path, tree, disk_gb):
    driver = driver_on(two_sockets(tmp_path), reserved_host_cpus=1, reserved_host_disk_mb=1500)

    driver.update_provider_tree(tree, "host1")

    assert inventories(tree) == {
        "host1": {
            "VCPU": record(8, 1, 4.0),
            "MEMORY_MB": record(16384, 512, 1.0),
            "DISK_GB": record(disk_gb, 2, 1.0),
        }
    }


def test_offline_processors_are_not_offered(driver_on, tmp_path, tree):
    driver = driver_on(Machine(tmp_path, online="0-2,5"))

    driver.update_provider_tree(tree, "host1")

    assert tree.data("host1").inventory["VCPU"]["total"] == 4


def test_dedicated_processors_that_nova_keeps_offline_count(driver_on, tmp_path, tree):
    machine = Machine(tmp_path, online="0-2,5")
    machine.write(machine.system / "cpu" / "present", "0-7\n")
    driver = driver_on(
        machine,
        compute__cpu_dedicated_set="5-7",
        libvirt__cpu_power_management=True,
    )

    driver.update_provider_tree(tree, "host1")

    assert tree.data("host1").inventory["PCPU"]["total"] == 3


def test_a_ratio_changed_in_placement_is_kept_and_a_configured_one_wins(driver_on, tmp_path, tree):
    driver = driver_on(two_sockets(tmp_path), ram_allocation_ratio=1.2)
    driver.update_provider_tree(tree, "host1")
    changed = tree.data("host1").inventory
    changed["VCPU"]["allocation_ratio"] = changed["MEMORY_MB"]["allocation_ratio"] = 9.0
    tree.update_inventory("host1", changed)

    driver.update_provider_tree(tree, "host1")

    inventory = tree.data("host1").inventory
    assert (inventory["VCPU"]["allocation_ratio"], inventory["MEMORY_MB"]["allocation_ratio"]) == (
        9.0,
        1.2,
    )


@pytest.mark.parametrize("numa", [False, True])
def test_a_second_run_changes_nothing(driver_on, tmp_path, tree, numa):
    driver = driver_on(two_sockets(tmp_path), numa=numa)
    driver.update_provider_tree(tree, "host1")
    before = [tree.data(provider) for provider in tree.get_provider_uuids()]

    driver.update_provider_tree(tree, "host1")

    assert [tree.data(provider) for provider in tree.get_provider_uuids()] == before


# Traits


def test_processor_features_are_traits_of_the_root(driver_on, tmp_path, tree):
    driver_on(two_sockets(tmp_path), numa=True).update_provider_tree(tree, "host1")

    assert tree.has_traits(
        "host1", ["HW_CPU_X86_AVX", "HW_CPU_X86_VMX", "HW_CPU_HYPERTHREADING", "HW_ARCH_X86_64"]
    )
    assert tree.data(CELLS[0]).traits == set()


def test_false_traits_are_removed_and_others_stay(driver_on, tmp_path, tree):
    tree.add_traits("host1", "HW_CPU_X86_AVX2", "CUSTOM_GOLD", "STORAGE_DISK_SSD")

    driver_on(two_sockets(tmp_path)).update_provider_tree(tree, "host1")

    assert not tree.has_traits("host1", ["HW_CPU_X86_AVX2"])
    assert tree.has_traits("host1", ["CUSTOM_GOLD", "STORAGE_DISK_SSD"])


def test_an_aarch64_machine_has_aarch64_traits(driver_on, tmp_path, tree):
    machine = two_sockets(tmp_path)
    machine.write(machine.procfs / "cpuinfo", ARM_CPUINFO)

    driver_on(machine).update_provider_tree(tree, "host1")

    assert tree.has_traits("host1", ["HW_CPU_AARCH64_AES", "HW_ARCH_AARCH64"])


def test_an_s390x_machine_is_reported(driver_on, tmp_path, tree):
    machine = two_sockets(tmp_path)
    machine.write(machine.procfs / "cpuinfo", S390X_CPUINFO)
    driver = driver_on(machine)

    driver.update_provider_tree(tree, "host1")

    assert tree.data("host1").inventory["VCPU"]["total"] == 8
    assert not [trait for trait in tree.data("host1").traits if "X86" in trait]


# NUMA


def test_modelled_the_root_keeps_the_disk_and_cells_have_the_rest(
    driver_on, tmp_path, tree, disk_gb
):
    driver = driver_on(two_sockets(tmp_path), numa=True, reserved_host_cpus=3)

    driver.update_provider_tree(tree, "host1")

    assert inventories(tree) == {
        "host1": {"DISK_GB": record(disk_gb)},
        CELLS[0]: {"VCPU": record(4, 2, 4.0), "MEMORY_MB": record(8192, 256)},
        CELLS[1]: {"VCPU": record(4, 1, 4.0), "MEMORY_MB": record(8192, 256)},
    }


def test_cells_bear_the_kernels_node_numbers(driver_on, tmp_path, tree):
    machine = Machine(tmp_path, nodes={3: ("0-3", 4096), 8: ("4-7", 4096)})

    driver_on(machine, numa=True).update_provider_tree(tree, "host1")

    assert list(inventories(tree)) == ["host1", "host1_numa3", "host1_numa8"]


def test_cells_offer_only_what_they_have_and_empty_ones_are_left_out(driver_on, tmp_path, tree):
    machine = Machine(tmp_path, nodes={0: ("0-7", 0), 1: ("", 16384), 2: ("", 0)})

    driver_on(machine, numa=True).update_provider_tree(tree, "host1")

    found = inventories(tree)
    assert (set(found["host1_numa0"]), set(found["host1_numa1"])) == ({"VCPU"}, {"MEMORY_MB"})
    assert "host1_numa2" not in found


def test_a_machine_without_node_directory_has_one_cell(driver_on, tmp_path, tree):
    machine = Machine(tmp_path, online="0-3", memory_mb=4096)

    driver_on(machine, numa=True).update_provider_tree(tree, "host1")

    assert inventories(tree)["host1_numa0"] == {
        "VCPU": record(4, 0, 4.0),
        "MEMORY_MB": record(4096, 512),
    }


def test_turning_numa_on_and_off_moves_guests_there_and_back(driver_on, tmp_path, tree):
    machine = two_sockets(tmp_path)
    driver_on(machine).update_provider_tree(tree, "host1")
    flat = inventories(tree)
    held = {"VCPU": 3, "MEMORY_MB": 5000, "DISK_GB": 1}
    allocations = {uuid(n): body({ROOT_UUID: held}) for n in (1, 2)}

    modelled = driver_on(machine, numa=True)
    with pytest.raises(exceptions.ReshapeNeeded):
        modelled.update_provider_tree(tree, "host1")
    modelled.update_provider_tree(tree, "host1", allocations=allocations)

    cells = [tree.data(name).uuid for name in CELLS]
    assert resources(allocations) == {
        uuid(n): {ROOT_UUID: {"DISK_GB": 1}, cell: {"VCPU": 3, "MEMORY_MB": 5000}}
        for n, cell in zip((1, 2), cells, strict=True)
    }

    again_flat = driver_on(machine)
    with pytest.raises(exceptions.ReshapeNeeded):
        again_flat.update_provider_tree(tree, "host1")
    again_flat.update_provider_tree(tree, "host1", allocations=allocations)

    assert inventories(tree) == flat
    assert resources(allocations) == {uuid(n): {ROOT_UUID: held} for n in (1, 2)}


def test_a_ratio_changed_in_placement_moves_with_its_class(driver_on, tmp_path, tree):
    machine = two_sockets(tmp_path)
    driver_on(machine).update_provider_tree(tree, "host1")
    changed = tree.data("host1").inventory
    changed["VCPU"]["allocation_ratio"] = 9.0
    tree.update_inventory("host1", changed)

    driver_on(machine, numa=True).update_provider_tree(tree, "host1", allocations={})
    modelled = [inventories(tree)[name]["VCPU"]["allocation_ratio"] for name in CELLS]
    driver_on(machine).update_provider_tree(tree, "host1", allocations={})

    assert modelled == [9.0, 9.0]
    assert inventories(tree)["host1"]["VCPU"]["allocation_ratio"] == 9.0


def test_guests_that_do_not_fit_the_cells_fail_the_reshape(driver_on, tmp_path, tree):
    machine = Machine(tmp_path, memory_mb=8192, nodes={0: ("0-7", 8192)})
    driver_on(machine).update_provider_tree(tree, "host1")
    allocations = {uuid(1): body({ROOT_UUID: {"MEMORY_MB": 9000}})}

    with pytest.raises(exceptions.ReshapeFailed, match="no room for 9000 MEMORY_MB"):
        driver_on(machine, numa=True).update_provider_tree(tree, "host1", allocations=allocations)


def test_the_sample_machine_gives_two_cells(make_conf, virtapi, tree, tmp_path):
    driver = HostDriver(
        virtapi,
        make_conf(berth__numa_in_placement=True),
        host_info=LinuxHostInfo(KernelFacts(*two_socket()), tmp_path),
    )
    driver.init_host("host1")

    driver.update_provider_tree(tree, "host1")

    assert [inventories(tree)[name]["VCPU"]["total"] for name in CELLS] == [16, 16]


# Refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reserved_host_cpus": 9}, "reserved_host_cpus keeps 9 VCPU .* only 8"),
        ({"reserved_host_memory_mb": 99999}, "reserved_host_memory_mb keeps 99999 .* only 16384"),
        ({"reserved_host_disk_mb": 10**12}, "reserved_host_disk_mb keeps .* DISK_GB"),
    ],
)
@pytest.mark.parametrize("numa", [False, True])
def test_more_reserved_than_there_is_is_refused(driver_on, tmp_path, tree, options, message, numa):
    driver = driver_on(two_sockets(tmp_path), numa=numa, **options)

    with pytest.raises(exceptions.InvalidConfiguration, match=message):
        driver.update_provider_tree(tree, "host1")


def test_a_machine_that_can_not_be_read_is_refused_at_once_with_the_path(driver_on, tmp_path):
    machine = two_sockets(tmp_path)
    machine.write(machine.node_directory(1) / "meminfo", "lots")

    with pytest.raises(exceptions.InvalidConfiguration) as caught:
        driver_on(machine)

    assert str(machine.node_directory(1) / "meminfo") in str(caught.value)


def test_a_machine_that_becomes_unreadable_is_refused_and_the_tree_stays(driver_on, tmp_path, tree):
    machine = two_sockets(tmp_path)
    driver = driver_on(machine, numa=True)
    (machine.procfs / "cpuinfo").unlink()

    with pytest.raises(exceptions.InvalidConfiguration, match="cpuinfo: No such file"):
        driver.update_provider_tree(tree, "host1")

    assert inventories(tree) == {"host1": {}}


def test_the_machine_the_tests_run_on_can_be_reported(make_conf, virtapi, tree):
    driver = HostDriver(virtapi, make_conf(reserved_host_memory_mb=0))
    driver.init_host("host1")

    driver.update_provider_tree(tree, "host1")

    assert {"VCPU", "MEMORY_MB"} <= set(tree.data("host1").inventory)
