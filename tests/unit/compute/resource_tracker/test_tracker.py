"""ResourceTracker without a placement (compute.md §4.1–4.7)."""

import json
import threading

import pytest

from compute import config, exceptions
from compute.records.cell_database.memory import MemoryCellDatabase
from compute.records.compute_node import ComputeNode
from compute.records.node_identity import NodeIdentity
from compute.records.service import Service
from compute.report.wire.context import admin_context
from compute.resource_tracker import ResourceTracker
from tests.patience import PATIENCE
from tests.unit.compute.recording_client import RecordingReportClient
from virt.fake import FakeMultiNodeDriver, LegacyInventoryDriver, MediumFakeDriver
from virt.virtapi import NoopVirtAPI

HOST = "host1"
OTHER_UUID = "22222222-2222-4222-8222-222222222222"


class ScriptedDriver(MediumFakeDriver):
    """Raises, at its n-th update of a tree, the n-th of `script` (None: nothing)."""

    def __init__(self, virtapi, conf):
        super().__init__(virtapi, conf)
        self.script = []
        self.asked = []

    def update_provider_tree(self, *args, **kwargs):
        self.asked.append((args[1:], kwargs))
        super().update_provider_tree(*args, **kwargs)
        failure = self.script.pop(0) if self.script else None
        if failure is not None:
            raise failure


@pytest.fixture
def conf():
    return config.load(files=[], environ={}, overrides={(None, "host"): HOST})


@pytest.fixture
def cell():
    cell = MemoryCellDatabase()
    cell.services.create(Service(host=HOST))
    return cell


@pytest.fixture
def client():
    return RecordingReportClient()


@pytest.fixture
def new_tracker(conf, cell, client, tmp_path):
    def new(driver_class=ScriptedDriver):
        driver = driver_class(NoopVirtAPI(), conf)
        driver.init_host(HOST)
        identity = NodeIdentity(str(tmp_path))
        return ResourceTracker(HOST, driver, client, conf=conf, cell=cell, identity=identity)

    return new


@pytest.fixture
def tracker(new_tracker):
    return new_tracker()


def update(tracker, startup=False, nodename=HOST):
    tracker.update_available_resource(admin_context(), nodename, startup=startup)


def conflict():
    return exceptions.ResourceProviderUpdateConflict(uuid="u", generation=1, error="moved on")


def reshape_conflict():
    return exceptions.PlacementReshapeConflict(error="moved on")


