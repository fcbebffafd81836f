"""Placement fails at every step, and drivers break their contract (compute.md §1.6, §5.2).

Whatever happens, the service goes on unless a reshape fails, and its next update repairs it.
"""

from functools import partial
from uuid import uuid4

import pytest
from keystoneauth1.exceptions import ClientException

from compute import config, exceptions
from tests import extent
from tests.faults.running import eventually
from tests.functional.compute import fault_proxy as faults
from tests.functional.compute.compute_host import ComputeHost, NestingDriver
from tests.functional.compute.fault_proxy import FaultProxy
from virt.fake import MediumFakeDriver, MediumFakeDriverWithNestedCustomResources
from virt.inventory import record

SHARES = "MISC_SHARES_VIA_AGGREGATE"
MANY = 10
KINDS = [
    faults.ANSWER_LOST,
    faults.GARBAGE,
    faults.SERVER_ERROR,
    *(
        pytest.param(kind, marks=pytest.mark.thorough)
        for kind in (
            faults.DROPPED,
            faults.HALF_AN_ANSWER,
            faults.UNAVAILABLE,
            faults.UNAUTHORIZED,
        )
    ),
]


class RichDriver(MediumFakeDriverWithNestedCustomResources):
    """Changes a little of everything once `grown`: inventory, traits, aggregates, a child."""

    grown = True
    aggregate = str(uuid4())

    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, allocations)
        if not self.grown:
            return
        second = f"{nodename}-second"
        if not tree.exists(second):
            tree.new_child(second, nodename)
        tree.update_inventory(second, {"CUSTOM_MAGIC": record(3)})
        tree.add_traits(second, "CUSTOM_SECOND")
        tree.add_aggregates(nodename, self.aggregate)


@pytest.fixture
def proxy(placement_http):
    proxy = FaultProxy(*placement_http)
    yield proxy
    proxy.close()


@pytest.fixture(params=[True, False], ids=["whole", "one by one"])
def new_host(request, tmp_path, proxy):
    """Give a function that makes hosts which reach placement through the proxy."""
    hosts = []

    def new(seconds=60):
        new.whole = request.param
        name = f"host-{uuid4()}"
        overrides = {
            (None, "host"): name,
            (None, "state_path"): str(tmp_path / name),
            ("berth", "whole_trees"): request.param,
            ("compute", "provider_config_location"): str(tmp_path / "provider_config"),
        }
        conf = config.load(files=[], environ={}, overrides=overrides)
        hosts.append(ComputeHost(conf, lambda: proxy.adapter(seconds)))
        return hosts[-1]

    yield new
    for host in hosts:
        host.cell.close()


def at(step, kind):
    return lambda number, method, path: kind if number == step else None


def picture(outsider, host):
    """Everything placement has of the host, with names instead of what differs by chance."""
    found = outsider.call("GET", f"/resource_providers?in_tree={host.uuid}")
    return {
        row["name"].removeprefix(host.name): (
            outsider.inventory(row["uuid"]),
            outsider.traits(row["uuid"]),
            outsider.aggregates(row["uuid"]),
        )
        for row in found["resource_providers"]
    }


def steps_of(proxy, action):
    """Return at which of its requests an action is harmed: an ordinary run skips most of many."""
    proxy.reset()
    action()
    return range(0, proxy.count, extent.examples(3, 1) if proxy.count > MANY else 1)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(faults.DROPPED, marks=pytest.mark.thorough),
        faults.ANSWER_LOST,
        pytest.param(faults.GARBAGE, marks=pytest.mark.thorough),
        pytest.param(faults.SERVER_ERROR, marks=pytest.mark.thorough),
    ],
)
def test_a_first_start_that_fails_at_any_step_is_repaired_by_the_next_update(
    proxy, new_host, outsider, kind
):
    ideal = new_host()
    steps = steps_of(proxy, lambda: ideal.start(RichDriver))
    wanted = picture(outsider, ideal)
    assert steps.stop > (1 if new_host.whole else MANY)
    for step in steps:
        host = new_host()
        proxy.reset(at(step, kind))
        host.start(RichDriver)
        proxy.reset()
        host.update()
        assert host.update().failures == {}
        assert picture(outsider, host) == wanted, f"{kind} at step {step}"


