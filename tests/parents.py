"""Processes that end with the one that started them, however that ends."""

import ctypes
import os
import signal

#: option of prctl: the signal that a process gets when its parent ends
PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Have this process killed when the thread ends that started it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def end_with_parent_and_children() -> None:
    """Have this process end with its parent, and what it forks from now on with it."""
    forking = os.getpid()
    end_with_parent()

    def follow() -> None:
        # not what is forked by what was forked
        if os.getppid() == forking:
            end_with_parent()

    os.register_at_fork(after_in_child=follow)
