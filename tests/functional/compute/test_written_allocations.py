"""Allocations written by the resource tracker, at a real placement (compute.md §9.4, A1–A13)."""

import json
import logging
from uuid import uuid4

import pytest
from keystoneauth1.exceptions import ConnectFailure

from compute import exceptions
from compute.records.instance import Flavor, Instance
from compute.records.migration import Migration
from compute.report.wire.context import admin_context
from tests.functional.compute.compute_host import NestingDriver
from virt.fake import MediumFakeDriver

SHARES = "MISC_SHARES_VIA_AGGREGATE"
FLAVOR = Flavor(vcpus=2, memory_mb=1024, root_gb=10, ephemeral_gb=100, swap=1)
WHOLE = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 111}


class PciDriver(MediumFakeDriver):
    """Has four whole PCI devices and a virtual function."""

    def get_available_resource(self, nodename):
        devices = [
            {"address": f"0000:0{n}:00.0", "dev_type": "type-PCI", "vendor_id": "8086"}
            for n in range(4)
        ]
        devices.append({"address": "0000:05:00.1", "dev_type": "type-VF", "vendor_id": "8086"})
        listed = json.dumps(devices)
        return super().get_available_resource(nodename) | {"pci_passthrough_devices": listed}


@pytest.fixture
def host(host):
    host.conf.set_override("allocation_writer", "tracker", group="compute")
    return host


@pytest.fixture
def running(host):
    """Return the host, with its service started."""
    host.start()
    return host


@pytest.fixture
def pool(outsider, running):
    """Shared storage in an aggregate of the host."""
    aggregate = str(uuid4())
    outsider.set_aggregates(running.uuid, [aggregate])
    running.conf.set_override("instances_on_shared_storage", True, group="berth")
    uuid = outsider.provider(
        inventory={"DISK_GB": {"total": 1000}}, traits=[SHARES], aggregates=[aggregate]
    )
    running.manager.reset()
    running.update()
    return uuid


def an_instance(on, **fields):
    instance = Instance(**{"project_id": "project", "user_id": "user", "flavor": FLAVOR, **fields})
    on.cell.instances.create(instance)
    return instance


def claim(host, instance, allocations=None):
    rt = host.manager.rt
    return rt.instance_claim(admin_context(), instance, host.name, allocations)


def claimed(host, **fields):
    instance = an_instance(host, **fields)
    claim(host, instance)
    return instance


def terminate(host, instance):
    instance.vm_state = "deleted"
    host.cell.instances.save(instance)
    host.cell.instances.destroy(instance)
    host.manager.rt.update_usage(admin_context(), instance, host.name)


def allocation_writes(adapter):
    return [sent for sent in adapter.writes if "/allocations" in sent[1]]


def test_a1_a_claim_is_one_put_of_all_it_takes(running, outsider):
    instance = claimed(running)
    assert outsider.allocations(instance.uuid) == {running.uuid: WHOLE}
    assert [sent[:2] for sent in allocation_writes(running.adapter)] == [
        ("PUT", f"/allocations/{instance.uuid}")
    ]


def test_a1_it_is_the_instances_project_that_pays(running, outsider):
    instance = claimed(running)
    body = outsider.call("GET", f"/allocations/{instance.uuid}")
    assert (body["project_id"], body["user_id"]) == ("project", "user")


def test_a2_a_root_disk_on_a_volume_takes_no_disk(running, outsider):
    instance = claimed(running, booted_from_volume=True)
    assert outsider.allocations(instance.uuid) == {running.uuid: {**WHOLE, "DISK_GB": 101}}


def test_a2_the_rest_of_its_disk_is_the_nodes_even_with_shared_storage(running, outsider, pool):
    instance = claimed(running, booted_from_volume=True)
    assert outsider.allocations(instance.uuid) == {running.uuid: {**WHOLE, "DISK_GB": 101}}


def test_a3_disk_on_shared_storage_is_taken_from_its_provider(running, outsider, pool):
    instance = claimed(running)
    assert outsider.allocations(instance.uuid) == {
        running.uuid: {"VCPU": 2, "MEMORY_MB": 1024},
        pool: {"DISK_GB": 111},
    }
    assert len(allocation_writes(running.adapter)) == 1


def test_a4_without_a_sharing_provider_the_disk_is_the_nodes_until_there_is_one(running, outsider):
    running.conf.set_override("instances_on_shared_storage", True, group="berth")
    instance = claimed(running)
    before = outsider.allocations(instance.uuid)
    aggregate = str(uuid4())
    outsider.set_aggregates(running.uuid, [aggregate])
    pool = outsider.provider(
        inventory={"DISK_GB": {"total": 1000}}, traits=[SHARES], aggregates=[aggregate]
    )
    running.manager.reset()
    running.update()
    assert before == {running.uuid: WHOLE}
    assert outsider.allocations(instance.uuid) == {
        running.uuid: {"VCPU": 2, "MEMORY_MB": 1024},
        pool: {"DISK_GB": 111},
    }


