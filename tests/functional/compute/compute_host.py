"""A compute host whose service can be started again and again, and drivers that need a reshape."""

from uuid import uuid4

from compute.exceptions import ReshapeNeeded
from compute.records.node_identity import NodeIdentity
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from compute.service.manager import ComputeManager
from compute.service.runner import ServiceRunner
from compute.service.virtapi import ComputeVirtAPI
from tests.functional.compute import cells
from virt.fake import FakeMultiNodeDriver, MediumFakeDriver
from virt.inventory import record


class ComputeHost:
    """What stays on the host while services come and go: its name, identity and records.

    `adapter` and `driver` are those of the service started last; `watcher` hears what the next one
    does.
    """

    def __init__(self, conf, new_adapter):
        self.conf = conf
        self.name = conf.host
        self.new_adapter = new_adapter
        self.cell = cells.opened(conf.state_path)
        self.adapter = None
        self.driver = None
        self.manager = None
        self.outcome = None
        self.watcher = None

    @property
    def uuid(self):
        return self.cell.compute_nodes.by_host_and_node(self.name, self.name).uuid

    def start(self, driver_class=MediumFakeDriver, prepare=None):
        """Start the service as the agent does and return its manager.

        `prepare` is called with this host when everything is built and nothing has run.
        """
        identity = NodeIdentity(self.conf.state_path)
        self.adapter = self.new_adapter()
        client = SchedulerReportClient(self.adapter, conf=self.conf, sleep=lambda seconds: None)
        virtapi = ComputeVirtAPI(client, identity, self.cell)
        self.driver = driver_class(virtapi, self.conf)
        self.manager = ComputeManager(
            self.conf, self.driver, client, self.cell, identity, virtapi, self.watcher
        )
        if prepare:
            prepare(self)
        self.outcome = ServiceRunner(self.manager, self.cell, self.conf).start()
        return self.manager

    def update(self):
        """One periodic update."""
        return self.manager.update_available_resource(admin_context())

    def moves(self):
        """How many requests of the last start may have moved inventory, in either way.

        Where nothing else is to be written, a whole tree is written for a reshape alone.
        """
        return self.reshapes() + self.whole_writes()

    def reshapes(self):
        """How many reshapes the service asked placement for, as requests of their own."""
        return [sent[:2] for sent in self.adapter.requests].count(("POST", "/reshaper"))

    def whole_writes(self):
        """How often the service asked placement to write its whole tree."""
        return sum(
            method == "PUT" and url.startswith("/berth/v1/provider_trees/")
            for method, url, _ in self.adapter.requests
        )


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


class SpreadingDriver(MediumFakeDriver):
    """Two cells with two cards each below them, and a shared storage pool (compute.md §9.3, R4)."""

    FUNCTIONS = {
        "pf1_1": ("numa1", 2, "CUSTOM_PHYSNET_0"),
        "pf1_2": ("numa1", 3, "CUSTOM_PHYSNET_1"),
        "pf2_1": ("numa2", 3, "CUSTOM_PHYSNET_1"),
        "pf2_2": ("numa2", 4, "CUSTOM_PHYSNET_0"),
    }

    def __init__(self, virtapi, conf):
        super().__init__(virtapi, conf)
        self.asked = []
        self.pool = str(uuid4())
        self.aggregate = str(uuid4())

    def update_provider_tree(self, tree, nodename, **kwargs):
        self.asked.append((nodename, sorted(kwargs)))
        move = bool(tree.data(nodename).inventory)
        if move and "allocations" not in kwargs:
            raise ReshapeNeeded()
        self._lay_out(tree, nodename)
        if move:
            self._move(tree, nodename, kwargs["allocations"])

    def _lay_out(self, tree, nodename):
        tree.update_inventory(nodename, {})
        tree.add_aggregates(nodename, self.aggregate)
        if not tree.exists(self.pool):
            tree.new_root(f"{nodename}-ssp", self.pool)
        tree.update_inventory(self.pool, {"DISK_GB": record(500)})
        tree.add_traits(self.pool, "MISC_SHARES_VIA_AGGREGATE", "STORAGE_DISK_SSD")
        tree.add_aggregates(self.pool, self.aggregate)
        for number, cell in enumerate(("numa1", "numa2"), start=1):
            self._child(tree, nodename, f"{nodename}-{cell}")
            tree.update_inventory(
                f"{nodename}-{cell}",
                {"VCPU": record(10 * number), "MEMORY_MB": record(1048576 * number)},
            )
        for name, (cell, functions, network) in self.FUNCTIONS.items():
            self._child(tree, f"{nodename}-{cell}", f"{nodename}-{name}")
            tree.update_inventory(f"{nodename}-{name}", {"SRIOV_NET_VF": record(functions)})
            tree.add_traits(f"{nodename}-{name}", network)

    def _child(self, tree, parent, name):
        if not tree.exists(name):
            tree.new_child(name, parent)

    def _move(self, tree, nodename, allocations):
        uuid_of = {
            name: tree.data(f"{nodename}-{name}").uuid for name in ("numa1", "numa2", "pf1_1")
        }
        places = {"VCPU": uuid_of["numa1"], "MEMORY_MB": uuid_of["numa2"], "DISK_GB": self.pool}
        for body in allocations.values():
            held = body["allocations"].pop(tree.data(nodename).uuid)["resources"]
            for name, amount in held.items():
                body["allocations"][places[name]] = {"resources": {name: amount}}
            body["allocations"][uuid_of["pf1_1"]] = {"resources": {"SRIOV_NET_VF": 1}}


class DetailedDriver(MediumFakeDriver):
    """Reports a class, traits and aggregates of its own (R3)."""

    aggregates = (str(uuid4()), str(uuid4()))

    def update_provider_tree(self, tree, nodename, **kwargs):
        tree.update_inventory(
            nodename,
            {
                "VCPU": record(8, allocation_ratio=2.0),
                "MEMORY_MB": record(4096, 256),
                "CUSTOM_BANDWIDTH": record(1000),
            },
        )
        tree.add_traits(nodename, "HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "CUSTOM_GOLD")
        tree.add_aggregates(nodename, *self.aggregates)


class FreshPairDriver(FakeMultiNodeDriver):
    """Two nodes with names of their own at each start of a test."""

    def __init__(self, virtapi, conf):
        super().__init__(virtapi, conf, [f"a-{conf.host}", f"b-{conf.host}"])


def nodes_uuid(host, nodename):
    """Return the uuid of the node's record."""
    return host.cell.compute_nodes.by_host_and_node(host.name, nodename).uuid


def writes_of_an_update(host):
    """Return the writes that one periodic update sends."""
    host.adapter.requests.clear()
    host.update()
    return host.adapter.writes
