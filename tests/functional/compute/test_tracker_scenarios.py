"""The tracker's regular work through a real placement service (compute.md §9.3, R2 to R35)."""

import logging
import pathlib
from uuid import uuid4

import pytest
from keystoneauth1.exceptions import ConnectFailure

from compute import exceptions
from compute.records.instance import Flavor, Instance
from compute.report.context import admin_context
from tests.functional.compute.compute_host import ComputeHost, NestingDriver
from virt.fake import (
    FakeMultiNodeDriver,
    MediumFakeDriver,
    MediumFakeDriverWithNestedCustomResources,
)
from virt.inventory import record

SMALL = Flavor(vcpus=1, memory_mb=2048, root_gb=20)


class DetailedDriver(MediumFakeDriver):
    """R3: a class, a trait and aggregates of its own."""

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


def write_config(host, text, name="a.yaml"):
    directory = pathlib.Path(host.conf.compute.provider_config_location)
    directory.mkdir(exist_ok=True)
    (directory / name).write_text("meta: {schema_version: '1.0'}\n" + text)


def an_instance(on, **fields):
    instance = Instance(**{"project_id": "project", "user_id": "user", "flavor": SMALL, **fields})
    on.cell.instances.create(instance)
    return instance


def nodes_uuid(host, nodename):
    return host.cell.compute_nodes.by_node(nodename).uuid


def writes_of_an_update(host):
    host.adapter.requests.clear()
    host.update()
    return host.adapter.writes


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
    node = host.cell.compute_nodes.by_node(host.name)
    assert {node.cpu_allocation_ratio, node.ram_allocation_ratio, node.disk_allocation_ratio} == {
        2.0
    }
    assert {
        name: (held["reserved"], held["allocation_ratio"])
        for name, held in outsider.inventory(host.uuid).items()
    } == {"VCPU": (2, 2.0), "MEMORY_MB": (1024, 2.0), "DISK_GB": (8, 2.0)}


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


