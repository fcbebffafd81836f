"""Claims of new instances, without a placement (compute.md §4.11)."""

import pytest

from compute import exceptions
from compute.records.instance import Instance
from tests.unit.compute.resource_tracker.equipped_host import (
    CONTEXT,
    HERE,
    HOST,
    NOTHING_USED,
    TINY,
    update,
    used,
)


class TestInstances:
    def test_only_a_tracked_one_is_updated(self, tracker, make):
        instance = make()
        for nodename in (HOST, "another"):
            tracker.update_usage(CONTEXT, instance, nodename)
        assert used(tracker) == NOTHING_USED
        assert tracker.tracked_instances == set()

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


class TestNuma:
    def wants(self, *cells):
        return {"cells": [{"vcpus": vcpus, "memory_mb": memory} for vcpus, memory in cells]}

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