class TestRecord:
    def test_a_new_node_is_recorded_under_the_identity_of_its_host(self, tracker, cell, tmp_path):
        update(tracker)
        node = cell.compute_nodes.by_host_and_node(HOST, HOST)
        assert node.uuid == (tmp_path / "compute_id").read_text()
        assert (node.vcpus, node.memory_mb, node.local_gb) == (10, 8192, 1028)

    def test_a_driver_s_own_uuid_wins_over_the_host_s(self, new_tracker, cell, tmp_path):
        update(new_tracker(FakeMultiNodeDriver), nodename="fake-node-1")
        assert cell.compute_nodes.by_host_and_node(HOST, "fake-node-1") is not None
        assert not (tmp_path / "compute_id").exists()

    def test_used_amounts_are_what_the_host_keeps_for_itself(self, tracker, conf):
        conf.set_override("reserved_host_cpus", 2)
        conf.set_override("reserved_host_disk_mb", 8192)
        update(tracker)
        node = tracker.compute_nodes[HOST]
        assert (node.vcpus_used, node.memory_mb_used, node.local_gb_used) == (2, 512, 8)
        assert (node.free_ram_mb, node.free_disk_gb) == (7680, 1020)

    def test_a_record_that_did_not_change_is_not_saved_again(self, tracker, cell, monkeypatch):
        update(tracker)
        saved = []
        monkeypatch.setattr(cell.compute_nodes, "save", saved.append)
        update(tracker)
        assert saved == []

    def test_a_changed_record_is_saved(self, tracker, cell):
        update(tracker)
        tracker.driver.vcpus = 20
        update(tracker)
        assert cell.compute_nodes.by_host_and_node(HOST, HOST).vcpus == 20

    def test_what_a_driver_measures_is_in_the_record(self, tracker, cell, monkeypatch):
        measured = [{"name": "cpu.percent", "value": 3}]
        resources = tracker.driver.get_available_resource(HOST)
        monkeypatch.setattr(tracker.driver, "get_available_resource", lambda node: resources)
        for resources["metrics"] in (measured, None):
            update(tracker)
            node = cell.compute_nodes.by_host_and_node(HOST, HOST)
            assert node.metrics == (resources["metrics"] or [])

    def test_a_save_that_fails_is_tried_again_next_time(self, tracker, cell, monkeypatch):
        def fail(node):
            raise OSError("disk full")

        with monkeypatch.context() as patched:
            patched.setattr(cell.compute_nodes, "save", fail)
            with pytest.raises(OSError, match="disk full"):
                update(tracker)
        update(tracker)
        assert cell.compute_nodes.by_host_and_node(HOST, HOST).memory_mb_used == 512

    def test_so_is_a_later_save_that_fails(self, tracker, cell, monkeypatch):
        update(tracker)
        tracker.driver.vcpus = 20

        def fail(node):
            raise OSError("disk full")

        with monkeypatch.context() as patched:
            patched.setattr(cell.compute_nodes, "save", fail)
            with pytest.raises(OSError, match="disk full"):
                update(tracker)
        update(tracker)
        assert cell.compute_nodes.by_host_and_node(HOST, HOST).vcpus == 20

    def test_a_failed_reshape_leaves_the_record_as_it_was(self, new_tracker, cell):
        update(new_tracker())
        restarted = new_tracker()
        restarted.driver.vcpus = 20
        restarted.driver.script = [exceptions.ReshapeNeeded(), exceptions.ReshapeFailed(error="x")]
        with pytest.raises(exceptions.ReshapeFailed):
            update(restarted, startup=True)
        assert cell.compute_nodes.by_host_and_node(HOST, HOST).vcpus == 10

    def test_a_restarted_service_finds_its_record_again(self, new_tracker, cell):
        update(new_tracker())
        before = cell.compute_nodes.by_host_and_node(HOST, HOST)
        update(new_tracker())
        assert cell.compute_nodes.by_host(HOST) == [before]

    def test_a_deleted_record_is_brought_back(self, new_tracker, cell):
        update(new_tracker())
        node = cell.compute_nodes.by_host_and_node(HOST, HOST)
        cell.compute_nodes.destroy(node)
        update(new_tracker())
        assert cell.compute_nodes.by_host_and_node(HOST, HOST).uuid == node.uuid

    def test_a_node_that_came_from_another_host_is_taken_over(self, tracker, cell, tmp_path):
        (tmp_path / "compute_id").write_text(OTHER_UUID)
        cell.compute_nodes.create(
            ComputeNode(uuid=OTHER_UUID, host="host9", hypervisor_hostname=HOST)
        )
        update(tracker)
        assert cell.compute_nodes.by_uuid(OTHER_UUID).host == HOST

    def test_a_node_that_came_from_another_host_may_need_a_reshape(self, tracker, cell, tmp_path):
        (tmp_path / "compute_id").write_text(OTHER_UUID)
        cell.compute_nodes.create(
            ComputeNode(uuid=OTHER_UUID, host="host9", hypervisor_hostname=HOST)
        )
        tracker.driver.script = [exceptions.ReshapeNeeded()]
        update(tracker, startup=True)
        assert cell.compute_nodes.by_uuid(OTHER_UUID).host == HOST

    def test_a_second_uuid_for_the_same_node_is_refused(self, new_tracker, tmp_path):
        update(new_tracker())
        (tmp_path / "compute_id").write_text(OTHER_UUID)
        with pytest.raises(exceptions.InvalidConfiguration, match=OTHER_UUID):
            update(new_tracker())

    def test_a_second_name_for_the_same_node_is_refused(self, new_tracker):
        update(new_tracker())
        renamed = new_tracker()
        renamed.driver._set_nodes(["renamed"])
        with pytest.raises(exceptions.InvalidNodeConfiguration, match="can't be renamed"):
            update(renamed, nodename="renamed")

    def test_a_driver_that_leaves_out_a_required_key_is_refused(self, tracker, monkeypatch):
        monkeypatch.setattr(tracker.driver, "get_available_resource", lambda node: {"vcpus": 1})
        with pytest.raises(exceptions.InvalidInput, match="memory_mb, local_gb, cpu_info"):
            update(tracker)

    def test_nothing_is_reported_of_a_node_that_is_gone(self, tracker, client, monkeypatch):
        monkeypatch.setattr(tracker.driver, "node_is_available", lambda node: False)
        update(tracker)
        assert client.calls == []

    def test_records_name_their_service(self, tracker, cell):
        tracker.set_service_ref(cell.services.by_host(HOST))
        update(tracker)
        assert cell.compute_nodes.by_host_and_node(HOST, HOST).service_id == 1


