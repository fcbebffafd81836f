"""The tracker's regular work through a real placement service (compute.md §9.3, R2 to R35)."""

import logging

import pytest
from keystoneauth1.exceptions import ConnectFailure

from compute import exceptions
from tests.functional.compute.compute_host import (
    ComputeHost,
    DetailedDriver,
    FreshPairDriver,
    NestingDriver,
    nodes_uuid,
    writes_of_an_update,
)
from virt.fake import (
    MediumFakeDriver,
    MediumFakeDriverWithNestedCustomResources,
)


def ratios(outsider, uuid):
    return {name: held["allocation_ratio"] for name, held in outsider.inventory(uuid).items()}


def test_two_first_starts_at_once_share_one_record(host, outsider):
    rival = ComputeHost(host.conf, host.new_adapter)

    class OvertakenDriver(MediumFakeDriver):
        """While it starts, another service of the host starts, from the first line to the last."""

        def init_host(self, name):
            super().init_host(name)
            rival.start()

    host.start(OvertakenDriver)
    rival.cell.close()
    assert (host.outcome.failures, rival.outcome.failures) == ({}, {})
    assert len(host.cell.services.all()) == len(host.cell.compute_nodes.all()) == 1
    assert host.manager.rt.service_ref == rival.manager.rt.service_ref
    assert writes_of_an_update(host) == []


def test_a_node_s_record_that_another_start_makes_first_is_taken_over(host):
    rival = ComputeHost(host.conf, host.new_adapter)
    overtaken = []

    def prepare(host):
        by_uuid = host.cell.compute_nodes.by_uuid

        def look(uuid, include_deleted=False):
            found = by_uuid(uuid, include_deleted=include_deleted)
            if include_deleted and not overtaken:
                overtaken.append(uuid)
                rival.start()
            return found

        host.cell.compute_nodes.by_uuid = look

    host.start(prepare=prepare)
    rival.cell.close()
    assert (len(overtaken), host.outcome.failures) == (1, {})
    assert len(host.cell.compute_nodes.all()) == 1


def test_r2_a_second_update_writes_nothing(host):
    host.start()
    assert writes_of_an_update(host) == []


