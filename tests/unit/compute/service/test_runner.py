"""The life of a service: when it updates, what ends it, and how signals reach it.

See compute.md §5.1–5.3.
"""

import os
import signal
from types import SimpleNamespace

import pytest

from compute import config, exceptions
from compute.records.cell_database.memory import MemoryCellDatabase
from compute.records.service import Service
from compute.service.manager import UpdateOutcome
from compute.service.runner import ServiceRunner, Signals
from tests.clock import Clock


class ScriptedManager:
    """Raises, at its n-th update, the n-th of `script` (None: nothing)."""

    host = "host1"

    def __init__(self):
        self.calls = []
        self.script = []

    def init_host(self, service_ref):
        self.calls.append(("init_host", service_ref))

    def pre_start_hook(self, service_ref):
        self.calls.append(("pre_start_hook", service_ref.id))
        return UpdateOutcome()

    def update_available_resource(self, context, startup=False):
        self.calls.append(("update", startup))
        failure = self.script.pop(0) if self.script else None
        if failure is not None:
            raise failure

    def reset(self):
        self.calls.append("reset")


class ScriptedWaiting:
    """Each wait ends as the next of `events` says: "time", "reset" or "stop"; at last "stop"."""

    def __init__(self, *events):
        self.events = list(events)
        self.stop_requested = False
        self.reset_requested = False
        self.waits = []

    def take_reset_request(self):
        requested, self.reset_requested = self.reset_requested, False
        return requested

    def wait(self, seconds):
        self.waits.append(seconds)
        event = self.events.pop(0) if self.events else "stop"
        self.stop_requested = event == "stop"
        self.reset_requested = event == "reset"
        return event == "time"


@pytest.fixture
def conf():
    return config.load(files=[], environ={})


@pytest.fixture
def manager():
    return ScriptedManager()


@pytest.fixture
def cell():
    return MemoryCellDatabase()


@pytest.fixture
def runner(manager, cell, conf):
    return ServiceRunner(manager, cell, conf)


def test_a_first_start_makes_the_service_known_once_the_host_is_accepted(runner, manager, cell):
    runner.start()
    assert manager.calls == [("init_host", None), ("pre_start_hook", 1)]
    assert cell.services.by_host("host1").id == 1


def test_a_host_that_is_refused_leaves_no_service_record(runner, manager, cell, monkeypatch):
    def refuse(service_ref):
        raise exceptions.InvalidConfiguration()

    monkeypatch.setattr(manager, "init_host", refuse)
    with pytest.raises(exceptions.InvalidConfiguration):
        runner.start()
    assert cell.services.by_host("host1") is None


def test_a_new_host_that_should_be_disabled_is_refused(runner, manager, cell):
    """Nothing would ever enable it; one that is known goes on."""
    runner.conf.set_override("enable_new_services", False)
    with pytest.raises(exceptions.InvalidConfiguration, match="enable_new_services is false"):
        runner.start()
    assert (manager.calls, cell.services.by_host("host1")) == ([], None)
    cell.services.create(Service(host="host1"))
    runner.start()
    assert len(manager.calls) == 2


def test_a_later_start_uses_the_service_record_there_is(runner, manager, cell):
    cell.services.create(Service(host="host1"))
    runner.start()
    assert manager.calls == [("init_host", Service(host="host1", id=1)), ("pre_start_hook", 1)]


def test_updates_after_the_start_never_count_as_start_up(runner, manager):
    runner.run(ScriptedWaiting("time", "time"))
    assert manager.calls == [("update", False), ("update", False)]


@pytest.mark.parametrize(("configured", "longest"), [(0, 60), (7, 7)])
def test_an_interval_of_zero_is_the_default_of_a_minute(
    runner, conf, configured, longest, monkeypatch
):
    monkeypatch.setattr("compute.service.runner.time", SimpleNamespace(monotonic=Clock()))
    conf.set_override("update_resources_interval", configured)
    waiting = ScriptedWaiting()
    runner.run(waiting)
    assert waiting.waits == [longest]


def test_a_negative_interval_switches_periodic_updates_off(runner, conf):
    conf.set_override("update_resources_interval", -1)
    waiting = ScriptedWaiting("reset")
    runner.run(waiting)
    assert waiting.waits == [None, None]


@pytest.mark.parametrize(
    "failure", [exceptions.ReshapeNeeded(), exceptions.ReshapeFailed(error="no")]
)
def test_a_reshape_needed_or_failed_ends_the_service(runner, manager, failure):
    manager.script = [None, failure]
    with pytest.raises(type(failure)):
        runner.run(ScriptedWaiting("time", "time", "time"))
    assert len(manager.calls) == 2


def test_unless_the_operator_wants_it_to_go_on(runner, manager, conf):
    conf.set_override("reshape_periodic_nonfatal", True, group="workarounds")
    manager.script = [exceptions.ReshapeNeeded()]
    runner.run(ScriptedWaiting("time", "time"))
    assert len(manager.calls) == 2


def test_any_other_failure_is_logged_and_the_next_update_comes(runner, manager, caplog):
    manager.script = [RuntimeError("the driver tripped")]
    runner.run(ScriptedWaiting("time", "time"))
    assert len(manager.calls) == 2
    assert "the driver tripped" in caplog.text


def test_a_hang_up_resets_without_an_update_of_its_own(runner, manager):
    runner.run(ScriptedWaiting("reset"))
    assert manager.calls == ["reset"]


def test_a_hang_up_makes_mutable_options_be_read_again(manager, cell, tmp_path):
    path = tmp_path / "berth-compute.conf"
    option = "resource_provider_association_refresh"
    path.write_text(f"[compute]\n{option} = 10\n")
    conf = config.load(files=[str(path)], environ={})
    path.write_text(f"[compute]\n{option} = 20\n")
    ServiceRunner(manager, cell, conf).run(ScriptedWaiting("reset"))
    assert conf.compute[option] == 20


def test_a_configuration_that_broke_meanwhile_does_not_end_the_service(
    manager, cell, tmp_path, caplog
):
    path = tmp_path / "berth-compute.conf"
    path.write_text("[compute]\n")
    conf = config.load(files=[str(path)], environ={})
    path.write_text("no configuration\n")
    ServiceRunner(manager, cell, conf).run(ScriptedWaiting("reset"))
    assert manager.calls == ["reset"]
    assert "could not be read again" in caplog.text


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_stop_signal_is_a_request_that_ends_the_wait(self, number):
        with Signals() as signals:
            os.kill(os.getpid(), number)
            assert signals.wait(None) is False
            assert signals.stop_requested is True

    def test_a_second_stop_signal_does_not_wait(self):
        with Signals():
            os.kill(os.getpid(), signal.SIGTERM)
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGTERM)

    def test_a_hang_up_is_taken_once(self):
        with Signals() as signals:
            os.kill(os.getpid(), signal.SIGHUP)
            assert signals.wait(None) is False
            assert [signals.take_reset_request(), signals.take_reset_request()] == [True, False]
            assert signals.stop_requested is False

    def test_without_a_signal_the_time_runs_up(self):
        with Signals() as signals:
            assert signals.wait(0) is True

    def test_the_handlers_there_were_are_put_back(self):
        before = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
        with Signals():
            pass
        after = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
        assert after == before
