"""What agent.rst says of [compute]allocation_writer, where test_written_allocations.py doesn't."""

import json
import logging
import time
from types import SimpleNamespace

import pytest
from keystoneauth1.exceptions import ConnectFailure
from requests import Response

from compute import exceptions
from compute.records.instance import Flavor, Instance
from compute.report.wire.context import admin_context
from virt.fake import MediumFakeDriver

FLAVOR = Flavor(vcpus=2, memory_mb=1024, root_gb=10)
WHOLE = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}
EVERY_MODE = pytest.mark.parametrize("mode", ["auto", "tracker", "scheduler"])


class PciDriver(MediumFakeDriver):
    """Has four whole PCI devices."""

    def get_available_resource(self, nodename):
        devices = [
            {"address": f"0000:0{n}:00.0", "dev_type": "type-PCI", "vendor_id": "8086"}
            for n in range(4)
        ]
        listed = json.dumps(devices)
        return super().get_available_resource(nodename) | {"pci_passthrough_devices": listed}


@pytest.fixture
def start(host):
    """Start the host's service in a mode."""

    def starting(mode, driver=MediumFakeDriver):
        host.conf.set_override("allocation_writer", mode, group="compute")
        host.start(driver)
        return host

    return starting


def an_instance(on, **fields):
    instance = Instance(**{"project_id": "project", "user_id": "user", "flavor": FLAVOR, **fields})
    on.cell.instances.create(instance)
    return instance


def claimed(host, given=None, **fields):
    instance = an_instance(host, **fields)
    host.manager.rt.instance_claim(admin_context(), instance, host.name, given)
    instance.vm_state = "active"
    host.cell.instances.save(instance)
    return instance


def scheduled(host, outsider):
    """Claim an instance with allocations that the scheduler wrote."""
    instance = an_instance(host)
    outsider.allocate({host.uuid: WHOLE}, instance.uuid)
    given = {host.uuid: {"resources": WHOLE}}
    host.manager.rt.instance_claim(admin_context(), instance, host.name, given)
    instance.vm_state = "active"
    host.cell.instances.save(instance)
    return instance


def delete_behind_its_back(outsider, instance):
    outsider.call("DELETE", f"/allocations/{instance.uuid}")


def lose(host):
    def lost(method, url):
        raise ConnectFailure("gone")

    host.adapter.before = lost


class TestWhatAClaimWrites:
    def test_auto_and_tracker_write_what_no_scheduler_wrote(self, start, outsider):
        for mode in ("auto", "tracker"):
            host = start(mode)
            assert outsider.allocations(claimed(host).uuid) == {host.uuid: WHOLE}

    def test_tracker_makes_the_schedulers_allocations_what_the_flavor_says(self, start, outsider):
        host = start("tracker")
        instance = an_instance(host)
        outsider.allocate({host.uuid: {"VCPU": 1}}, instance.uuid)
        given = {host.uuid: {"resources": {"VCPU": 1}}}
        host.manager.rt.instance_claim(admin_context(), instance, host.name, given)
        assert outsider.allocations(instance.uuid) == {host.uuid: WHOLE}

    def test_auto_writes_none_beside_those_the_scheduler_passed(self, start, outsider):
        host = start("auto")
        instance = an_instance(host)
        given = {host.uuid: {"resources": {"VCPU": 1}}}
        host.manager.rt.instance_claim(admin_context(), instance, host.name, given)
        assert outsider.allocations(instance.uuid) == {}

    def test_auto_looks_before_it_writes(self, start, outsider):
        host = start("auto")
        instance = an_instance(host)
        outsider.allocate({host.uuid: {"VCPU": 1}}, instance.uuid)
        host.manager.rt.instance_claim(admin_context(), instance, host.name, None)
        assert outsider.allocations(instance.uuid) == {host.uuid: {"VCPU": 1}}

    @pytest.mark.parametrize("mode", ["auto", "tracker"])
    def test_no_room_refuses_the_claim(self, start, outsider, mode):
        host = start(mode)
        with pytest.raises(
            exceptions.ComputeResourcesUnavailable, match="no room for 1000000 MEMORY_MB"
        ):
            claimed(host, flavor=Flavor(vcpus=1, memory_mb=10**6))


