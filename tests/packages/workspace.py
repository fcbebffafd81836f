"""Folders and processes of one run of these tests, which end with it, however it ends.

Systems and packages are large. A run that was killed can't remove its folder: the next one does.
"""

import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "berth-packages-"
LOCK = "lock"
#: Runs a command in namespaces of its own, with all its mounts and processes. They end when the
#: command ends, and when the process that started it is killed.
CONTAINED = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
)


@contextlib.contextmanager
def workspace(parent: Path | None = None) -> Iterator[Path]:
    """Yield a new folder, locked as long as this process lives; remove those of killed runs."""
    parent = parent or Path(tempfile.gettempdir())
    remove_leftovers(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    # the users of the systems must get through
    folder.chmod(0o755)
    # it has its name once it is locked: who finds it unlocked finds a killed run's
    with (folder / "unlocked").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "unlocked").rename(folder / LOCK)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


def remove_leftovers(parent: Path) -> None:
    """Remove the workspaces in `parent` whose owners don't live any more."""
    for folder in parent.glob(f"{PREFIX}*"):
        # a workspace that is being made has no lock yet, a removed one none any more
        with (
            contextlib.suppress(FileNotFoundError, BlockingIOError),
            (folder / LOCK).open() as lock,
        ):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
