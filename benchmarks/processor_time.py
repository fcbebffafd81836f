"""Processor time of processes that others started, in nanoseconds and with all their threads."""

import os
import time
from pathlib import Path

from tests.databases.servers import Server


def of_process(pid: int) -> float:
    """Return the seconds that a process's threads have used, those that have ended included."""
    # what clock_getcpuclockid(3) returns: this process's own clock is the only one Python names
    return time.clock_gettime(~pid << 3 | 2)


def children(pid: int) -> list[int]:
    """Return the processes that a process has started, if they run."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def ended_children(pid: int) -> float:
    """Return the seconds that a process's children had used when they ended."""
    # the name may have spaces; behind it, cutime and cstime are the 14th and the 15th
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


class NoServer:
    """The database is a file: the worker does all the work."""

    def spent(self) -> float:
        """Return no seconds."""
        return 0.0


class DatabaseServer:
    """A private server of one service: all of its work is that service's."""

    def __init__(self, server: Server) -> None:
        # the first line of PostgreSQL's file, all of MariaDB's
        (file,) = [*server.folder.glob("data/postmaster.pid"), *server.folder.glob("mariadb.pid")]
        self._pid = int(file.read_text().split()[0])

    def spent(self) -> float:
        """Return the seconds that the server has used with all its processes."""
        # a process that ends here in the meantime counts in one of both
        while True:
            ended = ended_children(self._pid)
            try:
                running = sum(map(of_process, [self._pid, *children(self._pid)]))
            except OSError:
                continue
            if ended == ended_children(self._pid):
                return running + ended