class TestProviderConfig:
    def test_r28_a_nodes_own_entry_and_the_default_for_the_others(self, host, outsider):
        a = f"a-{host.name}"
        write_config(
            host,
            f"""
providers:
  - identification: {{name: {a}}}
    inventories: {{additional: [{{CUSTOM_X: {{total: 10}}}}]}}
    traits: {{additional: [CUSTOM_T]}}
  - identification: {{uuid: $COMPUTE_NODE}}
    traits: {{additional: [CUSTOM_DEFAULT]}}
""",
        )
        host.start(FreshPairDriver)
        with_own, other = nodes_uuid(host, a), nodes_uuid(host, f"b-{host.name}")
        assert outsider.totals(with_own)["CUSTOM_X"] == 10
        assert "CUSTOM_T" in outsider.traits(with_own)
        assert "CUSTOM_DEFAULT" not in outsider.traits(with_own)
        assert "CUSTOM_DEFAULT" in outsider.traits(other)
        assert "CUSTOM_X" not in outsider.totals(other)
        assert writes_of_an_update(host) == []

    def test_r28_an_entry_of_a_provider_that_the_driver_does_not_rewrite_stays_valid(
        self, host, outsider
    ):
        host.start()
        pool = outsider.provider(name=f"{host.name}-pool", parent=host.uuid)
        write_config(
            host,
            f"""
providers:
  - identification: {{uuid: {pool}}}
    inventories: {{additional: [{{CUSTOM_X: {{total: 10}}}}]}}
""",
        )
        host.start()
        assert outsider.totals(pool) == {"CUSTOM_X": 10}
        assert writes_of_an_update(host) == []

    def test_r28_another_total_for_an_operator_s_own_child_is_stored(self, host, outsider):
        host.start()
        pool = outsider.provider(
            name=f"{host.name}-pool", parent=host.uuid, inventory={"CUSTOM_Y": {"total": 3}}
        )
        entry = f"""
providers:
  - identification: {{uuid: {pool}}}
    inventories: {{additional: [{{CUSTOM_X: {{total: %d}}}}]}}
"""
        write_config(host, entry % 10)
        host.start()
        guest = outsider.allocate({pool: {"CUSTOM_X": 4}})
        write_config(host, entry % 12)
        host.start()
        assert host.outcome.failures == {}
        assert outsider.totals(pool) == {"CUSTOM_X": 12, "CUSTOM_Y": 3}
        assert outsider.allocations(guest) == {pool: {"CUSTOM_X": 4}}
        assert writes_of_an_update(host) == []

    def test_r28_a_field_that_an_entry_leaves_out_stays_as_placement_has_it(self, host, outsider):
        host.start()
        inventory = {"CUSTOM_X": {"total": 10, "reserved": 2}}
        pool = outsider.provider(name=f"{host.name}-pool", parent=host.uuid, inventory=inventory)
        write_config(
            host,
            f"""
providers:
  - identification: {{uuid: {pool}}}
    inventories: {{additional: [{{CUSTOM_X: {{total: 11}}}}]}}
""",
        )
        host.start()
        stored = outsider.inventory(pool)["CUSTOM_X"]
        assert (stored["total"], stored["reserved"]) == (11, 2)

    def test_r28_a_class_that_the_driver_takes_up_later_is_refused(self, host, outsider):
        write_config(
            host,
            """
providers:
  - identification: {uuid: $COMPUTE_NODE}
    inventories: {additional: [{CUSTOM_BANDWIDTH: {total: 10}}]}
""",
        )
        host.start()
        before = outsider.totals(host.uuid)
        host.start(DetailedDriver)
        assert isinstance(host.outcome.failures[host.name], ValueError)
        assert (before["CUSTOM_BANDWIDTH"], outsider.totals(host.uuid)) == (10, before)

    def test_r28_a_class_of_the_drivers_is_refused_and_the_service_goes_on(self, host, caplog):
        write_config(
            host,
            """
providers:
  - identification: {uuid: $COMPUTE_NODE}
    inventories: {additional: [{CUSTOM_BANDWIDTH: {total: 10}}]}
""",
        )
        host.start(DetailedDriver)
        assert isinstance(host.outcome.failures[host.name], ValueError)
        assert "owned by the virt driver" in caplog.text

    def test_one_provider_under_two_identities_is_refused(self, host):
        host.start()
        for name, identity in (("a.yaml", f"name: {host.name}"), ("b.yaml", f"uuid: {host.uuid}")):
            added = "traits: {additional: [CUSTOM_T]}"
            write_config(host, f"providers: [{{identification: {{{identity}}}, {added}}}]", name)
        host.start()
        assert "a.yaml and b.yaml" in str(host.outcome.failures[host.name])

    def test_r29_bad_files_keep_the_service_from_starting(self, host):
        write_config(host, "providers: [{identification: {serial: x}}]")
        with pytest.raises(exceptions.ProviderConfigException):
            host.start()

    def test_r30_an_absent_provider_is_one_warning(self, host, caplog):
        write_config(
            host,
            "providers: [{identification: {name: nobody}, traits: {additional: [CUSTOM_T]}}]",
        )
        host.start()
        host.update()
        host.update()
        told = [r for r in caplog.records if "nobody" in r.getMessage()]
        assert [r.levelname for r in told] == ["WARNING"]


