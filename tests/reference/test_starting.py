"""No service outlives the process that started it."""

import os
import signal
import sys

import pytest

from tests.functional.placement.serving.programs import wait_until
from tests.reference.starting import Starter, wait_for


def listeners(port):
    """Return the ids of the processes that have a socket listening on the port."""
    wanted = f"0100007F:{port:04X}"
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table]
    inodes = {f"socket:[{row[9]}]" for row in rows if (row[1], row[3]) == (wanted, "0A")}
    found = set()
    for process in filter(str.isdigit, os.listdir("/proc")):
        folder = f"/proc/{process}/fd"
        try:
            if any(os.readlink(f"{folder}/{fd}") in inodes for fd in os.listdir(folder)):
                found.add(int(process))
        except OSError:  # it has ended
            continue
    return found


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_services_end_with_the_process_that_started_them(end, tmp_path):
    starter = Starter(sys.executable, tmp_path / "ours")
    port, _ = starter.start()
    wait_for(port)
    assert len(listeners(port)) > 1
    starter.kill(end)
    wait_until(lambda: not listeners(port), lambda: str(listeners(port)))
    starter.close()
