"""Tells a process from those that it forks, without a system call."""

import mmap
import os
from typing import Protocol

#: MADV_WIPEONFORK of Linux: a child process finds zeros in this memory
_WIPE_ON_FORK = 18


class SharedMark(Protocol):
    """`mark[0]` is true in the process that made it, and false in those that it forks."""

    def __getitem__(self, index: int, /) -> int: ...


class ProcessId:
    """A mark that asks the system each time."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def __getitem__(self, index: int, /) -> int:
        return os.getpid() == self._process


def fork_mark() -> SharedMark:
    """Make a mark. Servers may fork without telling Python, so hooks of `os` aren't enough."""
    page = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        page.madvise(_WIPE_ON_FORK)
    except OSError:
        return ProcessId()
    page[0] = 1
    return page
