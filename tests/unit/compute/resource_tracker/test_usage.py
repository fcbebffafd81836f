"""Counting usage, claims and moves without a placement (compute.md §4.9, §4.11)."""

import json

import pytest

from compute import config, exceptions
from compute.consumers.instance_resources import resources_from_flavor, usage_of
from compute.pci import devices as pci_devices
from compute.provider_tree import Resource
from compute.records.cell_database.memory import MemoryCellDatabase
from compute.records.instance import Flavor, Instance, MigrationContext
from compute.records.migration import Migration
from compute.records.node_identity import NodeIdentity
from compute.records.service import Service
from compute.report.context import admin_context
from compute.resource_tracker import ResourceTracker, numa_fit
from compute.resource_tracker.claim import NopClaim
from compute.resource_tracker.stats import Stats
from tests.unit.compute.recording_client import RecordingReportClient
from virt.fake import MediumFakeDriver
from virt.inventory import record
from virt.virtapi import NoopVirtAPI

HOST = "host1"
CONTEXT = admin_context()
TINY = Flavor(vcpus=1, memory_mb=512, root_gb=1)
LARGE = Flavor(vcpus=4, memory_mb=2048, root_gb=20, ephemeral_gb=5, swap=1500)
NOTHING_USED = (0, 512, 0)
TWO_CELLS = json.dumps(
    {"cells": [{"id": n, "cpus": [0, 1, 2, 3], "memory_mb": 4096} for n in (0, 1)]}
)


class EquippedDriver(MediumFakeDriver):
    """Two NUMA cells, PCI devices of a kind, and memory namespaces."""

    namespaces = ("ns_0", "ns_1")

    def get_available_resource(self, nodename):
        devices = [
            {"address": f"0000:0{n}:00.0", "dev_type": "type-PCI", "vendor_id": "8086"}
            for n in (1, 2)
        ]
        return super().get_available_resource(nodename) | {
            "numa_topology": TWO_CELLS,
            "pci_passthrough_devices": devices,
            "stats": {"temperature": 40},
        }

    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename)
        uuid = tree.data(nodename).uuid
        things = {Resource(uuid, "CUSTOM_PMEM", name) for name in self.namespaces}
        inventory = tree.data(nodename).inventory
        tree.update_inventory(nodename, {**inventory, "CUSTOM_PMEM": record(2)})
        tree.update_resources(nodename, {"CUSTOM_PMEM": things})


@pytest.fixture
def cell():
    cell = MemoryCellDatabase()
    cell.services.create(Service(host=HOST))
    return cell


@pytest.fixture
def new_tracker(cell, tmp_path):
    overrides = {(None, "host"): HOST, ("compute", "allocation_writer"): "scheduler"}
    conf = config.load(files=[], environ={}, overrides=overrides)

    def new(driver_class=EquippedDriver):
        driver = driver_class(NoopVirtAPI(), conf)
        driver.init_host(HOST)
        client = RecordingReportClient()
        identity = NodeIdentity(str(tmp_path))
        return ResourceTracker(HOST, driver, client, conf=conf, cell=cell, identity=identity)

    return new


@pytest.fixture
def tracker(new_tracker):
    tracker = new_tracker()
    tracker.update_available_resource(CONTEXT, HOST)
    return tracker


@pytest.fixture
def uuid(tracker):
    """The uuid of the node."""
    return tracker.compute_nodes[HOST].uuid


@pytest.fixture
def make(cell):
    def make(**fields):
        instance = Instance(**{"project_id": "p", "flavor": TINY, **fields})
        cell.instances.create(instance)
        return instance

    return make


def used(tracker):
    node = tracker.compute_nodes[HOST]
    return node.vcpus_used, node.memory_mb_used, node.local_gb_used


def update(tracker, startup=False):
    tracker.update_available_resource(CONTEXT, HOST, startup=startup)


HERE = {"host": HOST, "node": HOST}
THERE = {"host": "other", "node": "other"}


class TestAmounts:
    def test_disks_are_added_up_and_swap_is_rounded_to_whole_gib(self):
        assert usage_of(LARGE, booted_from_volume=False).disk_gb == 27
        assert usage_of(LARGE, booted_from_volume=True).disk_gb == 7

    def test_extra_specs_add_and_win_and_nothing_is_left_out(self):
        flavor = Flavor(
            vcpus=1,
            memory_mb=512,
            extra_specs={"resources:VCPU": "0", "resources:CUSTOM_GOLD": "1", "hw:cpu": "x"},
        )
        assert resources_from_flavor(flavor) == {"MEMORY_MB": 512, "CUSTOM_GOLD": 1}


