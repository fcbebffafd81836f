"""On which providers of a tree a guest has what it has."""

import json

import pytest

from compute import config
from compute.exceptions import InvalidConfiguration
from compute.provider_tree import ProviderTree
from compute.service.driver_callbacks import NoopVirtAPI
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
from virt.node.facts import HostFactsError

WANTED = {"VCPU": 2, "MEMORY_MB": 1024, "VGPU": 2, "SRIOV_NET_VF": 1}
NETWORK = json.dumps({"devname": "ens1", "physical_network": "physnet1"})


@pytest.fixture
def known():
    return KnownHost(
        mediated_devices=mediated({1: GPUS[0], 2: GPUS[1], 3: GPUS[1]}),
        pci_devices=network_card("ens1", 0x81, 2, numa_node=1),
    )


@pytest.fixture
def driver(known):
    overrides = {
        ("devices", "enabled_mdev_types"): [TYPE],
        ("berth", "numa_in_placement"): True,
        ("pci", "device_spec"): [NETWORK],
    }
    conf = config.load(files=[], environ={}, overrides=overrides)
    return LibvirtDriver(NoopVirtAPI(), conf, known)


@pytest.fixture
def tree(driver):
    """Return the node's tree as the driver reports it."""
    tree = ProviderTree()
    tree.new_root("host1", "the root", generation=0)
    driver.update_provider_tree(tree, "host1")
    return tree


def named(tree, places):
    return {tree.data(uuid).name: amounts for uuid, amounts in places.items()}


def test_cells_cards_and_physical_gpus_are_told(driver, known, tree):
    known.there = [
        pinned(
            "guest",
            [4, 5],
            cell=1,
            mediated_devices=[mdev_uuid(1), mdev_uuid(2)],
            pci_addresses=["0000:81:10.1"],
        )
    ]
    assert named(tree, driver.places_of_guest(tree, "host1", "guest", WANTED)) == {
        "host1_numa1": {"VCPU": 2, "MEMORY_MB": 1024},
        "host1_ens1": {"SRIOV_NET_VF": 1},
        f"host1_{GPUS[0]}": {"VGPU": 1},
        f"host1_{GPUS[1]}": {"VGPU": 1},
    }


def test_a_guest_that_may_run_anywhere_has_no_cell(driver, known, tree):
    known.there = [floating("guest", 2, mediated_devices=[mdev_uuid(3)])]
    assert named(tree, driver.places_of_guest(tree, "host1", "guest", WANTED)) == {
        f"host1_{GPUS[1]}": {"VGPU": 1}
    }


def test_a_guest_that_is_not_here_is_nowhere(driver, tree):
    assert driver.places_of_guest(tree, "host1", "guest", WANTED) == {}


def test_what_is_not_in_the_tree_is_left_out(driver, known):
    known.there = [pinned("guest", [4, 5], cell=1, mediated_devices=[mdev_uuid(1)])]
    bare = ProviderTree()
    bare.new_root("host1", "the root", generation=0)
    assert driver.places_of_guest(bare, "host1", "guest", WANTED) == {}


def test_the_tree_stays_as_it_is(driver, known, tree):
    known.there = [floating("guest", mediated_devices=[mdev_uuid(3)])]
    before = [tree.data(uuid) for uuid in tree.get_provider_uuids()]
    driver.places_of_guest(tree, "host1", "guest", WANTED)
    assert [tree.data(uuid) for uuid in tree.get_provider_uuids()] == before


def test_a_class_of_its_own_is_the_devices(driver, known):
    driver.conf.set_override("mdev_classes", {TYPE: "CUSTOM_SLICE"}, group="berth")
    tree = ProviderTree()
    tree.new_root("host1", "the root", generation=0)
    driver.update_provider_tree(tree, "host1")
    known.there = [floating("guest", mediated_devices=[mdev_uuid(3)])]
    assert named(tree, driver.places_of_guest(tree, "host1", "guest", WANTED)) == {
        f"host1_{GPUS[1]}": {"CUSTOM_SLICE": 1}
    }


def test_what_can_not_be_understood_is_told_as_elsewhere(driver, known, tree):
    known.failure = HostFactsError("guest", "makes no sense")
    with pytest.raises(InvalidConfiguration, match="makes no sense"):
        driver.places_of_guest(tree, "host1", "guest", WANTED)


def test_devices_of_guests_are_told_by_their_addresses(driver, known):
    known.there = [
        pinned("guest", [4, 5], cell=1, pci_addresses=["0000:81:10.1"]),
        pinned("other", [6], cell=1),
    ]
    assert driver.devices_of_guests() == {"guest": ["0000:81:10.1"]}
