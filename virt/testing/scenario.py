"""What a driver is tested with: how it is made, and the tree it finds others' providers in."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from compute import exceptions
from compute.provider_tree import ProviderTree
from virt.driver import ComputeDriver
from virt.inventory import record
from virt.reshape.records import Allocations

#: Makes a driver, as a start of the compute service does.
NewDriver = Callable[[], ComputeDriver]

#: Consumer uuid → provider name → class → amount.
Holdings = Mapping[str, Mapping[str, Mapping[str, int]]]

#: What somebody else than the driver keeps on the node's root.
OPERATORS_TRAIT = "CUSTOM_OPERATORS_OWN"
OPERATORS_CLASS = "CUSTOM_OPERATORS_OWN"
OPERATORS_AGGREGATE = "0e7a1c39-58a1-4d3e-9d0c-3b8a0a2f9a01"

OTHER_HOST = "another-host"


class ContractBroken(AssertionError):
    """The driver did what its contract forbids, or not what it demands; the text says what."""


@dataclass(frozen=True)
class Scenario:
    """A driver, and the host it works on.

    `new_driver` is called for each start of the service that a test makes; all starts are of the
    same machine.
    """

    new_driver: NewDriver
    host: str = "host1"

    def start(self) -> ComputeDriver:
        """Return a driver that is ready to work."""
        return started(self.new_driver, self.host)


@dataclass(frozen=True)
class ReshapeScenario(Scenario):
    """A driver that finds its nodes in a form that takes a reshape.

    `old_driver` reports the form before: the driver with another configuration, or an earlier
    release of it. `held` is what consumers have then, at home: consumer uuid → provider name →
    class → amount. Without it, some consumers have a little of everything. `renamed` is old class →
    new class, for those that get another name.
    """

    old_driver: NewDriver = field(kw_only=True)
    held: Holdings | None = field(default=None, kw_only=True)
    renamed: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    def before(self) -> "World":
        """Return the world as the service finds it that will reshape it."""
        old = started(self.old_driver, self.host)
        world = World(old)
        for nodename in world.nodes:
            update(old, world.tree, nodename, "the old driver's update")
        return world


class World:
    """A tree with the bare roots of a driver's nodes, and with what others have in it.

    `nodes` is nodename → uuid. Others have: a trait, an aggregate and a child on each node, the
    tree of another host, and a provider that shares something with the nodes.
    """

    def __init__(self, driver: ComputeDriver) -> None:
        self.tree = ProviderTree()
        self.nodes = {name: _uuid_of(driver, name) for name in driver.get_available_nodes()}
        #: names of the providers that are none of the driver's business
        self.foreign: list[str] = []
        for name, node_uuid in self.nodes.items():
            self._add_node(name, node_uuid)
        self._add_other_host()
        self._add_pool()

    def uuid(self, name: str) -> str:
        """Return the uuid of the provider called `name`."""
        return self.tree.data(name).uuid

    def _add_node(self, name: str, node_uuid: str) -> None:
        self.tree.new_root(name, node_uuid, generation=1)
        self.tree.add_traits(name, OPERATORS_TRAIT)
        self.tree.add_aggregates(name, OPERATORS_AGGREGATE)
        child = operators_child(name)
        self.tree.new_child(child, name, stable_uuid(child), generation=1)
        self._fill(child, {OPERATORS_CLASS: record(4)})

    def _add_other_host(self) -> None:
        self.tree.new_root(OTHER_HOST, stable_uuid(OTHER_HOST), generation=1)
        self._fill(OTHER_HOST, {"DISK_GB": record(100)})
        cell = f"{OTHER_HOST}_numa0"
        self.tree.new_child(cell, OTHER_HOST, stable_uuid(cell), generation=1)
        self._fill(cell, {"VCPU": record(8), "MEMORY_MB": record(8192)})

    def _add_pool(self) -> None:
        pool = "operators-pool"
        self.tree.new_root(pool, stable_uuid(pool), generation=1)
        self._fill(pool, {"IPV4_ADDRESS": record(256)})
        self.tree.add_traits(pool, "MISC_SHARES_VIA_AGGREGATE")

    def _fill(self, name: str, inventory: dict[str, dict[str, Any]]) -> None:
        self.tree.update_inventory(name, inventory)
        self.tree.add_traits(name, OPERATORS_TRAIT)
        self.tree.add_aggregates(name, OPERATORS_AGGREGATE)
        self.foreign.append(name)


def started(new_driver: NewDriver, host: str) -> ComputeDriver:
    """Return a driver after init_host."""
    driver = new_driver()
    driver.init_host(host)
    return driver


def report(
    driver: ComputeDriver,
    tree: ProviderTree,
    nodename: str,
    allocations: Allocations | None = None,
) -> bool:
    """Ask the driver as the resource tracker does; say if it knows update_provider_tree."""
    try:
        if allocations is None:
            # Drivers from before reshapes take two arguments.
            driver.update_provider_tree(tree, nodename)
        else:
            driver.update_provider_tree(tree, nodename, allocations=allocations)
    except NotImplementedError:
        _report_the_old_way(driver, tree, nodename)
        return False
    return True


def update(
    driver: ComputeDriver, tree: ProviderTree, nodename: str, doing: str = "an update"
) -> bool:
    """As report, where nothing has to move. Raises ContractBroken."""
    try:
        return report(driver, tree, nodename)
    except exceptions.ReshapeNeeded as error:
        raise ContractBroken(
            f"{doing} of {nodename} raised ReshapeNeeded, but nothing has to move"
        ) from error


def operators_child(nodename: str) -> str:
    """Return the name of the provider that an operator put below a node."""
    return f"{nodename}-operators-own"


def stable_uuid(name: str) -> str:
    """Return a uuid that follows from a name."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


def _uuid_of(driver: ComputeDriver, nodename: str) -> str:
    return driver.get_available_resource(nodename).get("uuid") or stable_uuid(nodename)


def _report_the_old_way(driver: ComputeDriver, tree: ProviderTree, nodename: str) -> None:
    try:
        tree.update_inventory(nodename, driver.get_inventory(nodename))
        tree.add_traits(nodename, *driver.get_traits(nodename))
    except NotImplementedError:
        return  # the resource tracker makes do with get_available_resource
