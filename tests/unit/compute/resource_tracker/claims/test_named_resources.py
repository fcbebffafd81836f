"""Named resources are assigned, freed and missed (compute.md §4.11)."""

import pytest

from compute import exceptions
from compute.provider_tree import Resource
from tests.unit.compute.resource_tracker.equipped_host import CONTEXT, HERE, HOST, update


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
