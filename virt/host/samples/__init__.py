"""Machines laid out as files, in the formats of the kernel, for trying things out without them."""

from importlib import resources


def two_socket() -> tuple[str, str]:
    """Return (sysfs root, procfs root) of a machine with two NUMA nodes.

    Each node has 16 processors (8 cores of two threads) and 32 GiB of memory.
    """
    machine = resources.files(__name__) / "two-socket"
    return str(machine / "sys"), str(machine / "proc")
