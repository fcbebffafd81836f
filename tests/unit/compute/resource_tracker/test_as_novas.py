"""The tracker is made and asked as nova's developers know it (compute.md §4.1)."""

import pytest

from compute import config
from compute.records.node_identity import NodeIdentity
from compute.records.service import Service
from compute.resource_tracker import ResourceTracker
from compute.resource_tracker import tracker as tracker_module
from tests.unit.compute.recording_client import RecordingReportClient
from tests.unit.compute.resource_tracker.equipped_host import HOST, update
from virt.fake import MediumFakeDriver
from virt.virtapi import NoopVirtAPI

NODE_UUID = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def conf():
    return config.load(files=[], environ={}, overrides={(None, "host"): HOST})


@pytest.fixture
def client():
    return RecordingReportClient()


class TestConstruction:
    def test_a_host_a_driver_and_a_client_are_enough(self, conf, client):
        tracker = ResourceTracker(HOST, MediumFakeDriver(NoopVirtAPI(), conf), client)
        assert tracker.reportclient is client
        assert tracker.conf.compute.allocation_writer == "auto"
        tracker.cell.services.create(Service(host=HOST))
        tracker.identity = NodeIdentity.known(NODE_UUID)
        tracker.driver.init_host(HOST)
        update(tracker)
        assert tracker.get_node_by_name(HOST).uuid == NODE_UUID

    def test_without_a_client_it_is_that_of_the_process(self, conf, client, monkeypatch):
        monkeypatch.setattr(tracker_module, "report_client_singleton", lambda conf: client)
        driver = MediumFakeDriver(NoopVirtAPI(), conf)
        assert ResourceTracker(HOST, driver, conf=conf).reportclient is client

    def test_the_ratios_are_those_configured_when_it_was_made(self, conf, client):
        conf.set_override("cpu_allocation_ratio", 2.0)
        tracker = ResourceTracker(HOST, MediumFakeDriver(NoopVirtAPI(), conf), client, conf=conf)
        conf.clear_override("cpu_allocation_ratio")
        assert tracker.cpu_allocation_ratio == 2.0
        assert (tracker.ram_allocation_ratio, tracker.disk_allocation_ratio) == (None, None)

    def test_failed_builds_are_counted_until_one_succeeds(self, tracker):
        tracker.build_failed(HOST)
        tracker.build_failed(HOST)
        update(tracker)
        assert tracker.compute_nodes[HOST].stats["failed_builds"] == 2
        tracker.build_succeeded(HOST)
        assert tracker.stats[HOST]["failed_builds"] == 0

    def test_builds_on_a_node_that_is_not_tracked_are_not_counted(self, new_tracker):
        tracker = new_tracker()
        tracker.build_failed(HOST)
        tracker.build_succeeded(HOST)
        assert tracker.stats == {}