class TestServiceRef:
    def test_the_same_service_may_be_set_again(self, tracker, cell):
        tracker.set_service_ref(cell.services.by_host(HOST))
        tracker.set_service_ref(cell.services.by_host(HOST))
        assert tracker.service_ref.id == 1

    def test_another_service_is_refused(self, tracker, cell):
        tracker.set_service_ref(cell.services.by_host(HOST))
        with pytest.raises(exceptions.ComputeServiceInUse):
            tracker.set_service_ref(Service(host=HOST, id=2))

    def test_the_service_of_another_host_is_refused(self, tracker):
        with pytest.raises(exceptions.ServiceNotUnique):
            tracker.set_service_ref(Service(host="host2", id=1))


class TestReshape:
    def test_the_driver_is_first_asked_without_any_allocations_argument(self, tracker):
        update(tracker, startup=True)
        assert tracker.driver.asked == [((HOST,), {})]

    def test_without_a_need_no_allocations_are_gathered_or_sent(self, tracker, client):
        update(tracker, startup=True)
        assert "get_allocations" not in client.calls
        assert client.sent_allocations == [None]

    def test_at_start_up_the_driver_is_asked_again_with_the_allocations(self, tracker, client):
        client.allocations = {"c1": {"allocations": {}}}
        tracker.driver.script = [exceptions.ReshapeNeeded()]
        update(tracker, startup=True)
        assert tracker.driver.asked == [
            ((HOST,), {}),
            ((HOST,), {"allocations": {"c1": {"allocations": {}}}}),
        ]
        assert client.sent_allocations == [{"c1": {"allocations": {}}}]

    def test_no_allocations_at_all_are_still_a_reshape(self, tracker, client):
        tracker.driver.script = [exceptions.ReshapeNeeded()]
        update(tracker, startup=True)
        assert client.sent_allocations == [{}]

    def test_after_start_up_the_need_passes_and_nothing_is_sent(self, tracker, client):
        tracker.driver.script = [exceptions.ReshapeNeeded()]
        with pytest.raises(exceptions.ReshapeNeeded):
            update(tracker, startup=False)
        assert client.calls == ["get_tree"]

    def test_a_need_that_does_not_end_passes_and_nothing_is_sent(self, tracker, client):
        tracker.driver.script = [exceptions.ReshapeNeeded(), exceptions.ReshapeNeeded()]
        with pytest.raises(exceptions.ReshapeNeeded):
            update(tracker, startup=True)
        assert client.calls == ["get_tree", "get_allocations"]

    def test_a_driver_s_failure_passes_and_nothing_is_sent(self, tracker, client):
        tracker.driver.script = [exceptions.ReshapeNeeded(), exceptions.ReshapeFailed(error="x")]
        with pytest.raises(exceptions.ReshapeFailed):
            update(tracker, startup=True)
        assert client.calls == ["get_tree", "get_allocations"]

    def test_after_a_conflict_everything_starts_over_and_the_driver_is_asked_anew(
        self, tracker, client
    ):
        client.failures = [reshape_conflict(), reshape_conflict()]
        tracker.driver.script = [exceptions.ReshapeNeeded(), None] * 3
        update(tracker, startup=True)
        assert len(tracker.driver.asked) == 6
        assert client.sent_allocations == [{}, {}, {}]

    def test_the_fourth_conflict_is_fatal_if_there_is_no_time_left(self, tracker, client):
        tracker.conf.set_override("conflict_retry_time", 0, "berth")
        client.failures = [reshape_conflict() for _ in range(4)]
        tracker.driver.script = [exceptions.ReshapeNeeded(), None] * 4
        with pytest.raises(exceptions.ReshapeFailed):
            update(tracker, startup=True)
        assert client.calls.count("update") == 4

    def test_a_reshape_that_failed_otherwise_is_not_tried_again(self, tracker, client):
        client.failures = [exceptions.ReshapeFailed(error="no room")]
        tracker.driver.script = [exceptions.ReshapeNeeded()]
        with pytest.raises(exceptions.ReshapeFailed, match="no room"):
            update(tracker, startup=True)
        assert client.calls.count("update") == 1

    def test_what_a_consumer_loses_is_a_warning(self, tracker, client, caplog, monkeypatch):
        client.allocations = {"c1": {"allocations": {"rp": {"resources": {"VGPU": 2}}}}}

        def shrink(tree, nodename, allocations=None):
            if allocations is None:
                raise exceptions.ReshapeNeeded()
            allocations["c1"]["allocations"]["rp"]["resources"]["VGPU"] = 1

        monkeypatch.setattr(tracker.driver, "update_provider_tree", shrink)
        update(tracker, startup=True)
        assert "leaves consumer c1 with less than before: 1 VGPU" in caplog.text


