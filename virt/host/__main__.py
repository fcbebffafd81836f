"""`python -m virt.host`: show the NUMA nodes that the host driver finds on a machine."""

import argparse
import json
import sys
from collections.abc import Sequence

from virt.host.kernel_facts import KernelFacts
from virt.host.samples import two_socket

SAMPLES = {"two-socket": two_socket}


def main(argv: Sequence[str] | None = None) -> int:
    """Write one JSON object to stdout and return 0.

    The object has `sysfs_root` and `procfs_root`, the directories that were read, and `numa_nodes`,
    a list of `{"id", "cpus", "memory_mb"}`.
    """
    parser = argparse.ArgumentParser(prog="python -m virt.host", description=__doc__)
    parser.add_argument(
        "--sample", choices=sorted(SAMPLES), help="a machine laid out as files instead of this one"
    )
    arguments = parser.parse_args(argv)
    sysfs, procfs = SAMPLES[arguments.sample]() if arguments.sample else ("/sys", "/proc")
    nodes = [
        {"id": node.id, "cpus": sorted(node.cpus), "memory_mb": node.memory_mb}
        for node in KernelFacts(sysfs, procfs).numa_nodes()
    ]
    shown = {"sysfs_root": sysfs, "procfs_root": procfs, "numa_nodes": nodes}
    sys.stdout.write(json.dumps(shown) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
