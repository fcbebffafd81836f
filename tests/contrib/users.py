"""Run programs as an unprivileged user, if the tests run as root."""

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

#: uid and gid of the user `placement` in container images
PLACEMENT = 42482


def as_user(uid: int, command: Sequence[str]) -> list[str]:
    """Return the command, run by that user and group; unchanged if the tests don't run as root.

    The user may read every file, because the folders above our environment may be root's alone.
    What it may write is what its uid may write.
    """
    if os.geteuid() != 0:
        return list(command)
    may_read = ["--inh-caps=-all,+dac_read_search", "--ambient-caps=+dac_read_search"]
    ids = [f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--bounding-set=+all"]
    return ["setpriv", *ids, *may_read, *command]


def need_open_environment() -> None:
    """Skip the test if other users can't enter the folders of the environment that runs the tests.

    The capability that `as_user` gives isn't enough: programs that ask with access(2) whether a
    file is there are told that it isn't.
    """
    here = Path(__file__).resolve()
    for path in (Path(sys.prefix), Path(sys.base_prefix).resolve(), here):
        for folder in path.parents:
            if os.geteuid() == 0 and not folder.stat().st_mode & stat.S_IXOTH:
                pytest.skip(f"NOT TESTED AS ANOTHER USER: only its owner may enter {folder}")


@contextlib.contextmanager
def folder_of(uid: int) -> Iterator[Path]:
    """Yield a temporary folder that everybody can reach, and in which the user can write."""
    with tempfile.TemporaryDirectory(prefix="berth-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(folder, uid, uid)
        yield folder
