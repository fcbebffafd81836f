"""Hold a program, and all that it starts, at a part of the machine's speed."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

PERIOD = 100_000
#: where the kernel takes limits, which file has them, and what is written: of both kinds of cgroups
_GROUPS = (
    (Path("/sys/fs/cgroup/cpu"), "cpu.cfs_quota_us", "{quota}"),
    (Path("/sys/fs/cgroup"), "cpu.max", f"{{quota}} {PERIOD}"),
)


@contextlib.contextmanager
def held(share: float) -> Iterator[Callable[[], None]]:
    """Yield what a child process calls to be held at a share of all processors, for this block.

    Only root can have the kernel hold processes. For others, busy processes take the rest.

    :param share: above 0, at most 1
    """
    if share >= 1:
        yield lambda: None
        return
    processors = len(os.sched_getaffinity(0))
    group = _group(round(share * processors * PERIOD))
    if group is not None:
        try:
            yield lambda: _join(group)
        finally:
            # what the program left behind keeps the group
            with contextlib.suppress(OSError):
                group.rmdir()
        return
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(round((1 / share - 1) * processors))
    ]
    try:
        yield lambda: None
    finally:
        for process in busy:
            process.kill()
            process.wait()


def _group(quota: int) -> Path | None:
    """Make a group of processes with a limit; None if the kernel or the user doesn't allow it."""
    for folder, name, text in _GROUPS:
        group = folder / f"berth-{os.getpid()}"
        with contextlib.suppress(OSError):
            group.mkdir()
            try:
                (group / name).write_text(text.format(quota=quota))
            except OSError:
                group.rmdir()
                raise
            return group
    return None


def _join(group: Path) -> None:
    (group / "cgroup.procs").write_text(str(os.getpid()))