class TestConflicts:
    def test_a_generation_conflict_is_tried_again_from_a_fresh_tree(self, tracker, client):
        client.failures = [conflict(), conflict(), conflict()]
        update(tracker)
        assert client.calls.count("get_tree") == 4

    def test_more_conflicts_than_four_are_outlasted_while_there_is_time(self, tracker, client):
        tracker.conf.set_override("conflict_retry_time", PATIENCE, "berth")
        client.failures = [conflict() for _ in range(9)]
        update(tracker)
        assert client.calls.count("update") == 10

    def test_the_fourth_generation_conflict_passes_and_the_next_update_works(self, tracker, client):
        tracker.conf.set_override("conflict_retry_time", 0, "berth")
        client.failures = [conflict() for _ in range(4)]
        with pytest.raises(exceptions.ResourceProviderUpdateConflict):
            update(tracker)
        update(tracker)
        assert client.calls.count("update") == 5

    def test_any_other_failure_is_not_tried_again(self, tracker, client):
        client.failures = [exceptions.ResourceProviderSyncFailed()]
        with pytest.raises(exceptions.ResourceProviderSyncFailed):
            update(tracker)
        assert client.calls.count("update") == 1


class TestTraits:
    def traits(self, client):
        return client.tree.data(HOST).traits

    def test_the_root_has_what_the_driver_can_do_and_the_two_markers(self, tracker, client):
        update(tracker)
        assert self.traits(client) == {
            "COMPUTE_NODE",
            "OWNER_NOVA",
            "COMPUTE_NET_ATTACH_INTERFACE",
            "COMPUTE_DEVICE_TAGGING",
            "COMPUTE_NET_ATTACH_INTERFACE_WITH_TAG",
            "COMPUTE_VOLUME_ATTACH_WITH_TAG",
            "COMPUTE_VOLUME_EXTEND",
            "COMPUTE_VOLUME_MULTI_ATTACH",
            "COMPUTE_TRUSTED_CERTS",
            "COMPUTE_ACCELERATORS",
            "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
            "COMPUTE_ADDRESS_SPACE_EMULATED",
            "COMPUTE_SECURITY_STATELESS_FIRMWARE",
            "COMPUTE_STORAGE_VIRTIO_FS",
            "COMPUTE_MEM_BACKING_FILE",
            "COMPUTE_IMAGE_TYPE_RAW",
        }

    def test_remote_managed_ports_take_such_a_device(self, tracker, client, monkeypatch):
        device = {"address": "0000:01:00.0", "dev_type": "type-VF", "remote_managed": "true"}
        told = tracker.driver.get_available_resource(HOST)
        told["pci_passthrough_devices"] = json.dumps([device])
        monkeypatch.setattr(tracker.driver, "get_available_resource", lambda node: told)
        update(tracker)
        assert "COMPUTE_REMOTE_MANAGED_PORTS" in self.traits(client)

    def test_an_operator_s_trait_stays_but_an_unsupported_capability_goes(self, tracker, client):
        update(tracker)
        client.tree.add_traits(HOST, "CUSTOM_GOLD", "COMPUTE_IMAGE_TYPE_VHD")
        client.tree.remove_traits(HOST, "COMPUTE_DEVICE_TAGGING")
        update(tracker)
        assert {"CUSTOM_GOLD", "COMPUTE_DEVICE_TAGGING"} <= self.traits(client)
        assert "COMPUTE_IMAGE_TYPE_VHD" not in self.traits(client)

    @pytest.mark.parametrize("disabled", [True, False])
    def test_the_status_trait_follows_the_service_record(self, tracker, client, cell, disabled):
        service = cell.services.by_host(HOST)
        service.disabled = not disabled
        cell.services.save(service)
        update(tracker)
        service.disabled = disabled
        cell.services.save(service)
        update(tracker)
        assert ("COMPUTE_STATUS_DISABLED" in self.traits(client)) is disabled

    def test_without_a_service_record_the_status_trait_is_left_alone(
        self, tracker, client, monkeypatch, caplog
    ):
        update(tracker)
        client.tree.add_traits(HOST, "COMPUTE_STATUS_DISABLED")
        monkeypatch.setattr(tracker.cell.services, "by_host", lambda host: None)
        update(tracker)
        assert "COMPUTE_STATUS_DISABLED" in self.traits(client)
        assert "No service record" in caplog.text

    def test_a_marker_placement_does_not_know_is_left_out(self, tracker, client):
        client.known_traits = {"COMPUTE_NODE"}
        update(tracker)
        assert "OWNER_NOVA" not in self.traits(client)

    def test_placement_is_asked_for_the_markers_only_until_they_are_there(self, tracker, client):
        update(tracker)
        update(tracker)
        asked = [call for call in client.calls if call.startswith("GET")]
        assert asked == ["GET /traits?name=in:COMPUTE_NODE,OWNER_NOVA"]


