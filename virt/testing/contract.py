"""The tests every driver must pass, and those of drivers that reshape (compute.md §6.2)."""

import copy
from collections.abc import Iterable

from compute import exceptions
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Allocations
from virt.driver import ComputeDriver
from virt.testing import holdings, tree_snapshot
from virt.testing.fences import FenceContract
from virt.testing.interruption import Interrupted, InterruptibleTree
from virt.testing.scenario import (
    OPERATORS_AGGREGATE,
    OPERATORS_TRAIT,
    ContractBroken,
    ReshapeScenario,
    Scenario,
    World,
    complain,
    report,
    update,
)

#: Keys of get_available_resource that the resource tracker can't do without (compute.md §4.2).
REQUIRED_RESOURCES = (
    "vcpus",
    "memory_mb",
    "local_gb",
    "cpu_info",
    "vcpus_used",
    "memory_mb_used",
    "local_gb_used",
    "numa_topology",
)

# A driver that edits more often than that in one update is stopped at some of its edits only.
_INTERRUPTIONS = 40


class DriverContract(FenceContract):
    """Start-up and periodic updates. Subclasses have a fixture `scenario`, a Scenario."""

    def test_the_nodes_are_described(self, scenario: Scenario) -> None:
        """Each has its own name and uuid, and all the keys the compute service needs."""
        driver = scenario.start()
        nodes = list(driver.get_available_nodes())
        if not nodes or len(set(nodes)) < len(nodes):
            raise ContractBroken(f"get_available_nodes() returned {nodes!r} after init_host")
        complain(_node_complaints(driver, nodes))

    def test_a_first_start_leaves_a_picture_that_placement_takes(self, scenario: Scenario) -> None:
        """No class with a total of 0, no unknown names, ratios and reserved amounts said."""
        driver = scenario.start()
        world = World(driver)
        of_today = [update(driver, world.tree, name, "a first update") for name in world.nodes]
        complain(_picture_complaints(world, ratios_expected=all(of_today)))

    def test_what_others_have_stays_as_it_is(self, scenario: Scenario) -> None:
        """Other hosts' and operators' providers do, and so does what they put on a node."""
        driver = scenario.start()
        world = World(driver)
        for nodename in world.nodes:
            before = tree_snapshot.taken(world.tree)
            for doing in ("a first update", "a second update"):
                update(driver, world.tree, nodename, doing)
                complain(theft_complaints(world, before, nodename), doing)

    def test_a_second_update_changes_nothing(self, scenario: Scenario) -> None:
        """An update is idempotent."""
        driver = scenario.start()
        _updated_twice(driver, driver, "a second update")

    def test_a_restart_changes_nothing(self, scenario: Scenario) -> None:
        """A driver knows its providers by what is in the tree, not by what it remembers."""
        _updated_twice(scenario.start(), scenario.start(), "the first update after a restart")

    def test_a_half_edited_tree_is_finished(self, scenario: Scenario) -> None:
        """Wherever an update was stopped, the next one leads to the same tree."""
        driver = scenario.start()
        world = World(driver)
        for nodename in world.nodes:
            expected = copy.deepcopy(world.tree)
            update(driver, expected, nodename, "a first update")
            for edits in range(_INTERRUPTIONS):
                tree = InterruptibleTree(world.tree, edits)
                if not _interrupted(driver, tree, nodename):
                    break
                doing = f"an update of a tree that another one left after {edits} edits"
                update(driver, tree, nodename, doing)
                _same_but_for_uuids(expected, tree, doing)

    def test_providers_without_anything_are_filled(self, scenario: Scenario) -> None:
        """A service that ended too early leaves the driver's providers bare in Placement."""
        driver = scenario.start()
        world = World(driver)
        for nodename in world.nodes:
            expected = copy.deepcopy(world.tree)
            update(driver, expected, nodename, "a first update")
            tree = _with_bare_providers_of(expected, copy.deepcopy(world.tree))
            doing = "an update of a tree with the driver's providers, but bare"
            update(driver, tree, nodename, doing)
            _same_but_for_uuids(expected, tree, doing)

    def test_a_total_that_somebody_changed_is_put_right(self, scenario: Scenario) -> None:
        """The whole inventory of the driver's providers is reported, each time."""
        driver = scenario.start()
        world = World(driver)
        for nodename in world.nodes:
            update(driver, world.tree, nodename, "a first update")
        before = tree_snapshot.taken(world.tree)
        for name, one in before.items():
            if name not in world.foreign:
                changed = {
                    resource_class: {**record, "total": record["total"] + 7}
                    for resource_class, record in one.inventory.items()
                }
                world.tree.update_inventory(name, changed)
        for nodename in world.nodes:
            update(driver, world.tree, nodename)
        after = tree_snapshot.taken(world.tree)
        complain(tree_snapshot.differences(before, after), "an update of changed totals")


