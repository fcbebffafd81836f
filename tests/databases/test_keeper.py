"""Private servers end with the last process that uses them, even if their folder is removed."""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.databases.keeper import ROOT
from tests.patience import PATIENCE

USER = """
import shutil, sys
from pathlib import Path
from tests.databases.keeper import join
folder = Path(sys.argv[2])
join(sys.argv[1], folder)
if sys.argv[3] == "remove":
    shutil.rmtree(folder.parent)
"""


def servers_of(folder):
    """Return the processes that have the folder in their arguments."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"{folder}/" in arguments:
            found.append(arguments)
    return found


@pytest.fixture
def folder():
    """Return a folder for a server, which other users can enter."""
    around = Path(tempfile.mkdtemp(prefix="berth-keeper-"))
    around.chmod(0o755)
    yield around / "server"
    shutil.rmtree(around, ignore_errors=True)


@pytest.mark.parametrize("folder_s_end", ["stays", "remove"])
def test_a_server_ends_with_its_last_process(folder, database_kind, folder_s_end):
    if database_kind != "sqlite":
        command = [sys.executable, "-c", USER, database_kind, str(folder), folder_s_end]
        subprocess.run(command, cwd=ROOT, check=True, timeout=PATIENCE)
    end = time.monotonic() + PATIENCE
    while servers_of(folder) and time.monotonic() < end:
        time.sleep(0.1)
    assert servers_of(folder) == []
