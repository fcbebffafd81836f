"""`berth-compute` in this process: exit codes and what it says on stderr."""

import os
import socket
import sys

import pytest
from keystoneauth1.exceptions import ConnectFailure

from compute import exceptions
from compute.cli import agent, berth_compute
from compute.report.wire.failures import UNREACHABLE
from tests.unit.compute.recording_client import RecordingReportClient
from virt.fake import FakeMultiNodeDriver, MediumFakeDriver


class NotReadyDriver(MediumFakeDriver):
    """Its hypervisor takes its time."""

    def get_available_nodes(self, refresh=False):
        raise exceptions.VirtDriverNotReady()


class BrokenDriver(MediumFakeDriver):
    """Fails where nothing is expected to."""

    def get_available_nodes(self, refresh=False):
        raise RuntimeError("the hypervisor\nwent away")


class ReservesTooMuchDriver(MediumFakeDriver):
    """Finds the configuration impossible once it looks at it."""

    def get_available_resource(self, nodename):
        raise exceptions.InvalidConfiguration("more reserved than there is")


@pytest.fixture(autouse=True)
def own_excepthook(monkeypatch):
    """Put it back: the agent sets it for its whole process."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for name in os.environ:
        if name.startswith("OS_"):
            monkeypatch.delenv(name)


@pytest.fixture
def closed_port():
    """Return a port of this machine on which nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def configured(tmp_path, closed_port):
    """Write a complete configuration file with the given changes; return its path."""

    def write(group="DEFAULT", **options):
        sections = {
            "DEFAULT": {
                "host": "host1",
                "state_path": str(tmp_path / "state"),
                "compute_driver": "fake.MediumFakeDriver",
            },
            "placement": {
                "auth_type": "admin_token",
                "endpoint": f"http://127.0.0.1:{closed_port}",
                "token": "admin",
            },
        }
        sections.setdefault(group, {}).update(options)
        text = ""
        for section, values in sections.items():
            text += f"[{section}]\n"
            text += "".join(f"{k} = {v}\n" for k, v in values.items() if v is not None)
        path = tmp_path / "berth-compute.conf"
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture
def once(configured):
    def run(group="DEFAULT", **options):
        return berth_compute.main(["--once", "--config-file", configured(group, **options)])

    return run


@pytest.fixture
def client(monkeypatch):
    """Replace the report client, which reaches nothing, by one that works."""
    client = RecordingReportClient()
    monkeypatch.setattr(agent, "SchedulerReportClient", lambda conf, on_request: client)
    return client


def said(capsys):
    """Return the lines of the command itself on stderr, without warnings."""
    return [line for line in capsys.readouterr().err.splitlines() if ": WARNING: " not in line]


def here(driver_class):
    return f"{__name__}.{driver_class.__name__}"


def test_one_update_that_works_is_0_and_says_nothing(once, client, capsys):
    assert once() == 0
    assert client.tree.exists("host1")
    assert said(capsys) == []


def test_an_unreachable_placement_is_3_and_says_where_it_was_looked_for(once, capsys, closed_port):
    assert once() == 3
    (line,) = said(capsys)
    assert line.startswith("berth-compute: node host1: Unable to establish connection to ")
    assert f"http://127.0.0.1:{closed_port}/" in line
    assert f": Connection refused. {UNREACHABLE}" in line


def test_an_unknown_driver_is_4_and_names_the_known_ones(once, capsys):
    assert once(compute_driver="nonsense") == 4
    (line,) = said(capsys)
    assert "Unknown compute driver 'nonsense'" in line
    assert "host" in line


def test_no_driver_at_all_is_4(once, capsys):
    assert once(compute_driver=None) == 4
    assert "No compute driver is configured" in said(capsys)[0]


def test_an_unreadable_sysfs_is_4_and_names_the_file(configured, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("OS_DEFAULT__COMPUTE_DRIVER", "host")
    path = configured("berth", sysfs_root=str(tmp_path / "no-sysfs"))
    assert berth_compute.main(["--once", "--config-file", path]) == 4
    (line,) = said(capsys)
    assert str(tmp_path / "no-sysfs") in line


def test_a_driver_that_is_not_ready_is_4(once, client, capsys):
    assert once(compute_driver=here(NotReadyDriver)) == 4
    # the log tells it already (tests/functional/compute/agent)
    assert said(capsys) == []


@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        ("fake.FakeReshapeFailDriver", "the fake hypervisor can't tell who has what"),
        ("fake.FakeBadReshapeDriver", "inventories need to be moved"),
    ],
)
def test_a_fatal_reshape_is_1_and_one_plain_line(once, client, capsys, driver, reason):
    assert once(compute_driver=driver) == 1
    (line,) = said(capsys)
    assert reason in line


