"""contrib/systemd: systemd accepts the units, and their commands run within their bounds."""

import configparser
import os
import re
import shlex
import subprocess
import sys

import pytest

from compute.cli import agent
from compute.cli.commands import audit
from tests.contrib.files import text_of
from tests.contrib.users import PLACEMENT, as_user, folder_of, need_open_environment
from tests.functional.placement.keystone_stub import Keystone, token
from tests.functional.placement.serving.page import file_shown
from tests.functional.placement.serving.programs import free_port, needed

DAEMONS = ("placement-api.service", "berth-compute.service")
SERVICES = (*DAEMONS, "berth-audit.service")


@pytest.fixture
def keystone():
    with Keystone() as server:
        server.tokens["admin"] = token("ada", ["admin"], "p")
        yield server


def unit_of(name):
    """Return the unit, as `{section: {key: value}}`."""
    read = configparser.ConfigParser(interpolation=None, strict=True)
    read.optionxform = str
    read.read_string(text_of(f"systemd/{name}"))
    return read


def command_of(unit):
    """Return the words of the unit's command, with the program of our environment."""
    program, *arguments = shlex.split(unit["Service"]["ExecStart"])
    assert program.startswith("/opt/berth/bin/")
    return [needed(program.removeprefix("/opt/berth/bin/"), "openstack-berth"), *arguments]


@pytest.fixture
def adapted_unit(tmp_path):
    """Return a function that writes a unit with our environment's program."""

    def write(name):
        unit = unit_of(name)
        unit["Service"]["ExecStart"] = shlex.join(command_of(unit))
        path = tmp_path / name
        with path.open("w") as file:
            unit.write(file, space_around_delimiters=False)
        return path

    return write


@pytest.mark.parametrize("name", SERVICES)
def test_systemd_accepts_the_unit(name, adapted_unit):
    verify = [needed("systemd-analyze", "systemd"), "verify", "--man=no"]
    ran = subprocess.run([*verify, str(adapted_unit(name))], capture_output=True, text=True)
    faults = [line for line in ran.stderr.splitlines() if name in line]
    assert (ran.returncode, faults) == (0, [])


@pytest.mark.parametrize("name", SERVICES)
def test_the_unit_is_hardened(name, adapted_unit):
    security = [needed("systemd-analyze", "systemd"), "security", "--offline=true"]
    ran = subprocess.run([*security, str(adapted_unit(name))], capture_output=True, text=True)
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", ran.stdout)
    # 0 is a service that may do nothing, 10 one that may do everything
    assert float(exposure[1]) < 2.5


@pytest.mark.parametrize("name", DAEMONS)
def test_the_unit_starts_at_boot(name):
    assert unit_of(name)["Install"]["WantedBy"] == "multi-user.target"


def test_the_timer_starts_the_audit_at_another_time_on_each_host(adapted_unit, tmp_path):
    adapted_unit("berth-audit.service")
    name = "berth-audit.timer"
    (tmp_path / name).write_text(text_of(f"systemd/{name}"))
    verify = [needed("systemd-analyze", "systemd"), "verify", "--man=no"]
    ran = subprocess.run([*verify, str(tmp_path / name)], capture_output=True, text=True)
    faults = [line for line in ran.stderr.splitlines() if "berth-audit" in line]
    assert (ran.returncode, faults) == (0, [])
    timer = unit_of(name)
    assert timer["Install"]["WantedBy"] == "timers.target"
    assert "Install" not in unit_of("berth-audit.service")
    calendar = [needed("systemd-analyze", "systemd"), "calendar", "--iterations=4"]
    ran = subprocess.run([*calendar, timer["Timer"]["OnCalendar"]], capture_output=True, text=True)
    assert sum("00:00" in line for line in ran.stdout.splitlines() if "elapse" in line) == 1
    assert timer["Timer"]["RandomizedDelaySec"] == "3h"


def test_the_audit_only_looks_and_what_it_finds_is_no_failure():
    unit = unit_of("berth-audit.service")
    assert not {"--delete", "--undo", "--yes"} & set(command_of(unit))
    assert int(unit["Service"]["SuccessExitStatus"]) == audit.FOUND


def test_the_agent_is_not_started_again_for_what_a_start_does_not_change():
    service = unit_of("berth-compute.service")["Service"]
    prevented = {int(code) for code in service["RestartPreventExitStatus"].split()}
    assert prevented == {agent.RESHAPE_FAILED, agent.BAD_CONFIGURATION}
    assert service["Restart"] == "on-failure"


def bounded(unit, state, command):
    """Return the command with what the unit allows: user, umask, and what may be written.

    Everything but the state directory and /tmp is read-only, as with ProtectSystem=strict.
    """
    umask = unit["Service"]["UMask"]
    # from here on in a namespace of its own
    script = (
        f"set -e; mount --bind {state} {state}; mount -t tmpfs none /dev/shm; "
        "mount -o remount,ro,bind /; "
        f"mount -o remount,rw,bind {state}; cd {state}; umask {umask}; "
        f"exec {shlex.join(as_user(PLACEMENT, command))}"
    )
    return ["unshare", "--mount", "--propagation=private", "sh", "-c", script]