class TestStats:
    def test_each_instance_is_counted_by_what_it_is_and_does(self):
        stats = Stats()
        stats.update_for_instance(
            Instance(vm_state="building", task_state="rebuilding", os_type="Linux", project_id="p")
        )
        assert stats == {
            "num_instances": 1,
            "num_vm_building": 1,
            "num_task_rebuilding": 1,
            "num_os_type_Linux": 1,
            "num_proj_p": 1,
            "io_workload": 2,
        }

    def test_a_change_is_counted_anew_and_a_removal_leaves_nothing(self):
        stats, instance = Stats(), Instance(vm_state="building")
        stats.update_for_instance(instance)
        instance.vm_state = "active"
        stats.update_for_instance(instance)
        assert "io_workload" not in stats
        stats.update_for_instance(instance, is_removed=True)
        assert stats == {}

    def test_failed_builds_outlive_a_new_count_and_end_with_a_success(self):
        stats = Stats()
        stats.build_failed()
        stats.build_failed()
        stats.start_over()
        failed = stats["failed_builds"]
        stats.build_succeeded()
        assert (failed, stats["failed_builds"]) == (2, 0)

    def test_the_drivers_are_taken_in(self, tracker):
        assert tracker.compute_nodes[HOST].stats == {"temperature": 40, "uptime": None}

    def test_the_drivers_must_be_a_dict(self):
        with pytest.raises(ValueError, match="not a dict"):
            Stats().digest("fine")


class TestInstances:
    def test_instances_of_the_node_are_counted(self, tracker, make):
        make(**HERE)
        make(**HERE, flavor=LARGE, booted_from_volume=True)
        make(**THERE)
        update(tracker)
        node = tracker.compute_nodes[HOST]
        assert used(tracker) == (5, 512 + 512 + 2048, 1 + 7)
        assert (node.free_ram_mb, node.free_disk_gb) == (8192 - 3072, 1028 - 8)
        assert node.stats["num_instances"] == 2

    def test_free_amounts_may_be_negative(self, tracker, make):
        make(**HERE, flavor=Flavor(memory_mb=10000, root_gb=2000))
        update(tracker)
        node = tracker.compute_nodes[HOST]
        assert (node.free_ram_mb, node.free_disk_gb) == (-2320, -972)

    @pytest.mark.parametrize(
        ("vm_state", "task_state", "counted"),
        [
            ("deleted", None, 0),
            ("shelved_offloaded", None, 0),
            ("shelved_offloaded", "spawning", 1),
        ],
    )
    def test_those_that_hold_nothing_are_not(self, tracker, make, vm_state, task_state, counted):
        make(**HERE, vm_state=vm_state, task_state=task_state)
        update(tracker)
        assert len(tracker.tracked_instances) == counted

    def test_they_are_linked_to_the_nodes_record(self, tracker, make, cell):
        instance = make(**HERE)
        update(tracker)
        assert cell.instances.by_uuid(instance.uuid).compute_id == tracker.compute_nodes[HOST].id

    def test_an_unchanged_database_is_not_asked_again(self, tracker, make, cell, monkeypatch):
        make(**HERE)
        update(tracker)
        update(tracker)
        monkeypatch.setattr(cell.instances, "by_host_and_node", lambda *wanted: 1 / 0)
        update(tracker)
        assert used(tracker) == (1, 1024, 1)

    def test_only_a_tracked_one_is_updated(self, tracker, make):
        instance = make()
        tracker.update_usage(CONTEXT, instance, HOST)
        assert used(tracker) == NOTHING_USED

    def test_a_claimed_one_without_a_record_gets_one_and_stays_counted(self, tracker, cell):
        instance = Instance(flavor=TINY)
        tracker.instance_claim(CONTEXT, instance, HOST)
        update(tracker)
        assert cell.instances.by_uuid(instance.uuid).node == HOST
        assert used(tracker) == (1, 1024, 1)

    def test_a_terminated_one_gives_back_what_it_had(self, tracker, make):
        instance = make(**HERE)
        update(tracker)
        instance.vm_state = "deleted"
        tracker.update_usage(CONTEXT, instance, HOST)
        assert used(tracker) == NOTHING_USED
        assert tracker.tracked_instances == set()