@pytest.mark.parametrize(
    ("group", "options", "reason"),
    [
        ("DEFAULT", {"reserved_host_cpus": "many"}, "reserved_host_cpus from"),
        ("DEFAULT", {"state_path": "/proc/nowhere"}, "state_path"),
        ("placement", {"auth_type": None}, "auth_type"),
        ("placement", {"auth_type": "nonsense"}, "nonsense"),
        ("placement", {"auth_type": "password"}, "auth_url"),
    ],
)
def test_bad_configuration_is_2_and_names_the_option(once, capsys, group, options, reason):
    assert once(group, **options) == 2
    assert reason in said(capsys)[-1]


def test_a_configuration_file_that_is_not_there_is_2(capsys):
    assert berth_compute.main(["--once", "--config-file", "/nowhere.conf"]) == 2
    assert "/nowhere.conf" in said(capsys)[0]


def test_a_configuration_file_that_can_not_be_parsed_is_2(tmp_path, capsys):
    path = tmp_path / "bad.conf"
    path.write_text("no configuration\n")
    assert berth_compute.main(["--once", "--config-file", str(path)]) == 2
    assert str(path) in said(capsys)[0]


def test_a_configuration_the_driver_finds_impossible_is_2(once, client, capsys):
    assert once(compute_driver=here(ReservesTooMuchDriver)) == 2
    assert said(capsys) == ["berth-compute: more reserved than there is"]


def test_a_damaged_node_identity_is_2(once, client, capsys, tmp_path):
    (tmp_path / "compute_id").write_text("damaged")
    assert once() == 2
    assert "compute_id does not hold a uuid" in said(capsys)[0]


def test_a_node_that_could_not_be_updated_is_5_and_says_why(once, client, capsys):
    client.failures = [exceptions.ResourceProviderSyncFailed()]
    assert once() == 5
    (line,) = said(capsys)
    assert line.startswith("berth-compute: node host1: Failed to synchronize")


@pytest.fixture
def one_after_the_other(monkeypatch):
    """Nodes are updated in their order, so that it is known which one meets a failure."""
    monkeypatch.setenv("OS_BERTH__PARALLEL_NODE_UPDATES", "1")


def test_one_node_that_failed_among_others_is_5(one_after_the_other, once, client, capsys):
    client.failures = [None, exceptions.ResourceProviderSyncFailed()]
    assert once(compute_driver="fake.FakeMultiNodeDriver") == 5
    assert "fake-node-2" in said(capsys)[0]
    assert list(client.tree.get_provider_uuids("fake-node-1"))


def test_failures_of_different_kinds_are_5(once, client):
    client.failures = [ConnectFailure("gone"), exceptions.ResourceProviderSyncFailed()]
    assert once(compute_driver=f"fake.{FakeMultiNodeDriver.__name__}") == 5


def test_what_nobody_expected_is_5_in_one_line(once, client, capsys):
    assert once(compute_driver=here(BrokenDriver)) == 5
    assert said(capsys) == ["berth-compute: RuntimeError: the hypervisor went away"]


def test_an_interrupt_is_130(once, client, capsys, monkeypatch):
    def interrupted(context, tree, allocations=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(client, "update_from_provider_tree", interrupted)
    assert once() == 130
    assert said(capsys) == ["berth-compute: interrupted"]


def test_tracebacks_go_to_the_log_file(configured, client, capsys, tmp_path):
    client.failures = [exceptions.ResourceProviderSyncFailed()]
    log = tmp_path / "agent.log"
    berth_compute.main(["--once", "--config-file", configured(log_file=str(log))])
    assert "Traceback" in log.read_text()
    assert "Traceback" not in capsys.readouterr().err


def test_tracebacks_are_shown_to_those_who_ask(configured, client, capsys):
    client.failures = [exceptions.ResourceProviderSyncFailed()]
    berth_compute.main(["--once", "--debug", "--config-file", configured()])
    assert "Traceback" in capsys.readouterr().err


def test_bad_usage_is_2(capsys):
    with pytest.raises(SystemExit) as ended:
        berth_compute.main(["--twice"])
    assert ended.value.code == 2
    assert "--twice" in capsys.readouterr().err


def test_the_help_tells_the_exit_codes(capsys):
    with pytest.raises(SystemExit):
        berth_compute.main(["--help"])
    shown = capsys.readouterr().out
    assert all(f"\n  {code}  " in shown for code in range(6))
