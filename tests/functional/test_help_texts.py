"""`--version` and `--help` of all commands."""

import contextlib
import io
import os
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from compute.cli import berth_compute, nova_manage
from placement.cli import manage, serve, status
from placement.installation import our_version
from tests.offenders import assert_each, assert_none

SCRIPTS = Path(sysconfig.get_path("scripts"))
MAINS = {
    "placement-api": serve.main,
    "placement-manage": manage.main,
    "placement-status": status.main,
    "berth-compute": berth_compute.main,
    "nova-manage": nova_manage.main,
}
HELPS = [
    *([name, "--help"] for name in MAINS),
    *(["placement-manage", "db", *rest] for rest in (["--help"], ["sync", "--help"])),
    ["placement-manage", "db", "online_data_migrations", "--help"],
    ["placement-status", "upgrade", "--help"],
    ["nova-manage", "placement"],
    *(["nova-manage", "placement", name, "--help"] for name in nova_manage.CATEGORIES["placement"]),
]


def printed(name, *arguments):
    """Return what a command prints before it ends with code 0."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            code = MAINS[name](arguments)
        except SystemExit as end:
            code = end.code
    assert code in (0, None)
    return out.getvalue()


@pytest.mark.parametrize("name", MAINS)
def test_each_program_prints_the_number_of_its_version_without_configuration(name, tmp_path):
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    told = subprocess.run(
        [SCRIPTS / name, "--version"], env=environ, cwd=tmp_path, capture_output=True, text=True
    )
    assert (told.returncode, told.stdout, told.stderr) == (0, f"{our_version()}\n", "")


@pytest.mark.parametrize("columns", ["80", None])
def test_help_fits_into_80_columns(columns, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)

    def fits(*command):
        assert_none(line for line in printed(*command).splitlines() if len(line) > 80)

    assert_each({" ".join(command): command for command in HELPS}, fits)


def test_a_narrow_terminal_keeps_the_columns_of_exit_codes(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    text = printed("berth-compute", "--help")
    assert "  5  another failure at start-up; with --once, also when a\n     node could" in text
    assert max(map(len, text.splitlines())) <= 60


def test_a_number_s_help_has_its_default(monkeypatch):
    text = " ".join(printed("placement-api", "--help").partition("options:")[2].split())
    options = serve.parser()
    for name in ("host", "port", "workers", "threads", "client_timeout", "spool_size"):
        shown = re.search(rf"--{name.replace('_', '-')} .*?\(default: (\S+)\)", text)
        assert shown, name
        assert shown[1] == str(options.get_default(name))
