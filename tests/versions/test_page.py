"""What upgrade.rst shows between versions works on a database of the version before."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.page_code import PLACE, commands_of
from tests.versions.earlier import manage


@pytest.fixture(scope="session", params=["sqlite"])
def database_kind(request):
    """Return SQLite only: test_meeting.py upgrades databases of all kinds."""
    return request.param


def test_the_commands_between_versions_work(new_database, before, tmp_path):
    url = new_database(empty=True)
    assert manage(before, url, "db", "sync").returncode == 0
    commands = commands_of("upgrade.rst", "Between versions of Berth")
    assert [line.split("/")[-1] for line in commands] == [
        "placement-status upgrade check",
        "placement-manage db sync",
    ]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    environ["OS_PLACEMENT_DATABASE__CONNECTION"] = url
    here = shlex.quote(str(Path(sys.executable).parent))
    # the check again, after the schema was upgraded; 1 is the code of a warning
    for line, code in zip((*commands, commands[0]), (1, 0, 0), strict=True):
        done = subprocess.run(
            line.replace(PLACE, here),
            shell=True,
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, (line, done)
    # the table's lines are short, so a sentence has several
    told = " ".join(done.stdout.replace("|", " ").split())
    assert "Berth 0.1.0 and later can serve on it" in told, done
