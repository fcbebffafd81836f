"""ComputeManager: start, regular updates, and what is fatal (compute.md §5)."""

import logging

import pytest
from keystoneauth1.exceptions import ConnectFailure

from compute import config, exceptions
from compute.records.cell_database.memory import MemoryCellDatabase
from compute.records.compute_node import ComputeNode
from compute.records.node_identity import NodeIdentity
from compute.records.service import Service
from compute.report.wire.context import admin_context
from compute.service.manager import ComputeManager, DriverInitFailed
from tests.unit.compute.recording_client import RecordingReportClient
from virt.fake import FakeMultiNodeDriver, MediumFakeDriver
from virt.virtapi import NoopVirtAPI

HOST = "host1"
UUID = "11111111-1111-4111-8111-111111111111"

RESHAPE_FAILURES = [
    exceptions.ReshapeFailed(error="no"),
    exceptions.PlacementReshapeConflict(error="moved on"),
    exceptions.ReshapeNeeded(),
]

ONLY_LOGGED = [
    exceptions.ComputeHostNotFound(host=HOST),
    exceptions.ResourceProviderSyncFailed(),
    exceptions.ResourceProviderUpdateConflict(uuid=UUID, generation=1, error="moved on"),
    exceptions.ResourceProviderCreationFailed(name=HOST),
    ConnectFailure("nobody there"),
    ValueError("owned by the virt driver"),
]

FATAL_AT_START_UP = [
    exceptions.PlacementPciException(error="mixed"),
    exceptions.InvalidConfiguration(),
    exceptions.InvalidNodeConfiguration(reason="renamed"),
]


@pytest.fixture
def conf():
    return config.load(files=[], environ={}, overrides={(None, "host"): HOST})


@pytest.fixture
def cell():
    return MemoryCellDatabase()


@pytest.fixture
def client():
    return RecordingReportClient()


@pytest.fixture
def identity(tmp_path):
    return NodeIdentity(str(tmp_path))


@pytest.fixture
def new_manager(conf, cell, client, identity):
    def new(driver_class=MediumFakeDriver):
        driver = driver_class(NoopVirtAPI(), conf)
        return ComputeManager(conf, driver, client, cell, identity)

    return new


@pytest.fixture
def manager(new_manager, cell):
    """Return a manager whose host is at its first start, with the driver up."""
    manager = new_manager()
    manager.init_host(None)
    cell.services.create(Service(host=HOST))
    return manager


@pytest.fixture
def one_after_the_other(conf):
    """Nodes are updated in their order, so that it is known which one meets a failure."""
    conf.set_override("parallel_node_updates", 1, group="berth")


def update(manager, startup=False):
    return manager.update_available_resource(admin_context(), startup=startup)


def failing_with(manager, monkeypatch, failure):
    def fail(context, nodename, startup=False):
        raise failure

    monkeypatch.setattr(manager.rt, "update_available_resource", fail)


def by_class(failure):
    return type(failure).__name__


class TestExceptionPolicy:
    @pytest.mark.parametrize("startup", [True, False])
    @pytest.mark.parametrize("failure", RESHAPE_FAILURES, ids=by_class)
    def test_a_reshape_needed_or_failed_is_always_fatal(
        self, manager, monkeypatch, failure, startup
    ):
        failing_with(manager, monkeypatch, failure)
        with pytest.raises(type(failure)):
            update(manager, startup)

    @pytest.mark.parametrize("startup", [True, False])
    def test_a_failed_reshape_is_critical_and_names_the_node(
        self, manager, monkeypatch, caplog, startup
    ):
        failing_with(manager, monkeypatch, exceptions.ReshapeFailed(error="no"))
        with pytest.raises(exceptions.ReshapeFailed):
            update(manager, startup)
        (record,) = [r for r in caplog.records if r.levelno == logging.CRITICAL]
        assert HOST in record.getMessage()

    @pytest.mark.parametrize("startup", [True, False])
    def test_a_reshape_needed_is_logged_with_its_traceback(
        self, manager, monkeypatch, caplog, startup
    ):
        failing_with(manager, monkeypatch, exceptions.ReshapeNeeded())
        with pytest.raises(exceptions.ReshapeNeeded):
            update(manager, startup)
        assert "Traceback" in caplog.text

    def test_the_option_for_periodic_updates_does_not_change_what_the_manager_raises(
        self, manager, monkeypatch, conf
    ):
        conf.set_override("reshape_periodic_nonfatal", True, group="workarounds")
        failing_with(manager, monkeypatch, exceptions.ReshapeNeeded())
        with pytest.raises(exceptions.ReshapeNeeded):
            update(manager)

    @pytest.mark.parametrize("failure", FATAL_AT_START_UP, ids=by_class)
    def test_an_impossible_configuration_is_fatal_at_start_up(self, manager, monkeypatch, failure):
        failing_with(manager, monkeypatch, failure)
        with pytest.raises(type(failure)):
            update(manager, startup=True)

    @pytest.mark.parametrize("failure", FATAL_AT_START_UP, ids=by_class)
    def test_and_an_error_in_the_log_later(self, manager, monkeypatch, caplog, failure):
        failing_with(manager, monkeypatch, failure)
        assert update(manager).failures == {HOST: failure}
        assert [r.levelname for r in caplog.records if HOST in r.getMessage()][-1] == "ERROR"

    @pytest.mark.parametrize("startup", [True, False])
    @pytest.mark.parametrize("failure", ONLY_LOGGED, ids=by_class)
    def test_anything_else_is_only_logged(self, manager, monkeypatch, caplog, failure, startup):
        failing_with(manager, monkeypatch, failure)
        assert update(manager, startup).failures == {HOST: failure}
        assert f"node {HOST}" in caplog.text

    def test_a_node_that_is_not_found_is_only_a_warning(self, manager, monkeypatch, caplog):
        failing_with(manager, monkeypatch, exceptions.ComputeHostNotFound(host=HOST))
        update(manager, startup=True)
        assert {record.levelname for record in caplog.records} == {"WARNING"}


