"""The contract of a driver whose devices come and go."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from virt.testing import tree_snapshot
from virt.testing.contract import DriverContract
from virt.testing.fences import fence
from virt.testing.scenario import NewDriver, Scenario, World, complain, started, update


@dataclass(frozen=True)
class DeviceScenario(Scenario):
    """A driver of a host with devices, and `without`: the driver of the same host without some.

    No consumer holds anything of them.
    """

    without: NewDriver = field(kw_only=True)


class DeviceContract(DriverContract):
    """Devices go and come back, besides. The fixture `scenario` is a DeviceScenario."""

    def test_a_device_that_goes_takes_only_its_own_with_it(self, scenario: DeviceScenario) -> None:
        """Then the tree is that of a host that never had it."""
        never, gone = _start(scenario.without, scenario), _start(scenario.new_driver, scenario)
        _update(scenario.without, gone, scenario)
        _complain_of_difference(never, gone, "an update after devices went")

    def test_a_device_that_comes_back_is_as_before(self, scenario: DeviceScenario) -> None:
        """Though its provider is another one."""
        world = _start(scenario.new_driver, scenario)
        before = copy.deepcopy(world)
        for new_driver in (scenario.without, scenario.new_driver):
            _update(new_driver, world, scenario)
        _complain_of_difference(before, world, "an update after devices came back")

    def test_a_fenced_device_that_comes_back_is_fenced(self, scenario: DeviceScenario) -> None:
        """What an operator reserved as a whole isn't offered, neither meanwhile nor afterwards."""
        world = _start(scenario.new_driver, scenario)
        fence(world)
        before = tree_snapshot.taken(world.tree, uuids=False)
        _update(scenario.without, world, scenario)
        complain(_offered(world, before), "an update after fenced devices went")
        _update(scenario.new_driver, world, scenario)
        complain(_offered(world, before), "an update after fenced devices came back")


def _offered(world: World, fenced: tree_snapshot.Snapshot) -> Iterator[str]:
    """Say of which providers, wholly reserved in `fenced`, there is something to be had."""
    for name, one in tree_snapshot.taken(world.tree).items():
        before = fenced.get(name)
        if before is None or not before.inventory or not _is_reserved(before.inventory):
            continue
        if one.inventory and not _is_reserved(one.inventory):
            yield f"provider {name}, which an operator reserved, offers {dict(one.inventory)}"


def _is_reserved(inventory: Mapping[str, Mapping[str, Any]]) -> bool:
    return all(record["reserved"] >= record["total"] for record in inventory.values())


def _start(new_driver: NewDriver, scenario: Scenario) -> World:
    world = World(started(new_driver, scenario.host))
    _update(new_driver, world, scenario)
    return world


def _update(new_driver: NewDriver, world: World, scenario: Scenario) -> None:
    for nodename in world.nodes:
        update(started(new_driver, scenario.host), world.tree, nodename)


def _complain_of_difference(expected: World, found: World, doing: str) -> None:
    pictures = (tree_snapshot.taken(world.tree, uuids=False) for world in (expected, found))
    complain(tree_snapshot.differences(*pictures), doing)
