"""A compute host whose service can be started again and again, and drivers that need a reshape."""

from compute.cell_database import sqlite
from compute.context import admin_context
from compute.exceptions import ReshapeNeeded
from compute.manager import ComputeManager
from compute.node_identity import NodeIdentity
from compute.report import SchedulerReportClient
from compute.service_runner import ServiceRunner
from compute.virtapi import ComputeVirtAPI
from virt.fake import MediumFakeDriver


class ComputeHost:
    """What stays on the host while services come and go: its name, identity and records.

    `adapter` and `driver` are those of the service started last.
    """

    def __init__(self, conf, new_adapter):
        self.conf = conf
        self.name = conf.host
        self.new_adapter = new_adapter
        self.cell = sqlite.open_in(conf.state_path)
        self.adapter = None
        self.driver = None
        self.manager = None
        self.outcome = None

    @property
    def uuid(self):
        return self.cell.compute_nodes.by_node(self.name).uuid

    def start(self, driver_class=MediumFakeDriver, prepare=None):
        """Start the service as the agent does and return its manager.

        `prepare` is called with this host when everything is built and nothing has run.
        """
        identity = NodeIdentity(self.conf.state_path)
        self.adapter = self.new_adapter()
        client = SchedulerReportClient(self.adapter, self.conf, sleep=lambda seconds: None)
        virtapi = ComputeVirtAPI(client, identity)
        self.driver = driver_class(virtapi, self.conf)
        self.manager = ComputeManager(self.conf, self.driver, client, self.cell, identity, virtapi)
        if prepare:
            prepare(self)
        self.outcome = ServiceRunner(self.manager, self.cell, self.conf).start()
        return self.manager

    def update(self):
        """One periodic update."""
        return self.manager.update_available_resource(admin_context())

    def reshapes(self):
        """How many reshapes the service asked placement for."""
        return [sent[:2] for sent in self.adapter.requests].count(("POST", "/reshaper"))


class NestingDriver(MediumFakeDriver):
    """Moves the root's VCPU to a first child and its MEMORY_MB to a second.

    Notes in `asked` how it was called: nodename, and the names of keyword arguments.
    """

    def __init__(self, virtapi, conf):
        super().__init__(virtapi, conf)
        self.asked = []

    def update_provider_tree(self, tree, nodename, **kwargs):
        self.asked.append((nodename, sorted(kwargs)))
        children = {"VCPU": f"{nodename}_numa1", "MEMORY_MB": f"{nodename}_numa2"}
        whole = self._root_inventory(tree.data(nodename).inventory)
        for name, child in children.items():
            if not tree.exists(child):
                tree.new_child(child, nodename)
            tree.update_inventory(child, {name: whole[name]})
        if "VCPU" in tree.data(nodename).inventory:
            if "allocations" not in kwargs:
                raise ReshapeNeeded()
            self.move(kwargs["allocations"], tree, nodename, children)
        tree.update_inventory(nodename, {"DISK_GB": whole["DISK_GB"]})

    def move(self, allocations, tree, nodename, children):
        root = tree.data(nodename).uuid
        for body in allocations.values():
            held = body["allocations"].get(root)
            for name, child in children.items():
                if held and name in held["resources"]:
                    amount = held["resources"].pop(name)
                    body["allocations"][tree.data(child).uuid] = {"resources": {name: amount}}
            if held and not held["resources"]:
                del body["allocations"][root]


class ForgetfulNestingDriver(NestingDriver):
    """Moves inventory and forgets the allocations: placement refuses that."""

    def move(self, allocations, tree, nodename, children):
        """Nothing is moved."""


class LateNestingDriver(NestingDriver):
    """Reports a flat host the first time, and nests afterwards."""

    def update_provider_tree(self, tree, nodename, **kwargs):
        if tree.data(nodename).inventory:
            super().update_provider_tree(tree, nodename, **kwargs)
        else:
            MediumFakeDriver.update_provider_tree(self, tree, nodename, **kwargs)
