"""A log that can't be written is one line, and exit code 2 (agent) or 127 (`nova-manage`)."""

import pytest

from compute.cli import berth_compute, nova_manage

COMMANDS = [
    (berth_compute.main, ["--once"], 2),
    (nova_manage.main, ["placement", "audit"], 127),
]


@pytest.mark.parametrize(("main", "arguments", "code"), COMMANDS, ids=["agent", "nova-manage"])
def test_a_log_that_can_not_be_written(tmp_path, capsys, own_logging, main, arguments, code):
    file = tmp_path / "a.conf"
    file.write_text(f"[DEFAULT]\nlog_dir = /nowhere\nstate_path = {tmp_path}\n")
    ended = main([f"--config-file={file}", *arguments])
    said = "".join(capsys.readouterr()).splitlines()
    assert (ended, len(said)) == (code, 1), said
    assert "Messages can't be logged as [DEFAULT] says" in said[0]
    assert "/nowhere" in said[0]
