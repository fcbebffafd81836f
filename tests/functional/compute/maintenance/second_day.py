"""The second cloud of the manual: a burned device, a host over capacity, and one that came back."""

import contextlib
from uuid import UUID

from compute.records.cell_database import sqlite
from compute.records.compute_node import ComputeNode
from compute.records.instance import Flavor, Instance
from placement.direct import PlacementDirect
from tests.functional.compute.outsider import Outsider
from tests.service_settings import UNTIMED

FULL, ROOMY, EARLIER, CELL, BURNED, HELD, SMALL, LARGE, GUEST = (
    str(UUID(int=(0x5D0C1A2B << 96) + (4 << 76) + (8 << 60) + 0x100 + number))
    for number in range(1, 10)
)
CARD = "CUSTOM_PCI_10DE_1DB6"
ONE_USE = ["COMPUTE_MANAGED_PCI_DEVICE", "HW_PCI_ONE_TIME_USE"]


def _stock(vcpu):
    return {"VCPU": {"total": vcpu}, "MEMORY_MB": {"total": 16384}}


def _card(reserved):
    return {CARD: {"total": 1, "max_unit": 1, "reserved": reserved}}


def populate_second(folder):
    """Make the cloud in cloud2.db, and the records of compute2 in state2."""
    state = folder / "state2"
    state.mkdir()
    with contextlib.closing(sqlite.open_in(str(state))) as cell:
        cell.compute_nodes.create(ComputeNode(FULL, "compute2", "compute2"))
        for uuid in (SMALL, LARGE):
            known = {"host": "compute2", "node": "compute2", "vm_state": "active"}
            cell.instances.create(Instance(uuid, flavor=Flavor(vcpus=4), **known))
    overrides = {
        **UNTIMED,
        ("placement_database", "connection"): f"sqlite:///{folder}/cloud2.db",
        ("placement_database", "sync_on_startup"): True,
    }
    with PlacementDirect.configured(files=[], environ=False, overrides=overrides) as adapter:
        _fill(Outsider(adapter))


def _fill(outsider):
    outsider.provider("compute2", None, _stock(16), ["OWNER_NOVA"], uuid=FULL)
    outsider.provider("compute2_0000:81:00.0", FULL, _card(0), ONE_USE, uuid=BURNED)
    outsider.provider("compute2_0000:82:00.0", FULL, _card(0), ONE_USE, uuid=HELD)
    outsider.provider("compute3", None, _stock(8), ["OWNER_NOVA"], uuid=ROOMY)
    outsider.allocate({FULL: {"VCPU": 4, "MEMORY_MB": 2048}}, SMALL)
    outsider.allocate({FULL: {"VCPU": 8, "MEMORY_MB": 4096}, HELD: {CARD: 1}}, LARGE)
    # its agent has lowered the inventory, and reserved the devices
    outsider.set_inventory(FULL, _stock(10))
    for device in (BURNED, HELD):
        outsider.set_inventory(device, _card(1))
    traits = ["CUSTOM_RACK_7", "OWNER_NOVA"]
    outsider.provider("compute4", None, _stock(8), traits, uuid=EARLIER)
    cell = {"VGPU": {"total": 2}}
    outsider.provider("compute4_numa0", EARLIER, cell, uuid=CELL)
    outsider.allocate({EARLIER: {"VCPU": 2}, CELL: {"VGPU": 1}}, GUEST)
