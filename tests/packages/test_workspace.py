"""Killed runs leave nothing for long."""

import subprocess
import sys
from pathlib import Path

from tests.packages.workspace import workspace

OWNER = """
import sys, time
from pathlib import Path
from tests.packages.workspace import workspace
with workspace(Path(sys.argv[1])) as folder:
    (folder / "system").mkdir()
    print(folder, flush=True)
    time.sleep(600)
"""


def test_a_run_removes_the_folders_of_killed_runs_and_of_no_others(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as alive,
    ):
        try:
            assert killed.stdout
            assert alive.stdout
            left = Path(killed.stdout.readline().strip())
            used = Path(alive.stdout.readline().strip())
            killed.kill()
            killed.wait()
            assert (left / "system").exists()
            with workspace(tmp_path) as ours:
                assert set(tmp_path.iterdir()) == {used, ours}
            assert set(tmp_path.iterdir()) == {used}
        finally:
            killed.kill()
            alive.kill()
