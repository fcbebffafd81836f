"""A command of nova-manage as a process of its own, which a test may kill."""

import os
import sys
import threading

from compute.cli.nova_manage import main
from tests.extent import examples
from tests.functional.forked import PATIENCE, PROCESSES

#: how many are killed in each test on each database
KILLS = int(os.environ.get("BERTH_TEST_MANAGE_KILLS", examples(1, 2)))


class Command:
    """A command of the category `placement` as a process of its own.

    One that hangs is killed, so that the end of what it says comes.
    """

    def __init__(self, site, *words):
        arguments = [f"--config-file={site.file}", "placement", *words]
        told, tells = PROCESSES.Pipe(duplex=False)
        self._process = PROCESSES.Process(target=run, args=(arguments, tells))
        self._process.start()
        self._watchdog = threading.Timer(PATIENCE, self._process.kill)
        self._watchdog.start()
        tells.close()
        self._told = os.fdopen(os.dup(told.fileno()))
        told.close()

    def wait_for_lines(self, count, beginning=""):
        """Wait until it has said so many lines that begin so, or has ended."""
        while count > 0 and (line := self._told.readline()):
            count -= line.startswith(beginning)

    def ended(self):
        """Whether it has."""
        return self._process.exitcode is not None

    def kill(self):
        self._process.kill()

    def end(self):
        """Wait for the end; its exit code."""
        while self._told.readline():
            pass
        self._told.close()
        self._process.join(PATIENCE)
        self._watchdog.cancel()
        self._watchdog.join()
        return self._process.exitcode


def run(arguments, tells):
    """In the command's process: what it prints goes through the pipe, and complaints nowhere."""
    sys.stdout = os.fdopen(os.dup(tells.fileno()), "w")
    sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    tells.close()
    sys.exit(main(arguments))
