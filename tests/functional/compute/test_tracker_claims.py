"""Claims, and instances that were deleted (compute.md §9.3: R6, R31, R32)."""

import pytest

from compute import exceptions
from compute.records.instance import Flavor, Instance
from compute.report.wire.context import admin_context
from virt.fake import (
    MediumFakeDriverWithNestedCustomResources,
)

SMALL = Flavor(vcpus=1, memory_mb=2048, root_gb=20)


def an_instance(on, **fields):
    instance = Instance(**{"project_id": "project", "user_id": "user", "flavor": SMALL, **fields})
    on.cell.instances.create(instance)
    return instance


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
        node = host.cell.compute_nodes.by_host_and_node(host.name, host.name)
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