@pytest.mark.parametrize(
    "kind",
    [
        faults.ANSWER_LOST,
        pytest.param(faults.HALF_AN_ANSWER, marks=pytest.mark.thorough),
        pytest.param(faults.UNAVAILABLE, marks=pytest.mark.thorough),
        faults.UNAUTHORIZED,
    ],
)
def test_a_change_that_fails_at_any_step_is_repaired_by_the_next_update(
    proxy, new_host, outsider, kind
):
    def small_host():
        host = new_host()
        host.start(RichDriver, prepare=lambda host: setattr(host.driver, "grown", False))
        return host

    def grow(host):
        host.driver.grown = True
        return host.update()

    ideal = small_host()
    steps = steps_of(proxy, lambda: grow(ideal))
    wanted = picture(outsider, ideal)
    host = small_host()
    for step in steps:
        host.driver.grown = False
        proxy.reset()
        # back to where it was
        eventually(lambda: not host.update().failures)
        proxy.reset(at(step, kind))
        grow(host)
        proxy.reset()
        host.update()
        assert host.update().failures == {}
        assert picture(outsider, host) == wanted, f"{kind} at step {step}"


def add_trait_at(outsider, host, step, trait, done, number, method, path):
    """Add a trait to the host's provider, if there is one, ahead of request `step`."""
    node = host.cell.compute_nodes.by_host_and_node(host.name, host.name)
    if number == step and outsider.exists(node.uuid):
        outsider.set_traits(node.uuid, outsider.traits(node.uuid) | {trait})
        done.append(node.uuid)


def test_a_writer_that_is_quicker_at_any_step_is_not_overwritten(proxy, new_host, outsider):
    driver_class = MediumFakeDriverWithNestedCustomResources
    ideal = new_host()
    steps = steps_of(proxy, lambda: ideal.start(driver_class))
    for step in steps:
        host, interfered = new_host(), []
        added = f"CUSTOM_{uuid4().hex.upper()}"

        interfere = partial(add_trait_at, outsider, host, step, added, interfered)
        proxy.reset(interfere)
        host.start(driver_class)
        proxy.reset()
        host.manager.reset()
        assert host.update().failures == {}
        traits = outsider.traits(host.uuid)
        assert "COMPUTE_NODE" in traits
        assert (added in traits) is bool(interfered), f"step {step}"


def test_a_silent_placement_is_given_up_and_the_next_update_works(proxy, new_host, outsider):
    host = new_host(seconds=3)
    proxy.reset(at(1 if new_host.whole else 2, faults.SILENT))
    host.start(RichDriver)
    failures = list(host.outcome.failures.values())
    proxy.reset()
    # a slow machine may need more than one
    eventually(lambda: not host.update().failures)
    assert [isinstance(failure, ClientException) for failure in failures] == [True]
    assert outsider.totals(host.uuid)["VCPU"] == 10


class TestReshape:
    @pytest.fixture
    def flat(self, new_host, outsider):
        host = new_host()
        host.start()
        host.consumer = outsider.allocate({host.uuid: {"VCPU": 1, "MEMORY_MB": 512}})
        return host

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_reshape_that_fails_ends_the_service_and_the_next_start_does_it(
        self, proxy, flat, outsider, kind
    ):
        def harm(number, method, path):
            is_whole_tree = method == "PUT" and path.startswith("/berth/v1/provider_trees/")
            return kind if path == "/reshaper" or is_whole_tree else None

        proxy.reset(harm)
        lost_answer_only = kind in (faults.ANSWER_LOST, faults.HALF_AN_ANSWER)
        try:
            flat.start(NestingDriver)
            failed = False
        except exceptions.ReshapeFailed:
            failed = True
        proxy.reset()
        flat.start(NestingDriver)
        held = outsider.allocations(flat.consumer)
        # Half of no body at all is a whole answer.
        assert failed or lost_answer_only
        assert sorted(map(sorted, held.values())) == [["MEMORY_MB"], ["VCPU"]]
        assert flat.uuid not in held

    @pytest.mark.parametrize(
        "kind",
        [faults.ANSWER_LOST, pytest.param(faults.SERVER_ERROR, marks=pytest.mark.thorough)],
    )
    def test_a_failure_before_or_after_it_leaves_nothing_that_a_start_does_not_repair(
        self, proxy, flat, outsider, kind
    ):
        steps = 40
        for step in range(0, steps, 3):
            proxy.reset(at(step, kind))
            try:
                flat.start(NestingDriver)
            except (exceptions.ReshapeFailed, exceptions.ReshapeNeeded):
                """The service ended."""
            sent = proxy.count
            proxy.reset()
            flat.start(NestingDriver)
            held = outsider.allocations(flat.consumer)
            assert flat.outcome.failures == {}
            assert sorted(map(sorted, held.values())) == [["MEMORY_MB"], ["VCPU"]]
            if sent <= step:
                # a start sends no more: nothing failed
                break