class TestADeletedAllocation:
    def test_of_auto_comes_back_when_the_nodes_instances_change(self, start, outsider):
        host = start("auto")
        instance = claimed(host)
        host.update()
        delete_behind_its_back(outsider, instance)
        host.update()
        unnoticed = outsider.allocations(instance.uuid)
        claimed(host)
        host.update()
        assert (unnoticed, outsider.allocations(instance.uuid)) == ({}, {host.uuid: WHOLE})

    def test_of_auto_comes_back_after_some_time(self, start, outsider, monkeypatch):
        host = start("auto")
        instance = claimed(host)
        host.update()
        delete_behind_its_back(outsider, instance)
        host.conf.set_override("resource_provider_association_refresh", 1, group="compute")
        later = time.monotonic() + 2
        # somebody sets the machine's clock back meanwhile
        clock = SimpleNamespace(monotonic=lambda: later, time=lambda: time.time() - 3600)
        monkeypatch.setattr("compute.resource_tracker.allocations.allocation_audit.time", clock)
        host.update()
        assert outsider.allocations(instance.uuid) == {host.uuid: WHOLE}

    def test_of_auto_comes_back_after_a_reset(self, start, outsider):
        host = start("auto")
        instance = claimed(host)
        host.update()
        delete_behind_its_back(outsider, instance)
        host.manager.reset()
        host.update()
        assert outsider.allocations(instance.uuid) == {host.uuid: WHOLE}

    def test_of_the_scheduler_stays_away_and_fails_no_update_that_looks_at_nothing(
        self, start, outsider, caplog
    ):
        host = start("auto")
        instance = scheduled(host, outsider)
        host.update()
        delete_behind_its_back(outsider, instance)
        host.update()
        assert outsider.allocations(instance.uuid) == {}
        assert "ERROR" not in caplog.text

    @pytest.mark.parametrize("mode", ["auto", "tracker"])
    def test_comes_back_at_the_start(self, start, outsider, mode):
        host = start(mode)
        instance = claimed(host)
        host.update()
        delete_behind_its_back(outsider, instance)
        host.start()
        assert outsider.allocations(instance.uuid) == {host.uuid: WHOLE}

    def test_of_the_scheduler_comes_back_and_is_autos_then(self, start, outsider):
        host = start("auto")
        instance = scheduled(host, outsider)
        host.update()
        delete_behind_its_back(outsider, instance)
        host.start()
        back = outsider.allocations(instance.uuid)
        host.cell.instances.destroy(instance)
        host.start()
        assert (back, outsider.allocations(instance.uuid)) == ({host.uuid: WHOLE}, {})

    def test_stays_away_with_scheduler(self, start, outsider):
        host = start("scheduler")
        instance = scheduled(host, outsider)
        delete_behind_its_back(outsider, instance)
        host.start()
        host.update()
        assert outsider.allocations(instance.uuid) == {}


class TestAChangedAllocation:
    def test_is_put_right_by_tracker(self, start, outsider):
        host = start("tracker")
        instance = claimed(host)
        outsider.allocate({host.uuid: {"VCPU": 1}}, instance.uuid)
        host.update()
        assert outsider.allocations(instance.uuid) == {host.uuid: WHOLE}

    def test_is_put_right_by_auto_at_the_start_if_it_is_its_own(self, start, outsider):
        host = start("auto")
        own, others = claimed(host), scheduled(host, outsider)
        for instance in (own, others):
            outsider.allocate({host.uuid: {"VCPU": 1}}, instance.uuid)
        host.start()
        assert outsider.allocations(own.uuid) == {host.uuid: WHOLE}
        assert outsider.allocations(others.uuid) == {host.uuid: {"VCPU": 1}}

    def test_keeps_classes_that_the_tracker_does_not_know(self, start, outsider):
        host = start("tracker")
        instance = claimed(host)
        other = outsider.provider(inventory={"CUSTOM_GPU": {"total": 8}})
        outsider.allocate({host.uuid: {"VCPU": 1}, other: {"CUSTOM_GPU": 1}}, instance.uuid)
        host.update()
        assert outsider.allocations(instance.uuid) == {
            host.uuid: WHOLE,
            other: {"CUSTOM_GPU": 1},
        }