class TestUpdate:
    def test_every_node_is_updated(self, new_manager, client):
        manager = new_manager(FakeMultiNodeDriver)
        outcome = update(manager)
        assert outcome.updated == ["fake-node-1", "fake-node-2"]
        assert client.calls.count("update") == 2

    def test_a_node_that_fails_does_not_keep_the_next_from_being_updated(
        self, one_after_the_other, new_manager, client
    ):
        client.failures = [exceptions.ResourceProviderSyncFailed(), None]
        outcome = update(new_manager(FakeMultiNodeDriver))
        assert (list(outcome.failures), outcome.updated) == (["fake-node-1"], ["fake-node-2"])

    def test_a_node_that_works_again_is_told(self, manager, client, caplog):
        caplog.set_level(logging.INFO)
        client.failures = [exceptions.ResourceProviderSyncFailed()]
        update(manager)
        update(manager)
        update(manager)
        assert caplog.text.count("host1 is up to date again") == 1

    def test_a_fatal_node_does(self, one_after_the_other, new_manager, client):
        client.failures = [exceptions.ReshapeFailed(error="no"), None]
        with pytest.raises(exceptions.ReshapeFailed):
            update(new_manager(FakeMultiNodeDriver))
        assert client.calls.count("update") == 1

    @pytest.mark.parametrize("startup", [True, False])
    def test_a_driver_that_is_not_ready_is_a_warning_and_nothing_is_done(
        self, manager, client, monkeypatch, caplog, startup
    ):
        def not_ready(refresh=False):
            raise exceptions.VirtDriverNotReady()

        monkeypatch.setattr(manager.driver, "get_available_nodes", not_ready)
        outcome = update(manager, startup)
        assert (outcome.driver_ready, client.calls) == (False, [])
        assert [record.levelname for record in caplog.records] == ["WARNING"]

    @pytest.mark.parametrize(("startup", "level"), [(True, "WARNING"), (False, "ERROR")])
    def test_a_host_without_records_is_only_at_start_up_as_it_should_be(
        self, manager, caplog, startup, level
    ):
        update(manager, startup)
        (record,) = [r for r in caplog.records if "No compute node record" in r.getMessage()]
        assert record.levelname == level


class TestOrphans:
    @pytest.fixture
    def manager(self, one_after_the_other, new_manager):
        manager = new_manager(FakeMultiNodeDriver)
        update(manager)
        return manager

    def names(self, cell):
        return [node.hypervisor_hostname for node in cell.compute_nodes.by_host(HOST)]

    def test_a_node_that_is_gone_for_good_loses_record_and_providers(self, manager, cell, client):
        manager.driver.drop_node("fake-node-2", deleted=True)
        update(manager)
        assert self.names(cell) == ["fake-node-1"]
        assert client.deleted == [("fake-node-2", True)]
        assert list(manager.rt.compute_nodes) == ["fake-node-1"]

    def test_a_node_that_is_only_out_of_sight_keeps_both(self, manager, cell, client, caplog):
        manager.driver.drop_node("fake-node-2", deleted=False)
        update(manager)
        assert self.names(cell) == ["fake-node-1", "fake-node-2"]
        assert client.deleted == []
        assert "fake-node-2 is not listed" in caplog.text

    def test_a_node_another_host_took_keeps_its_providers(self, manager, cell, client, monkeypatch):
        def taken(node):
            raise exceptions.ObjectActionError(action="destroy", reason="host changed")

        monkeypatch.setattr(cell.compute_nodes, "destroy", taken)
        uuid = cell.compute_nodes.by_host_and_node(HOST, "fake-node-2").uuid
        manager.driver.drop_node("fake-node-2", deleted=True)
        update(manager)
        assert (client.deleted, client.invalidated) == ([], [uuid])
        assert "fake-node-2" not in manager.rt.compute_nodes

    def test_unreachable_placement_does_not_stop_the_update(
        self, manager, client, monkeypatch, caplog
    ):
        def unreachable(context, node, cascade=False):
            raise ConnectFailure("nobody there")

        monkeypatch.setattr(client, "delete_resource_provider", unreachable)
        manager.driver.drop_node("fake-node-2", deleted=True)
        assert update(manager).updated == ["fake-node-1"]
        assert "fake-node-2 could not be deleted" in caplog.text