class TestMigrations:
    @pytest.fixture
    def move(self, cell):
        def move(instance, source="other", dest=HOST, **fields):
            migration = Migration(
                **{
                    "instance_uuid": instance.uuid,
                    "migration_type": "resize",
                    "status": "migrating",
                    "source_compute": source,
                    "source_node": source,
                    "dest_compute": dest,
                    "dest_node": dest,
                    **fields,
                }
            )
            cell.migrations.create(migration)
            return migration

        return move

    RESIZING = {"task_state": "resize_migrating", "old_flavor": TINY, "new_flavor": LARGE}

    def test_what_comes_is_counted_as_it_will_be(self, tracker, make, move):
        instance = make(**THERE, **self.RESIZING)
        migration = move(instance)
        update(tracker)
        assert used(tracker)[0] == LARGE.vcpus
        assert tracker.tracked_migrations == {instance.uuid: migration}

    def test_what_went_is_counted_as_it_was(self, tracker, make, move):
        move(make(**THERE, **self.RESIZING), source=HOST, dest="other")
        update(tracker)
        assert used(tracker)[0] == TINY.vcpus

    def test_what_is_tracked_is_not_counted_twice(self, tracker, make, move):
        move(make(**HERE, **self.RESIZING), source=HOST, dest="other")
        update(tracker)
        assert used(tracker)[0] == TINY.vcpus

    @pytest.mark.parametrize("flavor", [TINY, LARGE])
    def test_within_a_node_both_sizes_are_counted(self, tracker, make, move, flavor):
        move(make(**HERE, **self.RESIZING, flavor=flavor), source=HOST)
        update(tracker)
        assert used(tracker)[0] == TINY.vcpus + LARGE.vcpus

    def test_one_of_an_instance_that_does_not_move_is_not(self, tracker, make, move):
        move(make(**THERE, task_state=None, vm_state="active", new_flavor=LARGE))
        update(tracker)
        assert used(tracker) == NOTHING_USED

    def test_a_live_migration_is_counted_while_it_runs(self, tracker, make, move):
        move(make(**THERE, task_state="migrating"), migration_type="live-migration")
        update(tracker)
        assert used(tracker)[0] == TINY.vcpus

    def test_only_the_newest_of_an_instance_counts(self, tracker, make, move):
        instance = make(**THERE, **self.RESIZING)
        move(instance)
        newest = move(instance)
        update(tracker)
        assert tracker.tracked_migrations == {instance.uuid: newest}
        assert used(tracker)[0] == LARGE.vcpus

    def test_one_that_its_instance_forgot_is_an_error(self, tracker, make, move, cell):
        context = MigrationContext(migration_id=99)
        migration = move(make(**THERE, **self.RESIZING, migration_context=context))
        update(tracker)
        assert cell.migrations.by_uuid(migration.uuid).status == "error"
        assert used(tracker) == NOTHING_USED

    def test_an_instance_that_arrives_is_shown_as_it_will_be(self, tracker, make, move, cell):
        topology = {"cells": [{"id": 1, "vcpus": 1, "memory_mb": 512}]}
        instance = make(**HERE, **self.RESIZING)
        migration = move(instance)
        instance.migration_context = MigrationContext(migration.id, new_numa_topology=topology)
        cell.instances.save(instance)
        update(tracker)
        assert tracker._state(HOST).instances[instance.uuid].numa_topology == topology
        assert cell.instances.by_uuid(instance.uuid).numa_topology is None


