"""A log that can't be written is one line, and exit code 2 (agent) or 127 (`nova-manage`)."""

import subprocess
import sys

import pytest

COMMANDS = [
    ("compute.cli.berth_compute", ["--once"], 2),
    ("compute.cli.nova_manage", ["placement", "audit"], 127),
]


@pytest.mark.parametrize(("module", "arguments", "code"), COMMANDS)
def test_a_log_that_can_not_be_written(tmp_path, module, arguments, code):
    file = tmp_path / "a.conf"
    file.write_text(f"[DEFAULT]\nlog_dir = /nowhere\nstate_path = {tmp_path}\n")
    command = [sys.executable, "-m", module, "--config-file", str(file), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    said = (ran.stdout + ran.stderr).splitlines()
    assert (ran.returncode, len(said)) == (code, 1), said
    assert "Messages can't be logged as [DEFAULT] says" in said[0]
    assert "/nowhere" in said[0]
