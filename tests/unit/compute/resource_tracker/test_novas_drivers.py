"""A driver that derives from nova's own ComputeDriver: it has nova's words, and lists all."""

import json

import pytest

from compute import config, exceptions
from compute.records.node_identity import NodeIdentity
from compute.records.service import Service
from compute.report.wire.context import admin_context
from compute.resource_tracker import ResourceTracker
from tests.unit.compute.recording_client import RecordingReportClient
from tests.unit.compute.resource_tracker.equipped_host import HOST
from virt.fake import MediumFakeDriver
from virt.virtapi import NoopVirtAPI

NODE_UUID = "22222222-2222-4222-8222-222222222222"
CARD = "0000:81:00.0"


def device(address, product, kind="type-PCI", parent=None):
    """Return a device as nova's libvirt driver lists it."""
    found = {
        "dev_id": "pci_" + address.replace(":", "_").replace(".", "_"),
        "address": address,
        "product_id": product,
        "vendor_id": "8086",
        "numa_node": None,
        "label": f"label_8086_{product}",
        "dev_type": kind,
    }
    return found | ({"parent_addr": parent} if parent else {})


FUNCTIONS = [device(f"0000:81:10.{n}", "1533", "type-VF", CARD) for n in range(2)]
DEVICES = [
    device(CARD, "1528", "type-PF"),
    *FUNCTIONS,
    device("0000:82:00.0", "1528", "type-PF"),
    device("10000:83:00.0", "1533"),
    # as nova's fake driver lists devices
    device("0000:84:00.0", "fake-product_id") | {"vendor_id": "fake-vendor_id"},
]


class ReshapeNeeded(Exception):
    """Nova's."""


class ReshapeFailed(Exception):
    """Nova's."""


class NovasDriver:
    """Does what another driver does, and has nothing that only this library's drivers have."""

    def __init__(self, conf):
        self._driver = MediumFakeDriver(NoopVirtAPI(), conf)
        self._driver.init_host(HOST)
        self.raises = None

    def get_available_nodes(self, refresh=False):
        return [HOST]

    def node_is_available(self, nodename):
        return nodename == HOST

    def capabilities_as_traits(self):
        return self._driver.capabilities_as_traits()

    def get_available_resource(self, nodename):
        listed = {"pci_passthrough_devices": json.dumps(DEVICES)}
        return self._driver.get_available_resource(nodename) | listed

    def update_provider_tree(self, tree, nodename, allocations=None):
        if self.raises is not None:
            raise self.raises("as nova says it")
        self._driver.update_provider_tree(tree, nodename)


@pytest.fixture
def tracked(tmp_path):
    """Return a function that updates a node with these entries of the option."""

    def update(*specs, raises=None, interface=None):
        sysfs = tmp_path / "sys"
        if interface is not None:
            (sysfs / "devices" / CARD).mkdir(parents=True)
            (sysfs / "class" / "net" / interface).mkdir(parents=True)
            (sysfs / "class" / "net" / interface / "device").symlink_to(sysfs / "devices" / CARD)
        overrides = {
            (None, "host"): HOST,
            ("pci", "report_in_placement"): True,
            ("pci", "device_spec"): [json.dumps(spec) for spec in specs],
            ("berth", "sysfs_root"): str(sysfs),
        }
        conf = config.load(files=[], environ={}, overrides=overrides)
        driver = NovasDriver(conf)
        driver.raises = raises
        identity = NodeIdentity.known(NODE_UUID)
        tracker = ResourceTracker(
            HOST, driver, RecordingReportClient(), conf=conf, identity=identity
        )
        tracker.cell.services.create(Service(host=HOST))
        tracker.update_available_resource(admin_context(), HOST, startup=True)
        return tracker

    return update


def children(tracker):
    """Name without the node's → totals, and traits that aren't the service's marks."""
    tree = tracker.reportclient.tree
    below = [tree.data(uuid) for uuid in tree.get_provider_uuids(NODE_UUID)[1:]]
    return {
        one.name.removeprefix(f"{HOST}_"): (
            {name: record["total"] for name, record in one.inventory.items()},
            one.traits - {"COMPUTE_MANAGED_PCI_DEVICE", "OWNER_NOVA"},
        )
        for one in below
    }


def test_only_what_the_option_offers_is_reported_with_its_tags(tracked):
    spec = {"product_id": "1533", "resource_class": "card", "traits": "fast"}
    found = children(tracked(spec))
    assert found == {CARD: ({"CUSTOM_CARD": 2}, {"CUSTOM_FAST"})}


def test_without_the_option_nothing_is(tracked):
    tracker = tracked()
    assert children(tracker) == {}
    assert tracker.pci_tracker.stats == []


def test_an_interface_names_its_card_and_the_functions(tracked):
    tracker = tracked({"devname": "ens1", "physical_network": "net1"}, interface="ens1")
    node = tracker.get_node_by_name(HOST)
    kinds = {(pool["dev_type"], pool["count"]) for pool in node.pci_device_pools}
    assert kinds == {("type-PF", 1), ("type-VF", 2)}


def test_an_interface_that_is_not_there_names_nothing(tracked):
    tracker = tracked({"devname": "ens9", "physical_network": "net1"})
    assert tracker.get_node_by_name(HOST).pci_device_pools == []


@pytest.mark.parametrize("kind", [ReshapeNeeded, ReshapeFailed])
def test_what_it_raises_for_a_reshape_is_understood(tracked, kind):
    ours = getattr(exceptions, kind.__name__)
    with pytest.raises(ours):
        tracked(raises=kind)


def test_what_else_it_raises_is_passed_on(tracked):
    with pytest.raises(RuntimeError):
        tracked(raises=RuntimeError)
