"""The contract of a driver whose devices come and go."""

import copy
from dataclasses import dataclass, field

from virt.testing import tree_snapshot
from virt.testing.contract import DriverContract
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
