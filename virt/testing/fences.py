"""The rule that what an operator fences off stays so, for every driver."""

import copy

from compute.provider_tree import ProviderTree, owners
from compute.provider_tree.cells import HUGEPAGES
from virt.testing import tree_snapshot
from virt.testing.scenario import OPERATORS_TRAIT, Scenario, World, complain, update

#: Classes of which options say what a host reserves, and those that describe its cells.
_CONFIGURED = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB", "NUMA_CORE", "NUMA_THREAD", "NUMA_MEMORY_MB")


class FenceContract:
    """A faulty device that an operator took out of use is not offered again."""

    def test_what_an_operator_keeps_of_a_device_stays_kept(self, scenario: Scenario) -> None:
        """Of the driver's providers below a root, `reserved` stays, and so do traits of others."""
        driver = scenario.start()
        world = World(driver)
        for nodename in world.nodes:
            update(driver, world.tree, nodename, "a first update")
        fence(world)
        before = tree_snapshot.taken(world.tree)
        for nodename in world.nodes:
            for doing in ("an update", "the update after a restart"):
                tree = copy.deepcopy(world.tree)
                update(driver if doing == "an update" else scenario.start(), tree, nodename, doing)
                after = tree_snapshot.taken(tree)
                complain(tree_snapshot.differences(before, after), f"{doing} of fenced devices")


def fence(world: World) -> None:
    """Reserve, as an operator, all of what the driver reports of devices, and mark it."""
    for uuid in world.tree.get_provider_uuids():
        provider = world.tree.data(uuid)
        if provider.parent_uuid is not None and provider.name not in world.foreign:
            _reserve_all(world.tree, uuid)
            world.tree.add_traits(uuid, OPERATORS_TRAIT, owners.COMPUTE)


def _reserve_all(tree: ProviderTree, uuid: str) -> None:
    inventory = tree.data(uuid).inventory
    for name, record in inventory.items():
        if name not in _CONFIGURED and not name.startswith(HUGEPAGES):
            record["reserved"] = record["total"]
    tree.update_inventory(uuid, inventory)