class TestMoveClaims:
    @pytest.mark.parametrize("adopted", [True, False])
    def test_a_resize_claim_takes_the_new_size_and_leads_the_migration_here(
        self, tracker, make, cell, adopted
    ):
        instance = make(**THERE)
        migration = Migration(instance.uuid, migration_type="resize") if adopted else None
        claim = tracker.resize_claim(CONTEXT, instance, LARGE, HOST, migration, None)
        known = cell.migrations.by_uuid(claim.migration.uuid)
        assert used(tracker)[0] == LARGE.vcpus
        assert (known.dest_compute, known.dest_node, known.status) == (HOST, HOST, "pre-migrating")
        assert cell.instances.by_uuid(instance.uuid).migration_context.migration_id == known.id
        assert (instance.host, instance.new_flavor) == ("other", LARGE)

    def test_within_a_node_both_sizes_are_claimed_whoever_made_the_migration(self, tracker, make):
        instance = make(**HERE)
        update(tracker)
        migration = Migration(instance.uuid, migration_type="resize")
        claim = tracker.resize_claim(CONTEXT, instance, LARGE, HOST, migration, None)
        both = used(tracker)[0]
        claim.abort()
        assert (both, used(tracker)[0]) == (TINY.vcpus + LARGE.vcpus, TINY.vcpus)

    def test_aborting_it_gives_everything_back(self, tracker, make):
        instance = make(**THERE)
        tracker.resize_claim(CONTEXT, instance, LARGE, HOST, None, None).abort()
        assert used(tracker) == NOTHING_USED
        assert (instance.migration_context, tracker.tracked_migrations) == (None, {})

    def test_a_live_migration_keeps_its_status(self, tracker, make):
        instance = make(**THERE, task_state="migrating")
        migration = Migration(instance.uuid, migration_type="live-migration", status="running")
        claim = tracker.live_migration_claim(CONTEXT, instance, HOST, migration, None, None)
        assert (claim.migration.status, used(tracker)[0]) == ("running", TINY.vcpus)

    def test_a_rebuild_claim_makes_an_evacuation(self, tracker, make):
        instance = make(**THERE, task_state="rebuilding")
        claim = tracker.rebuild_claim(CONTEXT, instance, HOST, None)
        assert claim.migration.is_evacuation
        assert used(tracker)[0] == TINY.vcpus

    def test_confirming_frees_the_source(self, tracker, make, cell):
        instance = make(**HERE)
        update(tracker)
        migration = Migration(instance.uuid, source_compute=HOST, source_node=HOST)
        cell.migrations.create(migration)
        tracker.drop_move_claim_at_source(CONTEXT, instance, migration)
        assert used(tracker) == NOTHING_USED
        assert cell.migrations.by_uuid(migration.uuid).status == "confirmed"

    def test_reverting_frees_the_destination(self, tracker, make, cell):
        instance = make(**THERE)
        claim = tracker.resize_claim(CONTEXT, instance, LARGE, HOST, None, None)
        tracker.drop_move_claim_at_dest(CONTEXT, instance, claim.migration)
        assert used(tracker) == NOTHING_USED
        assert cell.migrations.by_uuid(claim.migration.uuid).status == "reverted"

    def test_a_failed_update_gives_back_the_claim_and_ends_the_migration(self, tracker, make, cell):
        instance = make(**THERE)
        tracker.reportclient.failures = [exceptions.ResourceProviderSyncFailed()]
        migration = Migration(instance.uuid, migration_type="resize")
        with pytest.raises(exceptions.ResourceProviderSyncFailed):
            tracker.resize_claim(CONTEXT, instance, LARGE, HOST, migration, None)
        assert used(tracker) == NOTHING_USED
        assert cell.migrations.by_uuid(migration.uuid).status == "error"

    def test_a_claim_of_nothing_can_be_aborted(self):
        with pytest.raises(RuntimeError), NopClaim():
            raise RuntimeError


class TestNuma:
    def wants(self, *cells):
        return {"cells": [{"vcpus": vcpus, "memory_mb": memory} for vcpus, memory in cells]}

    def test_cells_are_placed_each_on_one_of_the_hosts(self):
        placed = numa_fit.fit(TWO_CELLS, [], self.wants((4, 1024), (2, 1024)))
        assert [cell["id"] for cell in placed["cells"]] == [0, 1]

    def test_what_is_taken_is_not_given_again(self):
        first = numa_fit.fit(TWO_CELLS, [], self.wants((4, 1024)))
        second = numa_fit.fit(TWO_CELLS, [first], self.wants((3, 1024)))
        assert second["cells"][0]["id"] == 1
        assert numa_fit.fit(TWO_CELLS, [first, second], self.wants((3, 1024))) is None

    def test_a_later_cell_may_need_the_first_choice_of_an_earlier_one(self):
        taken = [{"cells": [{"id": 1, "vcpus": 2, "memory_mb": 0}]}]
        placed = numa_fit.fit(TWO_CELLS, taken, self.wants((2, 512), (4, 512)))
        assert [cell["id"] for cell in placed["cells"]] == [1, 0]

    def test_overcommit_makes_room(self):
        assert numa_fit.fit(TWO_CELLS, [], self.wants((6, 512))) is None
        assert numa_fit.fit(TWO_CELLS, [], self.wants((6, 512)), cpu_ratio=2.0) is not None

    def test_a_host_without_cells_fits_everything(self):
        assert numa_fit.fit(None, [], self.wants((64, 512))) == self.wants((64, 512))

    def test_a_claim_places_the_instance(self, tracker, make):
        instance = make(numa_topology=self.wants((2, 512)))
        tracker.instance_claim(CONTEXT, instance, HOST)
        assert instance.numa_topology["cells"][0]["id"] == 0

    def test_a_claim_that_does_not_fit_names_every_reason(self, tracker, make):
        instance = make(
            numa_topology=self.wants((1, 9000)),
            pci_requests=[{"count": 3, "spec": [{"vendor_id": "8086"}]}],
        )
        with pytest.raises(exceptions.ComputeResourcesUnavailable, match=r"NUMA .*; Claim pci"):
            tracker.instance_claim(CONTEXT, instance, HOST)
        assert used(tracker) == NOTHING_USED


