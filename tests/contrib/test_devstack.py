"""contrib/devstack/local.sh, with stand-ins for what a devstack has: it changes one unit."""

import os
import subprocess

import pytest

from tests.contrib.files import adapted
from tests.functional.placement.serving.programs import needed

#: writes down what it is asked; `python3 -m venv` makes an environment of the same stand-ins
STAND_IN = """#!/bin/sh
name=$(basename "$0")
case $name in sudo) exec "$@" ;; esac
echo "$name $*" >>"$CALLS"
case $name in
    python3) mkdir -p "$3/bin"; for each in pip placement-status placement-manage uwsgi; do
        ln -s "$0" "$3/bin/$each"; done ;;
    placement-status) exit "$CHECKED" ;;
esac
"""
#: what devstack writes for a service under uWSGI
UNIT = """[Unit]
Description = Devstack devstack@placement-api.service
[Service]
Type = notify
NotifyAccess = all
KillMode = process
RestartForceExitStatus = 100
ExecStart = /bin/true --procname-prefix placement --ini /etc/placement/placement-uwsgi.ini
[Install]
WantedBy = multi-user.target
"""
NAME = "devstack@placement-api.service"


@pytest.fixture
def units(tmp_path):
    """Return the folder of units, with devstack's own."""
    folder = tmp_path / "units"
    folder.mkdir()
    (folder / NAME).write_text(UNIT)
    return folder


@pytest.fixture
def run(tmp_path, units):
    """Return a function that runs the script; it returns the exit code and the programs asked."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python3").write_text(STAND_IN)
    (programs / "python3").chmod(0o755)
    for name in ("sudo", "systemctl"):
        (programs / name).symlink_to("python3")
    ours = {"/opt/berth": f"{tmp_path}/berth", "/etc/systemd/system": str(units)}
    script = adapted("devstack/local.sh", ours)
    calls = tmp_path / "calls"

    def run(checked=0):
        calls.write_text("")
        environ = {"CALLS": str(calls), "CHECKED": str(checked), "BERTH_SOURCE": "/clone"}
        path = f"{programs}:{os.environ['PATH']}"
        done = subprocess.run(["bash", "-c", script], env=os.environ | environ | {"PATH": path})
        return done.returncode, calls.read_text().replace(str(tmp_path), "").splitlines()

    return run


@pytest.mark.parametrize("checked", [0, 1])
def test_the_unit_runs_berth_on_devstack_s_socket(run, units, tmp_path, checked):
    steps = [
        "pip install --upgrade /clone[keystone,mysql] pyuwsgi",
        "placement-status upgrade check",
        "placement-manage db sync",
        "systemctl daemon-reload",
        f"systemctl restart {NAME}",
    ]
    assert run(checked) == (0, ["python3 -m venv /berth", *steps])
    # a later stack.sh runs it again
    assert run(checked) == (0, steps)
    verify = [needed("systemd-analyze", "systemd"), "verify", "--man=no", str(units / NAME)]
    said = subprocess.run(verify, capture_output=True, text=True)
    assert (said.returncode, [line for line in said.stderr.splitlines() if NAME in line]) == (0, [])
    (started,) = [
        line
        for line in (units / f"{NAME}.d/berth.conf").read_text().splitlines()
        if line.startswith("ExecStart=/")
    ]
    # the words of devstack's own command, with another program
    ours = f"{tmp_path}/berth/bin/uwsgi"
    assert UNIT.replace("/bin/true", ours).count(started.replace("ExecStart=", "ExecStart = ")) == 1


def test_a_failed_check_leaves_devstack_s_service_as_it_is(run, units):
    assert run(2)[0] == 2
    assert [path.name for path in units.iterdir()] == [NAME]