class TestUnreachable:
    def test_a_port_where_nobody_listens_is_logged_and_made_up_for(
        self, placement_http, new_adapter, host, outsider
    ):
        proxy = FaultProxy(*placement_http)
        proxy.close()
        good = host.new_adapter
        host.new_adapter = proxy.adapter
        host.start()
        failures = list(host.outcome.failures.values())
        host.new_adapter = good
        host.start()
        assert [isinstance(failure, ClientException) for failure in failures] == [True]
        assert outsider.totals(host.uuid)["VCPU"] == 10


class TestDriversThatBreakTheirContract:
    """None of them ends the service, but for a reshape."""

    @pytest.fixture
    def running(self, host):
        host.start()
        return host

    def edit(self, host, change):
        def update_provider_tree(tree, nodename, **kwargs):
            MediumFakeDriver.update_provider_tree(host.driver, tree, nodename)
            change(tree, nodename)

        host.driver.update_provider_tree = update_provider_tree
        return host.update().failures.get(host.name)

    def test_a_total_of_nothing_is_a_failed_sync_and_changes_nothing(self, running, outsider):
        before = outsider.inventory(running.uuid)
        failure = self.edit(
            running,
            lambda tree, node: tree.update_inventory(node, {"VCPU": {"total": 0}}),
        )
        assert isinstance(failure, exceptions.ResourceProviderSyncFailed)
        assert outsider.inventory(running.uuid) == before

    @pytest.mark.parametrize(
        "change",
        [
            lambda tree, node: tree.update_inventory(node, {"FOO": record(1)}),
            lambda tree, node: tree.add_traits(node, "FOO"),
        ],
        ids=["class", "trait"],
    )
    def test_r12_a_name_that_is_no_standard_one_is_a_failed_sync(self, running, change):
        failure = self.edit(running, change)
        assert isinstance(failure, exceptions.ResourceProviderSyncFailed)

    def test_a_provider_in_use_is_not_removed(self, running, outsider):
        child = outsider.provider(parent=running.uuid, inventory={"VGPU": {"total": 1}})
        consumer = outsider.allocate({child: {"VGPU": 1}})
        running.manager.reset()
        failure = self.edit(running, lambda tree, node: tree.remove(child))
        assert isinstance(failure, exceptions.ResourceProviderSyncFailed)
        assert outsider.allocations(consumer) == {child: {"VGPU": 1}}

    def test_the_storage_of_others_stays_when_a_driver_removes_it(self, running, outsider):
        aggregate = str(uuid4())
        outsider.set_aggregates(running.uuid, [aggregate])
        pool = outsider.provider(
            inventory={"DISK_GB": {"total": 9}}, traits=[SHARES], aggregates=[aggregate]
        )
        running.manager.reset()
        assert self.edit(running, lambda tree, node: tree.remove(pool)) is None
        assert outsider.totals(pool) == {"DISK_GB": 9}

    def test_removing_the_root_is_an_error_and_leaves_it(self, running, outsider):
        assert isinstance(self.edit(running, lambda tree, node: tree.remove(node)), ValueError)
        assert outsider.totals(running.uuid)["VCPU"] == 10

    def test_inventory_in_use_is_not_dropped(self, running, outsider):
        outsider.allocate({running.uuid: {"VCPU": 1}})
        failure = self.edit(
            running, lambda tree, node: tree.update_inventory(node, {"DISK_GB": record(5)})
        )
        assert isinstance(failure, exceptions.InventoryInUse)
        assert outsider.totals(running.uuid)["VCPU"] == 10

    def test_an_allocation_left_empty_is_a_failed_reshape(self, running, outsider):
        consumer = outsider.allocate({running.uuid: {"VCPU": 1}})

        class EmptyingDriver(NestingDriver):
            def move(self, allocations, tree, nodename, children):
                root = tree.data(nodename).uuid
                allocations[consumer]["allocations"][root]["resources"] = {}

        with pytest.raises(exceptions.ReshapeFailed):
            running.start(EmptyingDriver)
        assert outsider.allocations(consumer) == {running.uuid: {"VCPU": 1}}

    def test_any_other_exception_is_logged(self, running, caplog):
        failure = self.edit(running, lambda tree, node: 1 / 0)
        assert isinstance(failure, ZeroDivisionError)
        assert "Error updating resources for node" in caplog.text

    def test_another_uuid_for_a_node_is_refused(self, running, outsider):
        told = running.driver.get_available_resource(running.name)
        told["uuid"] = str(uuid4())
        running.driver.get_available_resource = lambda node: told
        failure = running.update().failures[running.name]
        assert isinstance(failure, exceptions.InvalidNodeConfiguration)
        assert not outsider.exists(told["uuid"])
