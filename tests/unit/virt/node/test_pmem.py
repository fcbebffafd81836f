import pytest

from compute.exceptions import InvalidConfiguration
from compute.provider_tree import Resource
from tests.unit.virt.conftest import ROOT_UUID
from tests.unit.virt.host.machines import Machine
from virt.inventory import record
from virt.node.facts import HostFactsError
from virt.node.pmem import parse_labels, read_namespaces

CLASS = "CUSTOM_PMEM_NAMESPACE_"
OPTION = ["SMALL:ns0|ns1", "big:ns2"]


@pytest.fixture
def host(host):
    host.change(pmem_namespaces={"ns0": 128, "ns1": 128, "ns2": 512})
    return host


def test_each_label_is_a_class_with_its_namespaces_as_resources(make_driver, tree, host):
    make_driver(libvirt__pmem_namespaces=OPTION).update_provider_tree(tree, "host1")
    root = tree.data("host1")
    assert root.inventory[f"{CLASS}SMALL"] == record(2)
    assert root.inventory[f"{CLASS}BIG"] == record(1)
    assert root.resources == {
        f"{CLASS}SMALL": {Resource(ROOT_UUID, f"{CLASS}SMALL", name) for name in ("ns0", "ns1")},
        f"{CLASS}BIG": {Resource(ROOT_UUID, f"{CLASS}BIG", "ns2")},
    }


def test_what_is_no_longer_configured_is_gone(make_driver, tree, host):
    make_driver(libvirt__pmem_namespaces=OPTION).update_provider_tree(tree, "host1")
    make_driver().update_provider_tree(tree, "host1")
    root = tree.data("host1")
    assert (root.resources, [name for name in root.inventory if CLASS in name]) == ({}, [])


@pytest.mark.parametrize(
    ("option", "complaint"), [("A:ns0|ns9", "ns9"), ("A:ns0|ns2", "different sizes")]
)
def test_namespaces_that_are_not_there_or_not_alike_are_refused(
    make_driver, tree, host, option, complaint
):
    driver = make_driver(libvirt__pmem_namespaces=[option])
    with pytest.raises(InvalidConfiguration, match=rf"pmem_namespaces.*{complaint}"):
        driver.update_provider_tree(tree, "host1")


@pytest.mark.parametrize(
    "texts",
    [["ns0"], ["A:"], ["A:ns0||ns1"], [":ns0"], ["A-B:ns0"], ["A:x", "a:y"], ["A:x", "B:x"]],
)
def test_an_option_that_makes_no_sense_is_refused_at_the_start(make_driver, texts):
    with pytest.raises(InvalidConfiguration, match="pmem_namespaces"):
        make_driver(libvirt__pmem_namespaces=texts)


def test_labels_may_have_several_namespaces():
    assert parse_labels(["a : x | y"]) == {"A": ["x", "y"]}


def test_namespaces_are_read_from_sysfs(tmp_path):
    machine = Machine(tmp_path)
    machine.add_namespace("namespace0.0", "ns0", 1024)
    machine.add_namespace("namespace0.1", "", 1024)
    machine.add_namespace("namespace0.2", "empty", 0)
    assert read_namespaces(machine.sysfs) == {"ns0": 1024}
    assert read_namespaces(tmp_path / "nowhere") == {}


def test_a_namespace_that_cannot_have_a_name_is_left_out(tmp_path):
    """Memory that the firmware or the boot line sets aside has no labels."""
    machine = Machine(tmp_path)
    nameless = machine.add_namespace("namespace0.0", "", 1024)
    (nameless / "alt_name").unlink()
    machine.add_namespace("namespace1.0", "ns0", 1024)
    assert read_namespaces(machine.sysfs) == {"ns0": 1024}


def test_a_namespace_whose_files_are_broken_is_named(tmp_path):
    machine = Machine(tmp_path)
    place = machine.add_namespace("namespace0.0", "ns0", "large")
    with pytest.raises(HostFactsError, match=r"namespace0\.0/size.*large"):
        read_namespaces(machine.sysfs)
    (place / "size").unlink()
    with pytest.raises(HostFactsError, match=r"namespace0\.0/size"):
        read_namespaces(machine.sysfs)