class TestOlderDrivers:
    def test_get_inventory_is_completed_with_ratios_and_reserved(self, new_tracker, client):
        update(new_tracker(LegacyInventoryDriver))
        inventory = client.tree.data(HOST).inventory
        assert {name: (r["allocation_ratio"], r["reserved"]) for name, r in inventory.items()} == {
            "VCPU": (4.0, 0),
            "MEMORY_MB": (1.0, 512),
            "DISK_GB": (1.0, 0),
        }

    def test_without_get_inventory_it_follows_from_the_record(self, new_tracker, client):
        from virt.fake import ResourceOnlyDriver

        update(new_tracker(ResourceOnlyDriver))
        inventory = client.tree.data(HOST).inventory
        assert {name: record["total"] for name, record in inventory.items()} == {
            "VCPU": 10,
            "MEMORY_MB": 8192,
            "DISK_GB": 1028,
        }

    def test_get_traits_adds_to_the_root_s_traits(self, new_tracker, client, monkeypatch):
        tracker = new_tracker(LegacyInventoryDriver)
        monkeypatch.setattr(tracker.driver, "get_traits", lambda node: ["HW_CPU_X86_AVX"])
        update(tracker)
        assert {"HW_CPU_X86_AVX", "COMPUTE_NODE"} <= client.tree.data(HOST).traits

    def test_they_are_not_asked_when_the_driver_edits_trees(self, tracker, monkeypatch):
        def must_not_be_called(nodename):
            raise AssertionError("superseded by update_provider_tree")

        monkeypatch.setattr(tracker.driver, "get_inventory", must_not_be_called)
        monkeypatch.setattr(tracker.driver, "get_traits", must_not_be_called)
        update(tracker)
        assert tracker.provider_tree.exists(HOST)


class TestNodes:
    def test_an_unknown_node_is_not_found(self, tracker):
        with pytest.raises(exceptions.ComputeHostNotFound):
            tracker.get_node_by_name(HOST)

    def test_a_known_node_is_found_by_name(self, tracker):
        update(tracker)
        assert tracker.get_node_by_name(HOST).hypervisor_hostname == HOST

    def test_nodes_without_a_record_are_forgotten(self, new_tracker, client, cell):
        tracker = new_tracker(FakeMultiNodeDriver)
        for nodename in ("fake-node-1", "fake-node-2"):
            update(tracker, nodename=nodename)
        tracker.clean_compute_node_cache([cell.compute_nodes.by_host_and_node(HOST, "fake-node-2")])
        assert list(tracker.compute_nodes) == list(tracker.old_resources) == ["fake-node-2"]
        assert client.invalidated == ["fake-node-1"]

    def test_work_on_one_node_does_not_wait_for_another(self, new_tracker, client):
        tracker = new_tracker(FakeMultiNodeDriver)
        in_first, second_done = threading.Event(), threading.Event()
        report = client.update_from_provider_tree

        def hold_the_first(context, tree, allocations=None):
            if tree.exists("fake-node-1"):
                in_first.set()
                assert second_done.wait(PATIENCE)
            report(context, tree, allocations)

        client.update_from_provider_tree = hold_the_first
        first = threading.Thread(target=update, args=[tracker], kwargs={"nodename": "fake-node-1"})
        first.start()
        assert in_first.wait(PATIENCE)
        update(tracker, nodename="fake-node-2")
        second_done.set()
        first.join()
        assert set(tracker.compute_nodes) == {"fake-node-1", "fake-node-2"}

    def test_work_on_the_same_node_waits_its_turn(self, tracker, client):
        with tracker._nodes.lock(HOST):
            other = threading.Thread(target=update, args=[tracker])
            other.start()
            lock = tracker._nodes._locks._locks[HOST]
            while not lock.has_pending_writers:
                assert other.is_alive()
            assert client.calls == []
        other.join()
        assert "update" in client.calls
