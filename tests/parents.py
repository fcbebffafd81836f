"""Processes that end with the one that started them, however that ends."""

import ctypes
import os
import signal

#: option of prctl: the signal that a process gets when its parent ends
PR_SET_PDEATHSIG = 1


def end_with(parent: int) -> None:
    """Have this process killed when the thread of its parent ends that started it.

    :param parent: its parent's id: this process ends now if that one has ended already
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def end_with_parent_and_children() -> None:
    """Have this process end with its parent, and what it forks from now on with it."""
    forking = os.getpid()
    end_with(os.getppid())

    def follow() -> None:
        # not what is forked by what was forked
        if os.getppid() == forking:
            end_with(forking)

    os.register_at_fork(after_in_child=follow)