class TestStart:
    def test_the_first_start_of_a_host_makes_its_identity(self, new_manager, identity):
        new_manager().init_host(None)
        assert identity.read() is not None

    def test_the_first_update_is_the_one_that_may_reshape(self, new_manager, cell, monkeypatch):
        manager = new_manager()
        manager.init_host(None)
        service = Service(host=HOST)
        cell.services.create(service)
        seen = []
        monkeypatch.setattr(
            manager.rt,
            "update_available_resource",
            lambda context, nodename, startup: seen.append((nodename, startup)),
        )
        manager.pre_start_hook(service)
        assert seen == [(HOST, True)]
        assert manager.rt.service_ref is service

    def test_a_driver_that_can_not_start_is_a_failure_of_its_own(self, new_manager, monkeypatch):
        manager = new_manager()

        def fail(host):
            raise OSError("no sysfs")

        monkeypatch.setattr(manager.driver, "init_host", fail)
        with pytest.raises(DriverInitFailed, match="no sysfs"):
            manager.init_host(None)

    def test_a_service_that_ran_before_but_lost_its_identity_is_refused(self, new_manager):
        with pytest.raises(exceptions.InvalidConfiguration, match="identity file is gone"):
            new_manager().init_host(Service(host=HOST, id=1))

    def test_unless_its_nodes_have_identities_of_their_own(self, new_manager, monkeypatch):
        manager = new_manager(FakeMultiNodeDriver)
        monkeypatch.setattr(manager.driver, "rebalances_nodes", True)
        manager.init_host(Service(host=HOST, id=1))
        assert manager.identity.read() is None

    def test_a_new_service_on_a_host_with_instances_is_refused(self, new_manager, monkeypatch):
        manager = new_manager()
        monkeypatch.setattr(manager.driver, "list_instance_uuids", lambda: [UUID])
        with pytest.raises(exceptions.InvalidConfiguration, match="1 instances"):
            manager.init_host(None)

    @pytest.mark.parametrize(
        ("host", "nodename"), [("renamed", HOST), (HOST, "renamed")], ids=["host", "node"]
    )
    def test_a_renamed_host_or_node_is_refused(self, new_manager, cell, tmp_path, host, nodename):
        (tmp_path / "compute_id").write_text(UUID)
        cell.compute_nodes.create(ComputeNode(uuid=UUID, host=host, hypervisor_hostname=nodename))
        with pytest.raises(exceptions.InvalidConfiguration, match="not supported"):
            new_manager().init_host(Service(host=HOST, id=1))

    def test_a_host_that_is_the_one_it_was_starts(self, new_manager, cell, tmp_path):
        (tmp_path / "compute_id").write_text(UUID)
        cell.compute_nodes.create(ComputeNode(uuid=UUID, host=HOST, hypervisor_hostname=HOST))
        manager = new_manager()
        manager.init_host(Service(host=HOST, id=1))
        assert manager.driver.get_available_nodes() == [HOST]


class TestWhileItRuns:
    def test_a_reset_clears_the_report_client_s_cache(self, manager, client):
        manager.reset()
        assert client.calls == ["clear_cache"]

    def test_a_reset_is_no_start(self, manager, client, monkeypatch):
        update(manager, startup=True)
        manager.reset()

        def needs_reshape(tree, nodename):
            raise exceptions.ReshapeNeeded()

        monkeypatch.setattr(manager.driver, "update_provider_tree", needs_reshape)
        with pytest.raises(exceptions.ReshapeNeeded):
            update(manager)

    @pytest.mark.parametrize(
        ("enabled", "answer", "has_trait"), [(False, "disabled", True), (True, "enabled", False)]
    )
    def test_the_status_trait_is_written_at_once(self, manager, client, enabled, answer, has_trait):
        update(manager)
        node = manager.rt.compute_nodes[HOST]
        if enabled:
            client.tree.add_traits(HOST, "COMPUTE_STATUS_DISABLED")
        assert manager.set_host_enabled(enabled) == answer
        ((uuid, traits, generation),) = client.written_traits
        assert (uuid, generation) == (node.uuid, 7)
        assert ("COMPUTE_STATUS_DISABLED" in traits) is has_trait

    def test_a_status_that_is_right_already_is_not_written(self, manager, client):
        update(manager)
        manager.set_host_enabled(True)
        assert client.written_traits == []

    def test_a_status_that_can_not_be_written_is_logged(self, manager, client, monkeypatch, caplog):
        update(manager)

        def unreachable(context, uuid):
            raise ConnectFailure("nobody there")

        monkeypatch.setattr(client, "get_provider_traits", unreachable)
        assert manager.set_host_enabled(False) == "disabled"
        assert "could not be marked disabled" in caplog.text

    def test_a_host_without_nodes_can_not_be_marked(self, manager, caplog):
        manager.set_host_enabled(False)
        assert "no nodes yet" in caplog.text
