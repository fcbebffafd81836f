"""The contract of two versions of a driver, or of its configuration, that report a host in turn."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations
from virt.driver import ComputeDriver
from virt.testing import holdings, tree_snapshot
from virt.testing.contract import DriverContract, theft_complaints
from virt.testing.scenario import (
    ContractBroken,
    Holdings,
    NewDriver,
    Scenario,
    World,
    complain,
    report,
    started,
)


@dataclass(frozen=True)
class TurnsScenario(Scenario):
    """A driver, and `older`: another release or configuration of it, on the same machine.

    `held` is what consumers have in the older one's form, as a ReshapeScenario has it. `renamed` is
    older class → newer class, if `new_driver` and `older` rename them.
    """

    older: NewDriver = field(kw_only=True)
    held: Holdings | None = field(default=None, kw_only=True)
    renamed: Mapping[str, str] = field(default_factory=dict, kw_only=True)


class TurnsContract(DriverContract):
    """An upgrade is taken back, and made again. The fixture `scenario` is a TurnsScenario."""

    def test_two_versions_in_turn_find_what_they_left(self, scenario: TurnsScenario) -> None:
        """Each finds the other's form, consumers keep what they have, and nothing piles up."""
        world = World(started(scenario.older, scenario.host))
        back = {new: old for old, new in scenario.renamed.items()}
        versions = {
            "the older version": (scenario.older, back),
            "the newer version": (scenario.new_driver, scenario.renamed),
        }
        held: dict[str, Allocations] = {}
        pictures: dict[str, tree_snapshot.Snapshot] = {}
        for _ in range(3):
            for name, (new_driver, renamed) in versions.items():
                for nodename in world.nodes:
                    driver = started(new_driver, scenario.host)
                    _turn(driver, world, nodename, held.get(nodename, {}), renamed, name)
                    if nodename not in held:
                        held[nodename] = holdings.handed_over(world, nodename, scenario.held)
                now = tree_snapshot.taken(world.tree, uuids=False)
                complain(
                    tree_snapshot.differences(pictures.setdefault(name, now), now),
                    f"another turn of {name}",
                )


def _turn(
    driver: ComputeDriver,
    world: World,
    nodename: str,
    allocations: Allocations,
    renamed: Mapping[str, str],
    name: str,
) -> None:
    """Start a version on a node. `allocations` move if it reshapes. Raises ContractBroken."""
    tree = world.tree
    before, had = tree_snapshot.taken(tree), copy.deepcopy(allocations)
    try:
        report(driver, tree, nodename)
        renamed = {}
    except exceptions.ReshapeNeeded:
        try:
            report(driver, tree, nodename, allocations)
        except (exceptions.ReshapeNeeded, exceptions.ReshapeFailed) as error:
            raise ContractBroken(f"a reshape to the form of {name} failed: {error!r}") from error
    complain(theft_complaints(world, before, nodename), f"a turn of {name}")
    complain(holdings.complaints(had, allocations, renamed, tree, world), f"a turn of {name}")