class TestWhatIsDeleted:
    @EVERY_MODE
    def test_what_a_deleted_instance_of_this_host_left_behind(self, start, outsider, mode):
        host = start(mode)
        gone = an_instance(host, host=host.name, node=host.name, deleted=True)
        outsider.allocate({host.uuid: {"VCPU": 1}}, gone.uuid)
        host.start()
        assert outsider.allocations(gone.uuid) == {}

    @pytest.mark.parametrize("mode", ["auto", "scheduler"])
    def test_a_consumer_that_no_record_knows_only_with_tracker(self, start, outsider, mode):
        host = start(mode)
        an_instance(host, host=host.name, node=host.name)
        stranger = outsider.allocate({host.uuid: {"VCPU": 1}})
        host.start()
        assert outsider.allocations(stranger) == {host.uuid: {"VCPU": 1}}

    @pytest.mark.parametrize("mode", ["auto", "scheduler"])
    def test_the_part_of_an_instance_elsewhere_only_with_tracker(
        self, start, outsider, mode, caplog
    ):
        host = start(mode)
        other = outsider.provider(inventory={"VCPU": {"total": 8}})
        moved = an_instance(host, host="other", node="other", vm_state="active")
        outsider.allocate({host.uuid: {"VCPU": 2}, other: {"VCPU": 2}}, moved.uuid)
        with caplog.at_level(logging.WARNING):
            host.start()
        assert any("the instance is on other" in r.getMessage() for r in caplog.records)
        assert outsider.allocations(moved.uuid) == {host.uuid: {"VCPU": 2}, other: {"VCPU": 2}}

    @EVERY_MODE
    def test_what_an_evacuated_instance_holds_when_the_agent_says_so(self, start, outsider, mode):
        host = start(mode)
        other = outsider.provider(inventory={"VCPU": {"total": 8}})
        moved = an_instance(host, host="other", node="other")
        outsider.allocate({host.uuid: {"VCPU": 2}, other: {"VCPU": 2}}, moved.uuid)
        rt = host.manager.rt
        rt.delete_allocation_for_evacuated_instance(admin_context(), moved, host.name)
        assert outsider.allocations(moved.uuid) == {other: {"VCPU": 2}}

    def test_of_an_aborted_build_what_the_tracker_wrote(self, start, outsider):
        host = start("auto")
        instance = an_instance(host)
        claim = host.manager.rt.instance_claim(admin_context(), instance, host.name, None)
        claim.abort()
        assert outsider.allocations(instance.uuid) == {}


class TestPciDevice:
    @pytest.mark.parametrize("mode", ["auto", "scheduler"])
    def test_only_tracker_reports_and_allocates_it(self, start, outsider, mode):
        host = start(mode, PciDriver)
        request = {"count": 2, "spec": [{"dev_type": "type-PCI"}]}
        instance = claimed(host, pci_requests=[request])
        host.update()
        assert "PCI_DEVICE" not in outsider.totals(host.uuid)
        assert "PCI_DEVICE" not in outsider.allocations(instance.uuid).get(host.uuid, {})

    def test_another_mode_cannot_take_it_away_while_it_is_allocated(self, start, outsider):
        host = start("tracker", PciDriver)
        request = {"count": 2, "spec": [{"dev_type": "type-PCI"}]}
        instance = claimed(host, pci_requests=[request])
        start("auto", PciDriver)
        failure = host.outcome.failures[host.name]
        assert isinstance(failure, exceptions.InventoryInUse)
        assert outsider.totals(host.uuid)["PCI_DEVICE"] == 4
        assert outsider.allocations(instance.uuid)[host.uuid]["PCI_DEVICE"] == 2
        start("tracker", PciDriver)
        assert host.outcome.failures == {}