class TestDeletedInstances:
    def test_r31_an_instance_deleted_behind_our_back_loses_its_allocations(self, host, outsider):
        host.start()
        instance = an_instance(host, host=host.name, node=host.name, vm_state="active")
        outsider.allocate({host.uuid: {"VCPU": 1}}, instance.uuid)
        host.update()
        held = outsider.allocations(instance.uuid)
        host.cell.instances.destroy(instance)
        host.update()
        assert (held, outsider.allocations(instance.uuid)) == ({host.uuid: {"VCPU": 1}}, {})

    def test_r31_so_does_one_that_holds_only_something_of_a_child(self, host, outsider):
        host.start(MediumFakeDriverWithNestedCustomResources)
        tree = outsider.call("GET", f"/resource_providers?in_tree={host.uuid}")
        child = next(r for r in tree["resource_providers"] if r["uuid"] != host.uuid)["uuid"]
        instance = an_instance(host, host=host.name, node=host.name)
        outsider.allocate({child: {"CUSTOM_MAGIC": 1}}, instance.uuid)
        host.cell.instances.destroy(instance)
        host.start(MediumFakeDriverWithNestedCustomResources)
        assert outsider.allocations(instance.uuid) == {}

    def test_r31_unknown_consumers_keep_theirs(self, host, outsider):
        host.start()
        stranger = outsider.allocate({host.uuid: {"VCPU": 1}})
        host.start()
        assert outsider.allocations(stranger) == {host.uuid: {"VCPU": 1}}

    @pytest.mark.parametrize(
        "fields",
        [
            {"deleted": True, "hidden": True},
            {"host": None},
            {"host": "other", "node": "other"},
        ],
    )
    def test_r31_hidden_unplaced_and_moved_instances_keep_theirs(self, host, outsider, fields):
        host.start()
        instance = an_instance(host, **fields)
        outsider.allocate({host.uuid: {"VCPU": 1}}, instance.uuid)
        host.start()
        assert outsider.allocations(instance.uuid) == {host.uuid: {"VCPU": 1}}


class TestClaims:
    def usage(self, host):
        node = host.cell.compute_nodes.by_node(host.name)
        return node.vcpus_used, node.memory_mb_used, node.local_gb_used, node.stats

    def test_r32_a_claim_raises_usage_and_an_abort_lowers_it(self, host):
        host.start()
        before = self.usage(host)
        instance = an_instance(host)
        claim = host.manager.rt.instance_claim(admin_context(), instance, host.name, None)
        during = self.usage(host)
        known = host.cell.instances.by_uuid(instance.uuid)
        claim.abort()
        assert during[:3] == (1, 512 + 2048, 20)
        assert (known.host, known.node, known.launched_on) == (host.name, host.name, host.name)
        assert self.usage(host) == before
        assert (instance.host, instance.node) == (None, None)

    def test_r32_a_block_that_fails_aborts_its_claim(self, host):
        host.start()
        before = self.usage(host)
        instance = an_instance(host)
        with (
            pytest.raises(RuntimeError, match="no image"),
            host.manager.rt.instance_claim(admin_context(), instance, host.name, None),
        ):
            raise RuntimeError("no image")
        assert self.usage(host) == before

    def test_r32_a_disabled_node_takes_nothing(self, host):
        host.start()
        host.driver.node_is_available = lambda nodename: False
        with pytest.raises(exceptions.ComputeResourcesUnavailable):
            host.manager.rt.instance_claim(admin_context(), an_instance(host), host.name, None)

    def test_a_claim_sends_nothing_that_the_scheduler_did_before(self, host):
        host.start()
        host.adapter.requests.clear()
        given = {host.uuid: {"resources": {"VCPU": 1}}}
        host.manager.rt.instance_claim(admin_context(), an_instance(host), host.name, given)
        assert host.adapter.requests == []

    def test_r6_a_reshape_that_is_needed_amid_a_claim_fails_only_the_claim(self, host):
        host.start()
        host.driver.update_provider_tree = lambda tree, node: raise_reshape_needed()
        instance = an_instance(host)
        with pytest.raises(exceptions.ReshapeNeeded):
            host.manager.rt.instance_claim(admin_context(), instance, host.name, None)
        assert host.manager.rt.tracked_instances == set()
        assert instance.host is None


def raise_reshape_needed():
    raise exceptions.ReshapeNeeded()


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
    assert host.reshapes() == 1