@pytest.fixture
def may_mount():
    if os.geteuid() != 0:
        pytest.skip("only root can make file systems read-only")
    need_open_environment()
    trial = ["unshare", "--mount", "--propagation=private", "mount", "-o", "remount,ro,bind", "/"]
    ran = subprocess.run(trial, capture_output=True, text=True)
    if ran.returncode != 0:
        pytest.skip(f"NOT TESTED WITH READ-ONLY FILES: {ran.stderr}")


def test_the_service_s_command_serves_as_its_user_with_read_only_files(
    may_mount, start, keystone, tmp_path
):
    unit = unit_of("placement-api.service")
    port = free_port()
    replaced = {"8778": str(port), "4": "1"}
    command = [replaced.get(word, word) for word in command_of(unit)]
    with folder_of(PLACEMENT) as state:
        etc = tmp_path / "etc"
        etc.mkdir()
        # the page's configuration, with a database and a keystone of this test
        (etc / "placement.conf").write_text(file_shown("/etc/placement/placement.conf"))
        addresses = {
            f"OS_KEYSTONE_AUTHTOKEN__{name.upper()}": value
            for name, value in keystone.options().items()
        }
        name, folder = unit["Service"]["Environment"].split("=", 1)
        assert (name, folder) == ("OS_PLACEMENT_CONFIG_DIR", "/etc/placement")
        server = start(
            bounded(unit, state, command),
            f"http://127.0.0.1:{port}",
            OS_PLACEMENT_CONFIG_DIR=str(etc),
            OS_API__AUTH_STRATEGY=None,
            OS_PLACEMENT_DATABASE__CONNECTION=f"sqlite:///{state}/placement.db",
            TMPDIR=str(state),
            **addresses,
        )
        answers = [
            server.request("GET", "/resource_providers", headers={"x-auth-token": given})
            for given in ("admin", "unknown")
        ]
        assert [answer.status_code for answer in answers] == [200, 401], server.said()
        created = (state / "placement.db").stat()
        assert (created.st_uid, created.st_mode & 0o777) == (PLACEMENT, 0o640)
        assert server.stop() == 0


def test_the_agent_s_command_reports_as_its_user_with_read_only_files(may_mount, start, tmp_path):
    port = free_port()
    serve = [sys.executable, "-m", "placement.cli.serve", "--port", str(port)]
    more = {"OS_BERTH__NOAUTH2_ADMIN_ROLES": "admin,service"}
    service = start(serve, f"http://127.0.0.1:{port}", **more)
    unit = unit_of("berth-compute.service")
    conf = tmp_path / "berth-compute.conf"
    with folder_of(PLACEMENT) as state:
        conf.write_text(
            f"[DEFAULT]\ncompute_driver = host\nhost = bounded\nstate_path = {state}\n"
            f"[placement]\nauth_type = admin_token\nendpoint = {service.url}\ntoken = admin\n"
        )
        command = command_of(unit)
        assert command[1:] == ["--config-file", "/etc/berth/berth-compute.conf"]
        ran = subprocess.run(
            bounded(unit, state, [command[0], "--config-file", str(conf), "--once"]),
            env=os.environ | {"TMPDIR": str(state)},
            capture_output=True,
            text=True,
        )
        assert ran.returncode == agent.OK, ran.stderr
        assert (state / "compute_id").exists()
        assert {path.stat().st_uid for path in state.iterdir()} == {PLACEMENT}
    found = service.request("GET", "/resource_providers?name=bounded").json()
    assert len(found["resource_providers"]) == 1


def test_the_audit_s_command_looks_as_its_user_with_read_only_files(may_mount, start, tmp_path):
    port = free_port()
    serve = [sys.executable, "-m", "placement.cli.serve", "--port", str(port)]
    service = start(serve, f"http://127.0.0.1:{port}")
    unit = unit_of("berth-audit.service")
    conf = tmp_path / "berth-compute.conf"
    with folder_of(PLACEMENT) as state:
        conf.write_text(
            f"[DEFAULT]\ncompute_driver = host\nhost = bounded\nstate_path = {state}\n"
            f"[placement]\nauth_type = admin_token\nendpoint = {service.url}\ntoken = admin\n"
        )
        replaced = {"/etc/berth/berth-compute.conf": str(conf)}
        command = [replaced.get(word, word) for word in command_of(unit)]
        assert str(conf) in command
        ran = subprocess.run(
            bounded(unit, state, [*command, "--verbose", "--textfile", str(state)]),
            env=os.environ | {"TMPDIR": str(state)},
            capture_output=True,
            text=True,
        )
        assert (ran.returncode, ran.stdout) == (audit.OK, "Processed 0 allocations.\n"), ran.stderr
        assert (state / "berth_audit.prom").exists()
