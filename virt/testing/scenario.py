"""What a driver is tested with: how it is made, and a tree with providers of others."""

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from compute import exceptions
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Allocations
from virt.driver import ComputeDriver
from virt.inventory import record

#: Makes a driver, as a start of the compute service does.
NewDriver = Callable[[], ComputeDriver]

#: Consumer uuid → provider name → class → amount.
Holdings = Mapping[str, Mapping[str, Mapping[str, int]]]

#: What somebody else than the driver keeps on the node's root.
OPERATORS_TRAIT = "CUSTOM_OPERATORS_OWN"
OPERATORS_CLASS = "CUSTOM_OPERATORS_OWN"
OPERATORS_AGGREGATE = "0e7a1c39-58a1-4d3e-9d0c-3b8a0a2f9a01"

#: Classes of which the providers of other services and operators below a node have inventory, too.
#: A driver must not take a class for its own by its name, nor the consumers that hold some of it.
USUAL_CLASSES = frozenset(
    {"VCPU", "MEMORY_MB", "DISK_GB", "VGPU", "FPGA", "SRIOV_NET_VF", "MEM_ENCRYPTION_CONTEXT"}
)

#: The trait by which another service marks what is its own.
OTHER_OWNER = "OWNER_CYBORG"

OTHER_HOST = "another-host"


class ContractBroken(AssertionError):
    """The driver did what its contract forbids, or not what it demands; the text says what."""


def complain(complaints: Iterable[str], doing: str = "") -> None:
    """Raise ContractBroken with the complaints, if there are any."""
    lines = list(complaints)
    if lines:
        raise ContractBroken("\n".join([f"after {doing}:"] * bool(doing) + lines))


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
        """Return the world as the service finds it that will reshape it.

        Of each class that the driver reports, before or after, others have some below the node too.
        """
        old = started(self.old_driver, self.host)
        classes = _reported_classes(self.old_driver, self.host)
        classes |= _reported_classes(self.new_driver, self.host)
        world = World(old, classes.union(self.renamed, self.renamed.values()))
        for nodename in world.nodes:
            update(old, world.tree, nodename, "the old driver's update")
            world.settle_below(nodename)
        return world


class World:
    """A tree with the bare roots of a driver's nodes, and with what others have in it.

    `nodes` is nodename → uuid. Others have: a trait and an aggregate on each node, an operator's
    child and an accelerator service's below it, both with inventory of `classes`; the tree of
    another host; and a provider that shares something with the nodes.
    """

    def __init__(self, driver: ComputeDriver, classes: Collection[str] = USUAL_CLASSES) -> None:
        self.tree = ProviderTree()
        self._classes = sorted(classes)
        self.nodes = {name: _uuid_of(driver, name) for name in driver.get_available_nodes()}
        #: names of the providers that aren't the driver's
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
        for child in (operators_child(name), accelerators_child(name)):
            self.tree.new_child(child, name, stable_uuid(child), generation=1)
            inventory = {OPERATORS_CLASS: record(9999)}
            self._fill(child, inventory | {one: record(9999) for one in self._classes})
        self.tree.add_traits(accelerators_child(name), OTHER_OWNER)

    def settle_below(self, nodename: str) -> None:
        """Give the accelerator service a child below each provider of the driver's.

        A provider that the driver no longer wants has to stay then, without inventory.
        """
        for parent_uuid in self.tree.get_provider_uuids(nodename)[1:]:
            parent = self.tree.data(parent_uuid).name
            if parent not in self.foreign:
                child = accelerators_child(parent)
                self.tree.new_child(child, parent_uuid, stable_uuid(child), generation=1)
                self._fill(child, {one: record(9999) for one in self._classes})
                self.tree.add_traits(child, OTHER_OWNER)

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


def _reported_classes(new_driver: NewDriver, host: str) -> set[str]:
    """Return the classes that a driver reports at a first start, until it fails, if it does."""
    driver = started(new_driver, host)
    world = World(driver, ())
    for nodename in world.nodes:
        # A driver that breaks the contract here fails in the test of that rule.
        with suppress(ContractBroken, exceptions.NovaException, ValueError):
            update(driver, world.tree, nodename)
    return {
        resource_class
        for uuid in world.tree.get_provider_uuids()
        if world.tree.data(uuid).name not in world.foreign
        for resource_class in world.tree.data(uuid).inventory
    }


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
    """Ask the driver as the resource tracker does; return if it has update_provider_tree."""
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
    """Call `report` where nothing has to move. Raises ContractBroken if the driver wants to."""
    try:
        return report(driver, tree, nodename)
    except exceptions.ReshapeNeeded as error:
        raise ContractBroken(
            f"{doing} of {nodename} raised ReshapeNeeded, but nothing has to move"
        ) from error


def operators_child(nodename: str) -> str:
    """Return the name of the provider that an operator put below a node."""
    return f"{nodename}-operators-own"


def accelerators_child(nodename: str) -> str:
    """Return the name of the provider that an accelerator service put below a node."""
    return f"{nodename}_accelerator"


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