def test_a5_whole_pci_devices_are_counted_and_virtual_functions_are_not(host, outsider):
    host.start(PciDriver)
    instance = an_instance(host)
    instance.pci_devices = [
        {
            "address": f"0000:0{n}:00.{n // 5}",
            "dev_type": kind,
            "status": status,
            "instance_uuid": instance.uuid,
        }
        for n, kind, status in (
            (0, "type-PCI", "allocated"),
            (1, "type-PCI", "allocated"),
            (2, "type-PCI", "claimed"),
            (5, "type-VF", "allocated"),
        )
    ]
    claim(host, instance)
    assert outsider.totals(host.uuid)["PCI_DEVICE"] == 4
    assert outsider.allocations(instance.uuid) == {host.uuid: {**WHOLE, "PCI_DEVICE": 2}}


def test_a5_requested_devices_are_chosen_and_counted(host, outsider):
    host.start(PciDriver)
    request = {"count": 3, "spec": [{"dev_type": "type-PCI"}]}
    first = claimed(host, pci_requests=[request])
    assert outsider.allocations(first.uuid)[host.uuid]["PCI_DEVICE"] == 3
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match="pci"):
        claimed(host, pci_requests=[request])


def test_a6_an_update_without_changes_only_reads(running):
    claimed(running)
    running.adapter.requests.clear()
    running.update()
    assert running.adapter.writes == []
    assert running.adapter.requests != []


def test_a7_allocations_that_were_deleted_are_written_again(running, outsider):
    instance = claimed(running)
    outsider.call("DELETE", f"/allocations/{instance.uuid}")
    running.update()
    assert outsider.allocations(instance.uuid) == {running.uuid: WHOLE}


def test_a8_what_a_terminated_instance_held_is_deleted(running, outsider):
    instance = claimed(running)
    terminate(running, instance)
    assert outsider.allocations(instance.uuid) == {}
    assert allocation_writes(running.adapter)[-1][0] == "DELETE"


def test_a8_that_it_is_gone_already_is_no_reason_to_warn(running, outsider, caplog):
    instance = claimed(running)
    outsider.call("DELETE", f"/allocations/{instance.uuid}")
    with caplog.at_level(logging.WARNING):
        terminate(running, instance)
    assert caplog.records == []


def test_a9_what_was_deleted_while_the_service_was_down_is_cleaned_up(running, outsider):
    instance = claimed(running)
    running.cell.instances.destroy(instance)
    running.start()
    assert outsider.allocations(instance.uuid) == {}


def test_a9_so_is_a_consumer_nobody_knows(running, outsider):
    claimed(running)
    stranger = outsider.allocate({running.uuid: {"VCPU": 1}})
    running.update()
    assert outsider.allocations(stranger) == {}


def test_a9_migrations_and_instances_on_their_way_are_spared(running, outsider):
    migration = Migration(
        instance_uuid=str(uuid4()), source_compute=running.name, source_node=running.name
    )
    running.cell.migrations.create(migration)
    coming = an_instance(running)
    for consumer in (migration.uuid, coming.uuid):
        outsider.allocate({running.uuid: {"VCPU": 1}}, consumer)
    running.update()
    assert outsider.allocations(migration.uuid) == {running.uuid: {"VCPU": 1}}
    assert outsider.allocations(coming.uuid) == {running.uuid: {"VCPU": 1}}


def test_a10_an_instance_that_moved_away_keeps_what_it_holds_there(running, outsider):
    instance = claimed(running)
    other = outsider.provider(inventory={"VCPU": {"total": 8}})
    outsider.allocate({running.uuid: WHOLE, other: {"VCPU": 2}}, instance.uuid)
    migration = Migration(
        instance_uuid=instance.uuid,
        source_compute=running.name,
        source_node=running.name,
        dest_compute="other",
        dest_node="other",
    )
    running.cell.migrations.create(migration)
    running.manager.rt.drop_move_claim_at_source(admin_context(), instance, migration)
    assert outsider.allocations(instance.uuid) == {other: {"VCPU": 2}}


def test_a10_the_audit_takes_only_this_hosts_part_of_an_instance_elsewhere(running, outsider):
    other = outsider.provider(inventory={"VCPU": {"total": 8}})
    moved = an_instance(running, host="other", node="other")
    outsider.allocate({running.uuid: {"VCPU": 2}, other: {"VCPU": 2}}, moved.uuid)
    running.update()
    assert outsider.allocations(moved.uuid) == {other: {"VCPU": 2}}


def test_a11_a_claim_does_not_fail_for_a_lost_placement_and_is_repaired(running, outsider):
    def lost(method, url):
        raise ConnectFailure("gone")

    running.adapter.before = lost
    instance = claimed(running)
    running.update()
    before = outsider.allocations(instance.uuid)
    running.adapter.before = None
    running.update()
    assert (before, outsider.allocations(instance.uuid)) == ({}, {running.uuid: WHOLE})


def test_a12_what_a_reshape_moved_below_the_root_stays_there(running, outsider):
    instance = claimed(running)
    running.start(NestingDriver)
    nested = outsider.allocations(instance.uuid)
    running.update()
    running.update()
    assert len(nested) == 3
    assert outsider.allocations(instance.uuid) == nested


