import errno
from pathlib import Path

import pytest

from tests.unit.virt.host.machines import two_sockets
from virt.host.kernel_facts import KernelFacts
from virt.host.sysfs_devices import read_devices
from virt.node.facts import HostFactsError, MediatedDevice
from virt.pci_device import PciDevice

CARD = "0000:84:00.0"
GPU = "0000:c1:00.0"


@pytest.fixture
def machine(tmp_path):
    return two_sockets(tmp_path)


def failing(path, error):
    """Let reading a path fail, whoever reads it."""

    def read(self, *args, **kwargs):
        if self == path:
            raise error
        return original(self, *args, **kwargs)

    original = Path.read_text
    return read


# PCI devices


def test_a_machine_without_pci_has_no_devices(machine):
    found = read_devices(machine.sysfs)

    assert (list(found.pci), found.creatable, found.mediated) == ([], {}, [])


def test_a_device_has_its_ids_its_cell_and_its_interface(machine):
    machine.add_pci_device("0000:00:1f.6", node=1, interface="eno1")

    assert read_devices(machine.sysfs).pci == [
        PciDevice("0000:00:1f.6", "8086", "1583", numa_node=1, interface="eno1")
    ]


def test_a_device_of_no_cell_has_none(machine):
    machine.add_pci_device("0000:00:1f.6")

    assert read_devices(machine.sysfs).pci[0].numa_node is None


def test_virtual_functions_are_those_there_are_and_those_that_could_be_made(machine):
    machine.add_card(CARD, "ens1", total=4, present=2, node=1)

    card, *functions = sorted(read_devices(machine.sysfs).pci, key=lambda one: one.kind)

    assert card.virtual_functions == (
        "0000:84:02.0",
        "0000:84:03.0",
        f"{CARD}-vf2",
        f"{CARD}-vf3",
    )
    assert {one.address for one in functions} == set(card.virtual_functions)
    assert {(one.product_id, one.physical_function, one.numa_node) for one in functions} == {
        ("154c", CARD, 1)
    }


def test_a_card_whose_virtual_functions_are_switched_off_has_none(machine):
    machine.add_card(CARD, "ens1", total=0)

    assert read_devices(machine.sysfs).pci[0].virtual_functions == ()


def test_a_device_that_vanishes_meanwhile_is_left_out(machine):
    machine.add_pci_device("0000:00:1f.6")
    machine.pci_device("0000:00:1f.7").symlink_to("../gone")
    (machine.pci_device("0000:00:1f.8")).mkdir()

    assert [one.address for one in read_devices(machine.sysfs).pci] == ["0000:00:1f.6"]


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("vendor", "Intel", "'Intel' is no hexadecimal number"),
        ("sriov_totalvfs", "many", "invalid literal for int"),
        ("sriov_totalvfs", "-3", "-3 is less than 0"),
        ("sriov_vf_device", "?", "'\\?' is no hexadecimal number"),
        ("numa_node", "-2", "-2 is less than -1"),
    ],
)
def test_a_broken_file_is_named_with_the_reason(machine, file, text, says):
    card = machine.add_card(CARD, "ens1", total=2)
    machine.write(card / file, text)

    with pytest.raises(HostFactsError, match=f"{CARD}/{file}: {says}"):
        read_devices(machine.sysfs)


def test_a_file_that_may_not_be_read_is_named(machine, monkeypatch):
    card = machine.add_card(CARD, "ens1", total=2)
    denied = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(Path, "read_text", failing(card / "sriov_totalvfs", denied))

    with pytest.raises(HostFactsError, match="sriov_totalvfs: Permission denied"):
        read_devices(machine.sysfs)


@pytest.mark.parametrize("code", [errno.ENOENT, errno.ENODEV, errno.ENXIO])
def test_a_device_that_vanishes_while_it_is_read_is_left_out(machine, monkeypatch, code):
    gone = machine.add_pci_device(CARD)
    machine.add_pci_device("0000:00:1f.6")
    vanished = OSError(code, "it was there a moment ago")
    monkeypatch.setattr(Path, "read_text", failing(gone / "device", vanished))

    assert [one.address for one in read_devices(machine.sysfs).pci] == ["0000:00:1f.6"]


def test_what_should_be_a_directory_and_is_none_is_named(machine):
    machine.write(machine.sysfs / "class" / "mdev_bus", "")

    with pytest.raises(HostFactsError, match="class/mdev_bus: Not a directory"):
        read_devices(machine.sysfs)


def test_what_should_be_a_link_and_is_none_is_named(machine):
    device = machine.add_pci_device(CARD)
    machine.write(device / "physfn", CARD)

    with pytest.raises(HostFactsError, match="physfn: Invalid argument"):
        read_devices(machine.sysfs)


# Mediated devices


def test_mediated_devices_are_those_made_and_those_that_could_be(machine):
    machine.add_gpu(GPU, {"nvidia-35": 3, "nvidia-36": 0}, [("a-uuid", "nvidia-36")])

    found = read_devices(machine.sysfs)

    assert found.creatable == {"pci_0000_c1_00_0": {"nvidia-35": 3, "nvidia-36": 0}}
    assert found.mediated == [MediatedDevice("a-uuid", "pci_0000_c1_00_0", "nvidia-36")]


def test_a_parent_that_is_no_pci_device_keeps_its_name(machine):
    gpu = machine.add_gpu(GPU, {"mtty-1": 24})
    (machine.sysfs / "class" / "mdev_bus" / GPU).rename(gpu.parent / "moved")
    (machine.sysfs / "class" / "mdev_bus" / "mtty.0").symlink_to(gpu)

    assert read_devices(machine.sysfs).creatable == {"mtty_0": {"mtty-1": 24}}


def test_a_broken_count_of_mediated_devices_is_named(machine):
    gpu = machine.add_gpu(GPU, {"nvidia-35": 3})
    machine.write(gpu / "mdev_supported_types" / "nvidia-35" / "available_instances", "some")

    with pytest.raises(HostFactsError, match="nvidia-35/available_instances: invalid literal"):
        read_devices(machine.sysfs)


# Huge pages


def test_huge_pages_are_counted_by_cell_and_size(machine):
    machine.set_hugepages(512, node=0)
    machine.set_hugepages(2, size_kb=1048576, node=1)
    machine.set_hugepages(0, node=1)

    assert [node.hugepages for node in KernelFacts(*machine.roots).numa_nodes()] == [
        {2048: 512},
        {1048576: 2},
    ]


def test_huge_pages_of_a_machine_without_cells_are_the_machines(tmp_path):
    machine = two_sockets(tmp_path)
    (machine.system / "node").rename(tmp_path / "elsewhere")
    machine.set_hugepages(7)

    assert [node.hugepages for node in KernelFacts(*machine.roots).numa_nodes()] == [{2048: 7}]


def test_a_broken_count_of_huge_pages_is_named(machine):
    machine.set_hugepages("lots", node=1)

    with pytest.raises(HostFactsError, match="node1/hugepages/hugepages-2048kB/nr_hugepages: inv"):
        KernelFacts(*machine.roots).numa_nodes()


def test_the_machine_the_tests_run_on_can_be_read():
    addresses = [one.address for one in read_devices("/sys").pci]

    assert len(addresses) == len(set(addresses))