class TestPciDevices:
    REQUEST = [{"count": 1, "spec": [{"vendor_id": "8086"}]}]

    def test_free_devices_are_counted_in_pools(self, tracker, make):
        tracker.instance_claim(CONTEXT, make(pci_requests=self.REQUEST), HOST)
        assert tracker.compute_nodes[HOST].pci_device_pools == [
            {"dev_type": "type-PCI", "vendor_id": "8086", "count": 1}
        ]

    def test_each_instance_gets_devices_of_its_own_until_there_are_none(self, tracker, make):
        first, second = make(pci_requests=self.REQUEST), make(pci_requests=self.REQUEST)
        tracker.instance_claim(CONTEXT, first, HOST)
        tracker.instance_claim(CONTEXT, second, HOST)
        assert first.pci_devices[0]["address"] != second.pci_devices[0]["address"]
        with pytest.raises(exceptions.ComputeResourcesUnavailable):
            tracker.instance_claim(CONTEXT, make(pci_requests=self.REQUEST), HOST)

    def test_a_list_in_json_is_read(self):
        listed = {"pci_passthrough_devices": '[{"address": "a"}]'}
        assert pci_devices.devices_of(listed) == [{"address": "a"}]


class TestAssignedResources:
    def asks(self, uuid, amount):
        return {uuid: {"resources": {"CUSTOM_PMEM": amount, "VCPU": 1}}}

    def test_a_claim_assigns_free_ones(self, tracker, make, uuid):
        instance = make()
        given = {**self.asks(uuid, 1), "unknown": {"resources": {"CUSTOM_PMEM": 9}}}
        tracker.instance_claim(CONTEXT, instance, HOST, given)
        assert instance.resources == [Resource(uuid, "CUSTOM_PMEM", "ns_0")]
        assert tracker.assigned_resources == {uuid: {"CUSTOM_PMEM": set(instance.resources)}}

    def test_too_few_fail_the_claim(self, tracker, make, uuid):
        tracker.instance_claim(CONTEXT, make(), HOST, self.asks(uuid, 1))
        with pytest.raises(exceptions.ComputeResourcesUnavailable, match="2 CUSTOM_PMEM"):
            tracker.instance_claim(CONTEXT, make(), HOST, self.asks(uuid, 2))

    def test_an_abort_frees_them(self, tracker, make, uuid):
        tracker.instance_claim(CONTEXT, make(), HOST, self.asks(uuid, 2)).abort()
        assert tracker.assigned_resources == {}

    def test_one_that_vanished_is_found_out_at_the_start(self, new_tracker, make, uuid, cell):
        tracker = new_tracker()
        make(**HERE, resources=[Resource(uuid, "CUSTOM_PMEM", "ns_7")])
        with pytest.raises(exceptions.AssignedResourceNotFound, match="ns_7"):
            update(tracker, startup=True)

    def test_one_that_is_there_is_no_trouble(self, new_tracker, make, uuid):
        tracker = new_tracker()
        make(**HERE, resources=[Resource(uuid, "CUSTOM_PMEM", "ns_1")])
        update(tracker, startup=True)
        assert len(tracker.assigned_resources[uuid]["CUSTOM_PMEM"]) == 1
