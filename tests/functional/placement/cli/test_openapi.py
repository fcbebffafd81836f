"""placement-manage openapi writes the whole document, or says why it can't."""

import os
import subprocess
import sys

import yaml

COMMAND = [sys.executable, "-m", "placement.cli.manage", "openapi", "--microversion", "1.39"]


def environment(folder, **others):
    """Return an environment without configuration files."""
    found = {word: value for word, value in os.environ.items() if not word.startswith("OS_")}
    return found | {"HOME": str(folder)} | others


def test_a_locale_without_unicode_doesnt_change_the_document(tmp_path):
    def text(encoding):
        made = subprocess.run(
            [*COMMAND, "--format", "yaml"],
            env=environment(tmp_path, PYTHONIOENCODING=encoding),
            capture_output=True,
            check=True,
        )
        return made.stdout

    found = text("ascii")
    assert "→".encode() in found
    assert yaml.load(found, yaml.CSafeLoader)["info"]["version"] == "1.39"


def test_a_full_disk_is_told_in_one_line(tmp_path):
    with open("/dev/full", "w") as full:
        made = subprocess.run(
            COMMAND, env=environment(tmp_path), stdout=full, stderr=subprocess.PIPE, text=True
        )
    told = "placement-manage: the description can't be written: No space left on device\n"
    assert (made.returncode, made.stderr) == (1, told)


def test_a_reader_may_leave_early(tmp_path):
    with subprocess.Popen(
        COMMAND, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as made:
        made.stdout.close()
        assert made.stderr.read() == b""
    assert made.returncode == 0
