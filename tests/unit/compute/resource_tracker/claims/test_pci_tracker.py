"""PCI devices for instances that exist already, as for a port that is attached."""

from types import SimpleNamespace

import pytest

from compute.records.instance import MigrationContext
from tests.unit.compute.resource_tracker.equipped_host import (
    CONTEXT,
    HERE,
    HOST,
    THERE,
    TINY,
    update,
)

FIRST, SECOND = "0000:01:00.0", "0000:02:00.0"


def requests(instance, count=1):
    spec = [{"vendor_id": "8086"}]
    return SimpleNamespace(instance_uuid=instance.uuid, requests=[{"count": count, "spec": spec}])


def addresses(devices):
    return [device["address"] for device in devices]


def free(tracker):
    return sum(pool["count"] for pool in tracker.pci_tracker.stats)


@pytest.fixture
def instance(make, tracker):
    instance = make(**HERE)
    update(tracker)
    return instance


class TestClaims:
    def test_a_claimed_device_is_given_to_no_other(self, tracker, instance, make):
        claimed = tracker.claim_pci_devices(CONTEXT, requests(instance), None)
        other = make(pci_requests=requests(instance).requests)
        tracker.instance_claim(CONTEXT, other, HOST)
        assert addresses([*claimed, *other.pci_devices]) == [FIRST, SECOND]
        assert free(tracker) == 0

    def test_too_few_claim_nothing(self, tracker, instance):
        assert tracker.claim_pci_devices(CONTEXT, requests(instance, 3), None) == []
        assert free(tracker) == 2

    def test_an_update_keeps_a_claim(self, tracker, instance):
        tracker.claim_pci_devices(CONTEXT, requests(instance), None)
        update(tracker)
        assert free(tracker) == 1

    def test_a_host_without_the_instance_may_be_asked(self, tracker, make):
        assert len(tracker.claim_pci_devices(CONTEXT, requests(make(**THERE)), None)) == 1

    def test_a_claim_is_given_back_alone(self, tracker, instance):
        devices = tracker.claim_pci_devices(CONTEXT, requests(instance, 2), None)
        tracker.unclaim_pci_devices(CONTEXT, devices[0], instance)
        assert free(tracker) == 1
        tracker.free_pci_device_claims_for_instance(CONTEXT, instance)
        assert free(tracker) == 2

    def test_an_instance_that_is_deleted_leaves_no_claim(self, tracker, instance, cell):
        tracker.claim_pci_devices(CONTEXT, requests(instance), None)
        instance.vm_state = "deleted"
        cell.instances.destroy(instance)
        tracker.update_usage(CONTEXT, instance, HOST)
        assert free(tracker) == 2

    def test_an_instance_whose_record_is_gone_leaves_no_claim(self, tracker, instance, cell):
        tracker.claim_pci_devices(CONTEXT, requests(instance), None)
        cell.instances.destroy(instance)
        update(tracker)
        assert free(tracker) == 2

    def test_a_build_that_is_aborted_leaves_no_claim(self, tracker, make):
        instance = make()
        tracker.instance_claim(CONTEXT, instance, HOST)
        tracker.claim_pci_devices(CONTEXT, requests(instance), None)
        tracker.abort_instance_claim(CONTEXT, instance, HOST)
        assert free(tracker) == 2

    def test_nothing_is_sent_to_placement(self, tracker, instance):
        sent = list(tracker.reportclient.calls)
        tracker.claim_pci_devices(CONTEXT, requests(instance), None)
        tracker.allocate_pci_devices_for_instance(CONTEXT, instance)
        assert tracker.reportclient.calls == sent


class TestAllocations:
    @pytest.fixture(autouse=True)
    def allocated(self, tracker, instance):
        tracker.claim_pci_devices(CONTEXT, requests(instance), None)
        tracker.allocate_pci_devices_for_instance(CONTEXT, instance)

    def test_what_was_claimed_becomes_the_instances_own(self, tracker, instance, cell):
        known = cell.instances.by_uuid(instance.uuid)
        assert addresses(known.pci_devices) == [FIRST]
        assert known.pci_devices[0]["status"] == "allocated"
        assert known.pci_devices[0]["instance_uuid"] == instance.uuid
        tracker.free_pci_device_claims_for_instance(CONTEXT, instance)
        update(tracker)
        assert free(tracker) == 1

    def test_a_device_is_freed_alone(self, tracker, instance, cell):
        tracker.claim_pci_devices(CONTEXT, requests(instance), None)
        tracker.allocate_pci_devices_for_instance(CONTEXT, instance)
        tracker.unclaim_pci_devices(CONTEXT, {"address": FIRST}, instance)
        assert addresses(cell.instances.by_uuid(instance.uuid).pci_devices) == [SECOND]
        assert free(tracker) == 1

    def test_all_are_freed_and_claims_stay(self, tracker, instance, cell):
        tracker.claim_pci_devices(CONTEXT, requests(instance), None)
        tracker.free_pci_device_allocations_for_instance(CONTEXT, instance)
        assert cell.instances.by_uuid(instance.uuid).pci_devices == []
        assert free(tracker) == 1

    def test_the_instance_keeps_them_while_it_leaves(self, tracker, instance, move, cell):
        instance.task_state = "migrating"
        migration = move(instance, HOST, "other", migration_type="live-migration")
        instance.migration_context = MigrationContext(
            migration.id, old_pci_devices=list(instance.pci_devices)
        )
        cell.instances.save(instance)
        update(tracker)
        assert free(tracker) == 1
        tracker.free_pci_device_allocations_for_instance(CONTEXT, instance)
        assert free(tracker) == 2


def test_one_that_arrives_is_allocated_devices_of_its_destination(tracker, make, move):
    device = {"address": FIRST, "dev_type": "type-PCI", "vendor_id": "8086"}
    instance = make(**THERE, task_state="migrating", pci_devices=[device])
    tracker.live_migration_claim(
        CONTEXT, instance, HOST, move(instance, migration_type="live-migration"), None, None
    )
    tracker.claim_pci_devices(CONTEXT, requests(instance), None)
    tracker.allocate_pci_devices_for_instance(CONTEXT, instance)
    assert instance.pci_devices == [device]
    assert addresses(instance.migration_context.new_pci_devices) == [FIRST]
    assert (free(tracker), instance.flavor) == (1, TINY)


def test_the_devices_of_the_driver_are_listed(tracker):
    assert addresses(tracker.pci_tracker.pci_devs) == [FIRST, SECOND]