class TestAnUnreachablePlacement:
    @EVERY_MODE
    def test_does_not_refuse_a_claim(self, start, outsider, mode):
        host = start(mode)
        lose(host)
        instance = claimed(host)
        host.adapter.before = None
        host.update()
        expected = {} if mode == "scheduler" else {host.uuid: WHOLE}
        assert outsider.allocations(instance.uuid) == expected

    @pytest.mark.parametrize("mode", ["auto", "tracker"])
    def test_at_a_deletion_is_made_up_for_by_the_next_update(self, start, outsider, mode):
        host = start(mode)
        instance = claimed(host)
        lose(host)
        instance.vm_state = "deleted"
        host.cell.instances.save(instance)
        host.cell.instances.destroy(instance)
        host.manager.rt.update_usage(admin_context(), instance, host.name)
        host.adapter.before = None
        left = outsider.allocations(instance.uuid)
        host.update()
        assert (left, outsider.allocations(instance.uuid)) == ({host.uuid: WHOLE}, {})

    def test_that_has_no_room_gives_what_there_is_and_the_rest_later(self, start, outsider, caplog):
        host = start("auto")
        memory = outsider.totals(host.uuid)["MEMORY_MB"] - FLAVOR.memory_mb
        blocker = outsider.allocate({host.uuid: {"MEMORY_MB": memory}})
        instance = an_instance(host, host=host.name, node=host.name, vm_state="active")
        with caplog.at_level(logging.WARNING):
            host.start()
            host.update()
        before = outsider.allocations(instance.uuid)
        text = f"Instance {instance.uuid} of node {host.name} lacks 512 MEMORY_MB"
        told = [record for record in caplog.records if text in record.getMessage()]
        outsider.call("DELETE", f"/allocations/{blocker}")
        host.update()
        # 512 MB are reserved for the host
        assert before == {host.uuid: {**WHOLE, "MEMORY_MB": 512}}
        assert outsider.allocations(instance.uuid) == {host.uuid: WHOLE}
        assert len(told) == 1


class TestAPlacementThatAnswersWithErrors:
    """It can be reached: a claim for which nothing is written is refused."""

    @pytest.mark.parametrize("mode", ["auto", "tracker"])
    @pytest.mark.parametrize("method", ["GET", "PUT"])
    def test_refuses_a_claim(self, start, outsider, mode, method):
        host = start(mode)
        instance = an_instance(host)
        failed = Response()
        failed.status_code, failed._content = 500, b"failed"
        sent = method, f"/allocations/{instance.uuid}"
        host.adapter.before = lambda *now: failed if now == sent else None
        with pytest.raises(exceptions.ComputeResourcesUnavailable):
            host.manager.rt.instance_claim(admin_context(), instance, host.name, None)
        host.adapter.before = None
        host.update()
        assert (outsider.allocations(instance.uuid), instance.host) == ({}, None)

    @pytest.mark.parametrize("mode", ["auto", "tracker"])
    def test_whose_consumer_keeps_changing_refuses_a_claim(self, start, outsider, mode):
        host = start(mode)
        instance = an_instance(host)
        elsewhere = outsider.provider(inventory={"VCPU": {"total": 1}})

        def other_writer(method, url):
            if (method, url) == ("PUT", f"/allocations/{instance.uuid}"):
                outsider.allocate({elsewhere: {"VCPU": 1}}, instance.uuid)

        host.adapter.before = other_writer
        with pytest.raises(exceptions.ComputeResourcesUnavailable, match="keep changing"):
            host.manager.rt.instance_claim(admin_context(), instance, host.name, None)
        host.adapter.before = None
        assert outsider.allocations(instance.uuid) == {elsewhere: {"VCPU": 1}}


class TestAChangeOfTheMode:
    def test_from_tracker_to_auto_leaves_the_trackers_its_own(self, start, outsider):
        host = start("tracker")
        instance = claimed(host)
        start("auto")
        host.cell.instances.destroy(instance)
        host.start()
        assert outsider.allocations(instance.uuid) == {}

    def test_from_tracker_to_scheduler_leaves_them_to_it(self, start, outsider):
        host = start("tracker")
        instance = claimed(host)
        start("scheduler")
        instance.vm_state = "deleted"
        host.manager.rt.update_usage(admin_context(), instance, host.name)
        assert outsider.allocations(instance.uuid) == {host.uuid: WHOLE}