class ReshapeContract(DriverContract):
    """The start-up that reshapes, besides. The fixture `scenario` is a ReshapeScenario."""

    def test_a_reshape_is_asked_for(self, scenario: ReshapeScenario) -> None:
        """Without allocations, and even without any consumer: ReshapeNeeded."""
        world = scenario.before()
        _needed(scenario.start(), world, "an update")

    def test_a_reshape_keeps_what_consumers_have(self, scenario: ReshapeScenario) -> None:
        """Totals stay, records hold something, all fits, and only what moves is touched."""
        world = scenario.before()
        driver = scenario.start()
        for nodename in world.nodes:
            allocations = holdings.handed_over(world, nodename, scenario.held)
            before = copy.deepcopy(allocations)
            _reshape(driver, world.tree, nodename, allocations)
            complain(
                holdings.complaints(before, allocations, scenario.renamed, world.tree, world),
                "a reshape",
            )

    def test_a_reshape_leaves_a_picture_that_placement_takes(
        self, scenario: ReshapeScenario
    ) -> None:
        """As a first start does."""
        world = scenario.before()
        driver = scenario.start()
        _reshape_all(scenario, driver, world)
        complain(_picture_complaints(world), "a reshape")

    def test_a_reshape_leaves_what_others_have_as_it_is(self, scenario: ReshapeScenario) -> None:
        """Other nodes, other hosts, and operators."""
        world = scenario.before()
        driver = scenario.start()
        for nodename in world.nodes:
            before = tree_snapshot.taken(world.tree)
            allocations = holdings.handed_over(world, nodename, scenario.held)
            _reshape(driver, world.tree, nodename, allocations)
            complain(theft_complaints(world, before, nodename), "a reshape")

    def test_a_reshape_without_consumers_goes_as_well(self, scenario: ReshapeScenario) -> None:
        """There may be nothing to move but inventory, and the result is the same."""
        world = scenario.before()
        without = copy.deepcopy(world.tree)
        driver = scenario.start()
        _reshape_all(scenario, driver, world)
        for nodename in world.nodes:
            _reshape(driver, without, nodename, {})
        _same_but_for_uuids(world.tree, without, "a reshape without consumers")

    def test_a_reshape_is_done_once(self, scenario: ReshapeScenario) -> None:
        """The updates that follow, and the next start, find nothing left to do."""
        world = scenario.before()
        driver = scenario.start()
        _reshape_all(scenario, driver, world)
        before = tree_snapshot.taken(world.tree)
        for nodename in world.nodes:
            update(driver, world.tree, nodename, "the update after a reshape")
            update(scenario.start(), world.tree, nodename, "the start after a reshape")
        after = tree_snapshot.taken(world.tree)
        complain(tree_snapshot.differences(before, after), "the update after a reshape")

    def test_a_reshape_can_be_tried_again(self, scenario: ReshapeScenario) -> None:
        """After a conflict the same driver is asked anew, with the tree and the amounts of old."""
        world = scenario.before()
        fresh = copy.deepcopy(world.tree)
        driver = scenario.start()
        _reshape_all(scenario, driver, world)
        first = world.tree
        world.tree = fresh
        _needed(driver, world, "a second try of a reshape")
        _reshape_all(scenario, driver, world)
        _same_but_for_uuids(first, world.tree, "a second try of a reshape")

    def test_a_reshape_cut_short_is_finished(self, scenario: ReshapeScenario) -> None:
        """New providers may be in Placement already, bare, when the reshape itself is not done."""
        world = scenario.before()
        fresh = copy.deepcopy(world.tree)
        _reshape_all(scenario, scenario.start(), world)
        expected = world.tree
        world.tree = _with_bare_providers_of(expected, fresh)
        driver = scenario.start()
        _needed(driver, world, "the start after a reshape that was cut short")
        _reshape_all(scenario, driver, world)
        _same_but_for_uuids(expected, world.tree, "the start after a reshape that was cut short")


def _updated_twice(first: ComputeDriver, second: ComputeDriver, doing: str) -> None:
    """Update each node twice. Raises ContractBroken if the second time changes anything."""
    world = World(first)
    for nodename in world.nodes:
        update(first, world.tree, nodename, "a first update")
        before = tree_snapshot.taken(world.tree)
        update(second, world.tree, nodename, doing)
        complain(tree_snapshot.differences(before, tree_snapshot.taken(world.tree)), doing)