def test_a13_swap_is_rounded_up_and_flavors_may_override_a_class(running, outsider):
    flavor = Flavor(vcpus=2, memory_mb=512, swap=1025, extra_specs={"resources:VCPU": "0"})
    instance = claimed(running, flavor=flavor)
    assert outsider.allocations(instance.uuid) == {running.uuid: {"MEMORY_MB": 512, "DISK_GB": 2}}


@pytest.mark.parametrize(
    ("specs", "amounts"),
    [
        ({"resources1:VCPU": "1"}, {"VCPU": 1}),
        ({"resources1:VCPU": "1", "resources2:VCPU": "1"}, {"VCPU": 2}),
        ({"resources:VCPU": "two"}, {"VCPU": 3}),
        ({"resources:VCPU": "-1"}, {"VCPU": 3}),
        ({"hw:cpu_policy": "dedicated"}, {"VCPU": 3}),
    ],
)
def test_a_claim_takes_what_nova_would_claim(running, outsider, specs, amounts):
    instance = claimed(running, flavor=Flavor(vcpus=3, memory_mb=512, extra_specs=specs))
    assert outsider.allocations(instance.uuid) == {running.uuid: {"MEMORY_MB": 512} | amounts}


def test_a_claim_placement_has_no_room_for_is_refused_and_leaves_nothing(running, outsider):
    instance = an_instance(running, flavor=Flavor(vcpus=1, memory_mb=100000))
    with pytest.raises(
        exceptions.ComputeResourcesUnavailable, match=r"no room for 100000 MEMORY_MB \(.* 7680;"
    ):
        claim(running, instance)
    assert outsider.allocations(instance.uuid) == {}
    assert running.cell.instances.by_uuid(instance.uuid).host is None


def test_what_its_other_host_writes_at_the_same_moment_stays_beside_ours(running, outsider):
    other = outsider.provider(inventory={"VCPU": {"total": 8}})
    instance = an_instance(running)

    def others_come_first(method, url):
        if method == "PUT" and url == f"/allocations/{instance.uuid}":
            running.adapter.before = None
            outsider.allocate({other: {"VCPU": 2}}, instance.uuid)

    running.adapter.before = others_come_first
    claim(running, instance)
    assert outsider.allocations(instance.uuid) == {running.uuid: WHOLE, other: {"VCPU": 2}}


def test_a_removal_that_met_another_writer_is_made_up_for(running, outsider):
    other = outsider.provider(inventory={"VCPU": {"total": 8}})
    instance = an_instance(running)
    aborted = running.manager.rt.instance_claim(admin_context(), instance, running.name)

    def others_come_first(method, url):
        if method == "PUT" and url == f"/allocations/{instance.uuid}":
            running.adapter.before = None
            outsider.allocate({running.uuid: WHOLE, other: {"VCPU": 2}}, instance.uuid)

    running.adapter.before = others_come_first
    aborted.abort()
    met = outsider.allocations(instance.uuid)
    running.update()
    assert met == {running.uuid: WHOLE, other: {"VCPU": 2}}
    assert outsider.allocations(instance.uuid) == {other: {"VCPU": 2}}


class TestAuto:
    @pytest.fixture(autouse=True)
    def auto(self, host):
        host.conf.set_override("allocation_writer", "auto", group="compute")

    def test_what_the_scheduler_allocated_is_left_alone(self, running, outsider):
        instance = an_instance(running)
        outsider.allocate({running.uuid: {"VCPU": 1}}, instance.uuid)
        claim(running, instance, {running.uuid: {"resources": {"VCPU": 1}}})
        running.update()
        terminate(running, instance)
        assert outsider.allocations(instance.uuid) == {running.uuid: {"VCPU": 1}}

    def test_an_instance_without_allocations_gets_them_and_loses_them_again(
        self, running, outsider
    ):
        instance = claimed(running)
        held = outsider.allocations(instance.uuid)
        terminate(running, instance)
        assert (held, outsider.allocations(instance.uuid)) == ({running.uuid: WHOLE}, {})

    def test_an_instance_that_was_there_without_allocations_gets_them_at_the_start(
        self, running, outsider
    ):
        instance = an_instance(running, host=running.name, node=running.name, vm_state="active")
        running.start()
        assert outsider.allocations(instance.uuid) == {running.uuid: WHOLE}

    def test_a_driver_may_ask_for_allocations_to_be_written_again(self, running, outsider):
        running.driver.requires_allocation_refresh = True
        instance = an_instance(running, host=running.name, node=running.name)
        outsider.allocate({running.uuid: {"VCPU": 1}}, instance.uuid)
        running.update()
        assert outsider.allocations(instance.uuid) == {running.uuid: WHOLE}

    def test_idle_updates_with_instances_send_nothing(self, running):
        claimed(running)
        running.update()
        running.adapter.requests.clear()
        running.update()
        assert running.adapter.requests == []


def test_a_tracker_that_leaves_it_to_the_scheduler_writes_nothing(running, outsider):
    running.conf.set_override("allocation_writer", "scheduler", group="compute")
    instance = claimed(running)
    running.update()
    assert allocation_writes(running.adapter) == []
    assert outsider.allocations(instance.uuid) == {}
