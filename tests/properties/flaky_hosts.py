"""Compute hosts of a test: driver, connection to placement, and state that survives a restart."""

import json
from dataclasses import dataclass, field

from keystoneauth1.adapter import Adapter
from keystoneauth1.exceptions import ClientException, ConnectFailure

from compute import config, exceptions
from compute.records.instance import Flavor
from compute.records.node_identity import NodeIdentity
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from compute.resource_tracker import ResourceTracker
from virt.fake import FakeDriver
from virt.virtapi import NoopVirtAPI

CONTEXT = admin_context()
FLAVORS = [
    Flavor(vcpus=1, memory_mb=512, root_gb=1, name="tiny"),
    Flavor(vcpus=2, memory_mb=1024, root_gb=10, ephemeral_gb=5, swap=1500, name="small"),
    Flavor(vcpus=4, memory_mb=2048, root_gb=20, name="large"),
]
WHOLE, FUNCTION = "CUSTOM_WHOLE", "CUSTOM_FUNCTION"
CARD = "0000:05:00.0"
DEVICES = [
    {
        "address": f"0000:0{n}:00.0",
        "dev_type": "type-PCI",
        "vendor_id": "8086",
        "product_id": "1",
        "resource_class": WHOLE,
    }
    for n in (1, 2, 3)
] + [
    {
        "address": f"0000:05:00.{n}",
        "parent_addr": CARD,
        "dev_type": "type-VF",
        "vendor_id": "8086",
        "product_id": "2",
        "resource_class": FUNCTION,
    }
    for n in (1, 2)
]
WHOLE_ONES = {device["address"] for device in DEVICES if device["resource_class"] == WHOLE}
CELL_MEMORY = 8192
CELLS = {"cells": [{"id": n, "cpus": list(range(4)), "memory_mb": CELL_MEMORY} for n in (0, 1)]}
RESERVED_MEMORY = 512
NOWHERE = (None, None)

PLACEMENT_IS_AWAY = "away"
ANSWERS_ARE_LOST = "lost"


class EquippedDriver(FakeDriver):
    """Two NUMA cells, three whole devices, and a card with two functions."""

    vcpus, memory_mb, local_gb = 64, 65536, 1000

    def get_available_resource(self, nodename):
        return super().get_available_resource(nodename) | {
            "numa_topology": json.dumps(CELLS),
            "pci_passthrough_devices": [dict(device) for device in DEVICES],
        }


class FlakyAdapter(Adapter):
    """Reaches placement as `trouble` says: not at all, or so that answers to writes are lost."""

    def __init__(self, sound):
        super().__init__(session=None)
        self.sound = sound
        self.trouble = None
        #: called once, before the next write of allocations
        self.before_write = None
        #: whether something was written since somebody looked
        self.wrote = False

    def request(self, url, method, **kwargs):
        if self.trouble == PLACEMENT_IS_AWAY:
            raise ConnectFailure("placement is away")
        self.wrote |= method != "GET"
        if self.before_write is not None and method == "PUT" and url.startswith("/allocations/"):
            act, self.before_write = self.before_write, None
            act()
        answer = self.sound.request(url, method, **kwargs)
        if self.trouble == ANSWERS_ARE_LOST and method != "GET":
            raise ConnectFailure("the answer is lost")
        return answer


@dataclass
class Settings:
    """How the hosts are configured, and whether the scheduler allocates devices."""

    allocation_writer: str
    report_in_placement: bool = False
    shared_storage: bool = False
    ordered_devices: bool = False
    shape: str | None = None


@dataclass
class Guest:
    """An instance as the services know it.

    `holds` is what it should hold: host name → its flavors there. `by_scheduler` says who claims
    for it in placement.
    """

    uuid: str
    by_scheduler: bool
    flavor: Flavor
    phase: str = "new"
    holds: dict = field(default_factory=dict)
    migration: int | None = None
    source: str | None = None
    dest: str | None = None
    moves_to: Flavor | None = None
    given: dict | None = None
    wants_cells: dict | None = None

    @property
    def moves(self):
        """Whether it has what was claimed for a move, beside what it had."""
        return self.phase.endswith("claimed") or self.phase in ("resized", "resize switched")


class Host:
    """A compute host: what stays while its service is restarted."""

    def __init__(self, name, world, folder):
        self.name, self.world = name, world
        overrides = {
            (None, "host"): name,
            (None, "state_path"): str(folder),
            ("compute", "allocation_writer"): world.settings.allocation_writer,
            ("compute", "provider_config_location"): str(folder / "none"),
            ("pci", "report_in_placement"): world.settings.report_in_placement,
            ("berth", "instances_on_shared_storage"): world.settings.shared_storage,
        }
        self.conf = config.load(files=[], environ={}, overrides=overrides)
        self.folder = folder
        self.tracker = self.adapter = None
        self.trouble = None
        self.start()

    @property
    def uuid(self):
        return self.world.cell.compute_nodes.by_host_and_node(self.name, self.name).uuid

    @property
    def node(self):
        return self.tracker.compute_nodes.get(self.name)

    def start(self):
        """Start the service anew: all that it remembered is gone."""
        self.adapter = FlakyAdapter(self.world.new_adapter())
        self.adapter.trouble = self.trouble
        client = SchedulerReportClient(self.adapter, conf=self.conf, sleep=lambda seconds: None)
        driver = self.world.new_driver(NoopVirtAPI(), self.conf)
        driver.init_host(self.name)
        identity = NodeIdentity(str(self.folder))
        self.tracker = ResourceTracker(
            self.name, driver, client, conf=self.conf, cell=self.world.cell, identity=identity
        )
        return self.update(startup=True)

    def update(self, startup=False):
        """One periodic run, as the manager does it; return whether it went through."""
        try:
            self.tracker.update_available_resource(CONTEXT, self.name, startup=startup)
        except (exceptions.NovaException, ClientException):
            if self.trouble is None:
                raise
            return False
        return True

    def reach(self, trouble):
        """Change how the host reaches placement."""
        self.trouble = self.adapter.trouble = trouble


class SpawnFailed(Exception):
    """What a hypervisor may say amid a claim."""


REFUSALS = (SpawnFailed, exceptions.NovaException, ClientException)
TASKS = {
    "resize": "resize_prep",
    "live-migration": "migrating",
    "evacuation": "rebuilding",
}
