"""Programs of this repository as processes of their own, forked from one that has imported them.

Signals, kills, output and exit codes are those of any process. Only the imports are missing, which
take most of the time of a short program.
"""

import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing import forkserver, resource_tracker

import pytest

from tests import leftovers
from tests.patience import PATIENCE
from tests.quick.forked import name_test

IMPORTED = "tests.functional.imported"
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([IMPORTED])


@pytest.fixture(scope="session")
def forking():
    """Have the process from which others are forked; it ends with the run of the tests."""
    with leftovers.lasting():
        # Python's own, which it ends itself
        resource_tracker.ensure_running()
    forkserver.ensure_running()
    yield
    # asked to end, it would wait for each process that holds a copy of its pipe
    os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)
    forkserver._forkserver._stop()


def code_of(process):
    """Wait for the end of a process, with patience, and return its exit code."""
    process.join(PATIENCE)
    # one that hangs is killed, and its code is that of the signal
    process.kill()
    process.join()
    return process.exitcode


class Forked:
    """A process that runs `main(arguments)`; what it has of subprocess.Popen is as there.

    `environ` is its whole environment. Without `read_stdout`, its standard output goes nowhere.
    """

    def __init__(self, main, arguments, environ, read_stdout=True):
        stdout, out = PROCESSES.Pipe(duplex=False)
        stderr, err = PROCESSES.Pipe(duplex=False)
        told = out if read_stdout else None
        self._process = PROCESSES.Process(target=_run, args=(main, arguments, environ, told, err))
        self._process.start()
        out.close()
        err.close()
        self.stdout, self.stderr = _text(stdout), _text(stderr)
        self._watchdog = threading.Timer(PATIENCE, self._process.kill)
        self._watchdog.start()

    @property
    def returncode(self):
        return self._process.exitcode

    def poll(self):
        return self._process.exitcode

    def kill(self):
        self._process.kill()

    def send_signal(self, number):
        os.kill(self._process.pid, number)

    def wait(self):
        """Wait for the end, and return the exit code."""
        self._process.join()
        self._watchdog.cancel()
        self._watchdog.join()
        return self.returncode

    def communicate(self):
        """Wait for the end, and return what it wrote; little may be on standard output."""
        with self.stderr, self.stdout:
            said = self.stderr.read()
            found = self.stdout.read(), said
        self.wait()
        return found

    def end(self):
        """Kill it, if it lives, and forget what it wrote."""
        self.kill()
        self.wait()
        self.stdout.close()
        self.stderr.close()


def _text(connection):
    """Return the receiving end of a pipe as a file of text."""
    with connection:
        return os.fdopen(os.dup(connection.fileno()))


def _run(main, arguments, environ, out, err):
    """In the process: write to the pipes, with the buffering that Python has for these."""
    if out is None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    else:
        os.dup2(out.fileno(), 1)
        out.close()
    os.dup2(err.fileno(), 2)
    err.close()
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.environ.clear()
    os.environ.update(environ)
    name_test()
    sys.exit(main(arguments))


def unimported(modules):
    """In a forked process: print which of the modules the process has to import itself."""
    print(*(module for module in modules if module not in sys.modules))
    return 0