def _node_complaints(driver: ComputeDriver, nodes: list[str]) -> Iterable[str]:
    uuids = {}
    for nodename in nodes:
        found = driver.get_available_resource(nodename)
        missing = [key for key in REQUIRED_RESOURCES if key not in found]
        if missing:
            yield f"get_available_resource({nodename!r}) lacks {', '.join(missing)}"
        if found.get("hypervisor_hostname", nodename) != nodename:
            yield f"hypervisor_hostname of {nodename} is {found['hypervisor_hostname']!r}"
        if not driver.node_is_available(nodename):
            yield f"node_is_available({nodename!r}) is false of a node that is listed"
        if driver.is_node_deleted(nodename):
            yield f"is_node_deleted({nodename!r}) is true of a node that is listed"
        uuids[nodename] = found.get("uuid")
    if len(nodes) > 1:
        for nodename, uuid in uuids.items():
            if uuid is None:
                yield f"get_available_resource({nodename!r}) lacks the uuid: there are more nodes"
            elif driver.get_nodenames_by_uuid().get(uuid) != nodename:
                yield f"get_nodenames_by_uuid() doesn't know {nodename} by its uuid {uuid}"


def _picture_complaints(world: World, ratios_expected: bool = True) -> Iterable[str]:
    for nodename, uuid in world.nodes.items():
        if not world.tree.exists(uuid) or world.tree.data(uuid).name != nodename:
            yield f"the root provider of {nodename} is gone"
        elif world.tree.data(uuid).parent_uuid is not None:
            yield f"the root provider of {nodename} is no root any more"
    yield from tree_snapshot.faults(world.tree, world.foreign, ratios_expected)


def theft_complaints(world: World, before: tree_snapshot.Snapshot, nodename: str) -> Iterable[str]:
    """Say what changed in other nodes' trees, others' providers, and others' parts of this node."""
    other_nodes = [
        world.tree.data(uuid).name
        for name, node_uuid in world.nodes.items()
        if name != nodename and world.tree.exists(node_uuid)
        for uuid in world.tree.get_provider_uuids(node_uuid)
    ]
    theirs = {*world.foreign, *other_nodes, *(name for name in world.nodes if name != nodename)}
    yield from tree_snapshot.differences(
        {name: one for name, one in before.items() if name in theirs},
        tree_snapshot.taken(world.tree, theirs),
    )
    if not world.tree.exists(nodename):
        yield f"the root provider of {nodename} is gone"
        return
    if not world.tree.has_traits(nodename, [OPERATORS_TRAIT]):
        yield f"trait {OPERATORS_TRAIT}, an operator's, is gone from provider {nodename}"
    if not world.tree.in_aggregates(nodename, [OPERATORS_AGGREGATE]):
        yield f"aggregate {OPERATORS_AGGREGATE}, an operator's, is gone from provider {nodename}"


def _interrupted(driver: ComputeDriver, tree: InterruptibleTree, nodename: str) -> bool:
    """Run an update until it has made as many edits as `tree` takes; say if that came to pass."""
    try:
        update(driver, tree, nodename, "a first update")
    except Interrupted:
        tree.edits_left = None
        return True
    return False


def _with_bare_providers_of(source: ProviderTree, tree: ProviderTree) -> ProviderTree:
    """Add to `tree` the providers that only `source` has, with nothing in them."""
    for uuid in source.get_provider_uuids():
        one = source.data(uuid)
        if tree.exists(uuid):
            continue
        if one.parent_uuid is None:
            tree.new_root(one.name, uuid, generation=0)
        elif tree.exists(one.parent_uuid):
            tree.new_child(one.name, one.parent_uuid, uuid, generation=0)
    return tree


def _same_but_for_uuids(expected: ProviderTree, tree: ProviderTree, doing: str) -> None:
    complain(
        tree_snapshot.differences(
            tree_snapshot.taken(expected, uuids=False), tree_snapshot.taken(tree, uuids=False)
        ),
        doing,
    )


def _needed(driver: ComputeDriver, world: World, doing: str) -> None:
    for nodename in world.nodes:
        tree = copy.deepcopy(world.tree)
        try:
            report(driver, tree, nodename)
        except exceptions.ReshapeNeeded:
            continue
        raise ContractBroken(
            f"{doing} of {nodename} did not raise ReshapeNeeded, though inventory has to move"
        )


def _reshape(
    driver: ComputeDriver, tree: ProviderTree, nodename: str, allocations: Allocations
) -> None:
    """Take a node through both passes of a reshape. Raises ContractBroken."""
    try:
        report(driver, tree, nodename)
    except exceptions.ReshapeNeeded:
        pass
    else:
        raise ContractBroken(f"an update of {nodename} did not raise ReshapeNeeded")
    try:
        report(driver, tree, nodename, allocations)
    except exceptions.ReshapeNeeded as error:
        raise ContractBroken(
            f"a reshape of {nodename} raised ReshapeNeeded although it was given allocations"
        ) from error
    except exceptions.ReshapeFailed as error:
        raise ContractBroken(f"a reshape of {nodename} failed: {error}") from error


def _reshape_all(scenario: ReshapeScenario, driver: ComputeDriver, world: World) -> None:
    for nodename in world.nodes:
        allocations = holdings.handed_over(world, nodename, scenario.held)
        _reshape(driver, world.tree, nodename, allocations)
