"""Drivers the commands load by name; what they manage stands in files of the state path."""

import json
import os
import uuid
from pathlib import Path

from compute.exceptions import ReshapeFailed, VirtDriverNotReady
from placement.direct import PlacementDirect
from tests.functional.compute.outsider import Outsider
from virt.fake import (
    FakeNUMAReshapeDriver,
    FakeReshapeVGPUDriver,
    FakeSharedStorageDriver,
    MediumFakeDriver,
)
from virt.fake.driver import node_uuid

MDEVS, NODES = "mdevs.json", "nodes.json"
DEVICES, GIVEN = "devices.json", "given.json"
GUESTS = "guests.json"
CONTESTS, INTERRUPTS = "contests.json", "interrupts.json"


def _read(conf, name, default):
    path = Path(conf.state_path) / name
    return json.loads(path.read_text()) if path.exists() else default


class FlatVGPUHost(FakeReshapeVGPUDriver):
    """Before: VGPU on the root."""

    def __init__(self, virtapi, conf):
        super().__init__(virtapi, conf, nested=False)


class VGPUHost(FakeReshapeVGPUDriver):
    """After: VGPU on a child for each physical GPU; who has which stands in a file."""

    def __init__(self, virtapi, conf):
        super().__init__(virtapi, conf, mdevs=_read(conf, MDEVS, {}))


class FlatDiskHost(FakeSharedStorageDriver):
    """Before: DISK_GB on the root."""

    def __init__(self, virtapi, conf):
        super().__init__(virtapi, conf, shared=False)


class PoolHost(FakeSharedStorageDriver):
    """After: DISK_GB in a pool that other hosts share."""

    @classmethod
    def uuid_of_pool(cls):
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, cls.pool_name))


class BiggerHost(MediumFakeDriver):
    """Needs no reshape, but reports other inventory than before."""

    vcpus = 12


class CellNodes(FakeNUMAReshapeDriver):
    """Many nodes, as ironic has them, each divided into cells; some can't do it."""

    def init_host(self, host):
        wanted = _read(self.conf, NODES, {"nodes": [], "failing": []})
        self._set_nodes(wanted["nodes"])
        self.failing = wanted["failing"]

    def get_available_resource(self, nodename):
        return super().get_available_resource(nodename) | {"uuid": node_uuid(nodename)}

    def get_nodenames_by_uuid(self, refresh=False):
        return {node_uuid(node): node for node in self.get_available_nodes()}

    def update_provider_tree(self, provider_tree, nodename, allocations=None):
        if nodename in self.failing and allocations is not None:
            raise ReshapeFailed(error="this one can't tell who has what")
        super().update_provider_tree(provider_tree, nodename, allocations)


class UnreadyHost(MediumFakeDriver):
    """Doesn't know its nodes yet."""

    def get_available_nodes(self, refresh=False):
        raise VirtDriverNotReady()


class RunningHost(MediumFakeDriver):
    """Its hypervisor has the guests that stand in a file."""

    def list_instance_uuids(self):
        return _read(self.conf, GUESTS, [])


class PassingHost(RunningHost):
    """Its hypervisor also tells which devices of a file it has given to guests."""

    def devices_of_guests(self):
        return _read(self.conf, GIVEN, {})


class SilentHost(MediumFakeDriver):
    """Can't list guests, as a driver that has nova's base class and no more."""

    def list_instance_uuids(self):
        raise NotImplementedError


class BrokenHost(MediumFakeDriver):
    """Has no hypervisor to talk to."""

    def init_host(self, host):
        raise OSError("no hypervisor answers")


class ContestedNodes(CellNodes):
    """While it reshapes, somebody else writes the node's inventory, as often as a file says."""

    def update_provider_tree(self, provider_tree, nodename, allocations=None):
        super().update_provider_tree(provider_tree, nodename, allocations)
        path = Path(self.conf.state_path) / CONTESTS
        left = json.loads(path.read_text())["left"]
        if allocations is not None and left:
            path.write_text(json.dumps({"left": left - 1}))
            self._touch(nodename)

    def _touch(self, nodename):
        url = self.conf.placement_database.connection
        overrides = {("placement_database", "connection"): url}
        with PlacementDirect.configured(files=[], environ=False, overrides=overrides) as adapter:
            outsider = Outsider(adapter)
            outsider.set_inventory(node_uuid(nodename), outsider.inventory(node_uuid(nodename)))


class InterruptedNodes(CellNodes):
    """While the first node is reshaped the signals come that stand in a file."""

    def update_provider_tree(self, provider_tree, nodename, allocations=None):
        super().update_provider_tree(provider_tree, nodename, allocations)
        path = Path(self.conf.state_path) / INTERRUPTS
        numbers = json.loads(path.read_text())["signals"]
        if allocations is not None:
            path.write_text(json.dumps({"signals": []}))
            for number in numbers:
                os.kill(os.getpid(), number)


class DeviceHost(FakeNUMAReshapeDriver):
    """Cells, and the PCI devices that stand in a file."""

    def get_available_resource(self, nodename):
        devices = _read(self.conf, DEVICES, [])
        return super().get_available_resource(nodename) | {
            "pci_passthrough_devices": json.dumps(devices)
        }


class FlatDeviceHost(DeviceHost):
    """As DeviceHost, before it knew its cells."""

    def __init__(self, virtapi, conf):
        super().__init__(virtapi, conf, modelled=False)


class FlatNodes(CellNodes):
    """The way back: all that the cells had is the node's again."""

    def __init__(self, virtapi, conf):
        super().__init__(virtapi, conf, modelled=False)