def test_r3_classes_traits_and_aggregates_of_a_driver_are_reported(host, outsider):
    host.start()
    base = outsider.traits(host.uuid)
    host.start(DetailedDriver)
    assert outsider.totals(host.uuid) == {"VCPU": 8, "MEMORY_MB": 4096, "CUSTOM_BANDWIDTH": 1000}
    assert outsider.inventory(host.uuid)["MEMORY_MB"]["reserved"] == 256
    assert outsider.traits(host.uuid) == base | {"HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "CUSTOM_GOLD"}
    assert outsider.aggregates(host.uuid) == set(DetailedDriver.aggregates)


class TestTraits:
    @pytest.fixture
    def running(self, host):
        host.start()
        return host

    def refresh(self, host):
        host.manager.reset()
        host.update()

    def add(self, outsider, host, *traits):
        outsider.set_traits(host.uuid, outsider.traits(host.uuid) | set(traits))

    def test_r13_an_operators_trait_stays(self, running, outsider):
        self.add(outsider, running, "CUSTOM_TRAIT_FROM_ADMIN")
        self.refresh(running)
        assert "CUSTOM_TRAIT_FROM_ADMIN" in outsider.traits(running.uuid)

    def test_r14_a_supported_capability_comes_back_when_placement_is_read_again(
        self, running, outsider
    ):
        trait = "COMPUTE_DEVICE_TAGGING"
        outsider.set_traits(running.uuid, outsider.traits(running.uuid) - {trait})
        running.update()
        before = outsider.traits(running.uuid)
        self.refresh(running)
        assert (trait in before, trait in outsider.traits(running.uuid)) == (False, True)

    def test_r15_an_unsupported_capability_is_removed_whoever_set_it(self, running, outsider):
        self.add(outsider, running, "COMPUTE_IMAGE_TYPE_VHD")
        self.refresh(running)
        assert "COMPUTE_IMAGE_TYPE_VHD" not in outsider.traits(running.uuid)

    def test_r16_a_capability_that_is_switched_off_is_removed(self, running, outsider):
        running.driver.capabilities = {**running.driver.capabilities, "supports_multiattach": False}
        running.update()
        assert "COMPUTE_VOLUME_MULTI_ATTACH" not in outsider.traits(running.uuid)

    def test_r17_the_status_trait_follows_the_service_record(self, running, outsider):
        service = running.cell.services.by_host(running.name)
        seen = []
        for disabled in (True, False):
            service.disabled = disabled
            running.cell.services.save(service)
            running.update()
            seen.append("COMPUTE_STATUS_DISABLED" in outsider.traits(running.uuid))
        assert seen == [True, False]

    def test_r17_a_host_is_disabled_and_enabled_at_once(self, running, outsider):
        seen = []
        for enabled in (False, True):
            running.manager.set_host_enabled(enabled)
            seen.append("COMPUTE_STATUS_DISABLED" in outsider.traits(running.uuid))
        assert seen == [True, False]


def test_r18_initial_ratios_then_the_operators_then_the_configured_ones(host, outsider):
    initial = {"VCPU": 16.1, "MEMORY_MB": 1.6, "DISK_GB": 1.1}
    for name, ratio in zip(("cpu", "ram", "disk"), initial.values(), strict=True):
        host.conf.set_override(f"initial_{name}_allocation_ratio", ratio)
    host.start()
    first = ratios(outsider, host.uuid)
    by_hand = {n: {**r, "allocation_ratio": 3.5} for n, r in outsider.inventory(host.uuid).items()}
    outsider.set_inventory(host.uuid, by_hand)
    host.manager.reset()
    host.update()
    host.update()
    then = ratios(outsider, host.uuid)
    configured = {"VCPU": 15.9, "MEMORY_MB": 1.4, "DISK_GB": 0.9}
    for name, ratio in zip(("cpu", "ram", "disk"), configured.values(), strict=True):
        host.conf.set_override(f"{name}_allocation_ratio", ratio)
    host.update()
    assert first == initial
    assert set(then.values()) == {3.5}
    assert ratios(outsider, host.uuid) == configured


def test_r19_a_restart_takes_over_new_ratios_and_reserved_amounts(host, outsider):
    host.start()
    for name in ("cpu", "ram", "disk"):
        host.conf.set_override(f"{name}_allocation_ratio", 2.0)
    host.conf.set_override("reserved_host_cpus", 2)
    host.conf.set_override("reserved_host_memory_mb", 1024)
    host.conf.set_override("reserved_host_disk_mb", 8192)
    host.start()
    node = host.cell.compute_nodes.by_host_and_node(host.name, host.name)
    assert {node.cpu_allocation_ratio, node.ram_allocation_ratio, node.disk_allocation_ratio} == {
        2.0
    }
    assert {
        name: (held["reserved"], held["allocation_ratio"])
        for name, held in outsider.inventory(host.uuid).items()
    } == {"VCPU": (2, 2.0), "MEMORY_MB": (1024, 2.0), "DISK_GB": (8, 2.0)}


@pytest.mark.one_by_one
def test_r20_a_nested_child_is_made_once(host, outsider):
    host.start(MediumFakeDriverWithNestedCustomResources)
    host.update()
    tree = outsider.call("GET", f"/resource_providers?in_tree={host.uuid}")["resource_providers"]
    child = next(row for row in tree if row["name"] == f"{host.name}-child")
    assert len(tree) == 2
    assert outsider.totals(child["uuid"]) == {"CUSTOM_MAGIC": 10}
    made = [sent for sent in host.adapter.writes if sent[:2] == ("POST", "/resource_providers")]
    assert len(made) == 2


class TestTwoNodes:
    """R22."""

    @pytest.fixture
    def pair(self, host):
        host.start(FreshPairDriver)
        host.a, host.b = (f"{letter}-{host.name}" for letter in "ab")
        host.uuid_a, host.uuid_b = nodes_uuid(host, host.a), nodes_uuid(host, host.b)
        return host

    def test_r22_a_node_that_is_gone_for_good_goes_with_its_allocations(self, pair, outsider):
        here = outsider.allocate({pair.uuid_a: {"VCPU": 1}})
        there = outsider.allocate({pair.uuid_b: {"VCPU": 1}})
        pair.driver.drop_node(pair.b, deleted=True)
        pair.update()
        assert (outsider.exists(pair.uuid_a), outsider.exists(pair.uuid_b)) == (True, False)
        assert outsider.allocations(here) == {pair.uuid_a: {"VCPU": 1}}
        assert outsider.allocations(there) == {}

    def test_r22_a_node_that_is_only_out_of_sight_stays(self, pair, outsider, caplog):
        pair.driver.drop_node(pair.b, deleted=False)
        pair.update()
        assert outsider.exists(pair.uuid_b)
        assert f"{pair.b} is not listed by its driver" in caplog.text

    def test_r22_a_failure_with_one_node_leaves_the_other_alone(self, pair, outsider):
        pair.driver.vcpus = 20

        def break_b(method, url):
            if method == "PUT" and pair.uuid_b in url:
                raise ConnectFailure("gone")

        pair.adapter.before = break_b
        outcome = pair.update()
        assert (outcome.updated, list(outcome.failures)) == ([pair.a], [pair.b])
        assert outsider.totals(pair.uuid_a)["VCPU"] == 20

    def test_r22_a_conflict_at_one_node_forgets_only_its_tree(self, pair, outsider):
        client = pair.manager.reportclient
        pair.driver.vcpus = 20

        def refuse(tree, nodename, **kwargs):
            FreshPairDriver.update_provider_tree(pair.driver, tree, nodename, **kwargs)
            if nodename == pair.b:
                tree.add_traits(nodename, "NO_SUCH_TRAIT")

        pair.driver.update_provider_tree = refuse
        outcome = pair.update()
        assert isinstance(outcome.failures[pair.b], exceptions.ResourceProviderSyncFailed)
        assert client.cache.tree.exists(pair.uuid_a)
        assert not client.cache.tree.exists(pair.uuid_b)


def test_r34_a_start_without_placement_is_made_up_for_by_the_next_update(host, outsider):
    def lost(method, url):
        raise ConnectFailure("gone")

    host.start(prepare=lambda host: setattr(host.adapter, "before", lost))
    failed = list(host.outcome.failures)
    host.adapter.before = None
    host.update()
    assert failed == [host.name]
    assert outsider.totals(host.uuid) == {"VCPU": 10, "MEMORY_MB": 8192, "DISK_GB": 1028}


def test_r35_an_operators_child_and_its_traits_outlive_updates_and_a_reshape(
    host, outsider, caplog
):
    host.start()
    own = outsider.provider(
        name=f"{host.name}-own",
        parent=host.uuid,
        inventory={"CUSTOM_OWN": {"total": 3}},
        traits=["CUSTOM_OPERATORS"],
    )
    consumer = outsider.allocate({own: {"CUSTOM_OWN": 1}, host.uuid: {"VCPU": 1}})
    host.manager.reset()
    with caplog.at_level(logging.ERROR):
        host.update()
        host.start(NestingDriver)
    assert outsider.totals(own) == {"CUSTOM_OWN": 3}
    assert outsider.traits(own) == {"CUSTOM_OPERATORS"}
    assert outsider.allocations(consumer)[own] == {"CUSTOM_OWN": 1}
    assert host.moves() == 1
