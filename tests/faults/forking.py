"""Services as `running.py` has them, started in a third of the time.

Most of a start is the interpreter's imports. One process imports everything that `placement-api`
needs, and forks itself for each service. What is forked then runs the command, from its arguments
on. Tests of the start itself need an interpreter of their own, and `running.py`.

Run as a program, this is that process. Input and output are JSON lines: of `Start`, answered with
the id of the service's process, and of the id of such a process, answered with its exit code as
`subprocess.Popen.returncode` has it, or with null while it runs. It ends with its input, and its
services end with it.
"""

import atexit
import contextlib
import dataclasses
import functools
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests import leftovers
from tests.faults.running import ROOT, RunningService
from tests.faults.running import running as in_an_interpreter
from tests.parents import end_with
from tests.quick.forked import name_test

#: what a service imports while it starts, and what it imports in some environments only
MODULES = (
    "placement.cli.serve",
    "placement.cli.api_service",
    "placement.serving.gunicorn_master",
    "placement.serving.worker",
    "placement.storage.schema.schema_upgrade",
)
OPTIONAL = ("psycopg", "pymysql", "MySQLdb", "osprofiler.web")


@dataclasses.dataclass(frozen=True)
class Start:
    """A service to start: the arguments of the command, and where it runs."""

    arguments: list[str]
    environ: dict[str, str]
    folder: str
    log: str


class Forked:
    """The main process of a service. What forks it is its parent, so that is asked about it."""

    def __init__(self, start: Start) -> None:
        self.pid = int(_forker().ask(dataclasses.asdict(start)))
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return how the process ended; None if it runs."""
        if self._code is None:
            self._code = _forker().ask(self.pid)
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end. Raises subprocess.TimeoutExpired."""
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("placement-api", timeout or 0)
            time.sleep(0.01)
        return code

    def send_signal(self, sig: int) -> None:
        """Send a signal, if the process runs."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        """Kill the process, if it runs."""
        self.send_signal(signal.SIGKILL)


class ForkedService(RunningService):
    """`placement-api`, forked from a process that has imported it."""

    def _start(self, arguments: list[str], environ: dict[str, str], folder: Path) -> Forked:
        return Forked(Start(arguments, environ, str(folder), str(self.log)))


@contextlib.contextmanager
def running(url: str, **options: Any) -> Iterator[RunningService]:
    """Yield a running service on the database."""
    with in_an_interpreter(url, ForkedService, **options) as service:
        yield service


class _Forker:
    """The process that forks, and its pipes, for one thread at a time."""

    def __init__(self) -> None:
        environ = {k: v for k, v in os.environ.items() if not k.startswith("OS_")}
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.forking"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environ | {"PYTHONPATH": str(ROOT)},
            cwd=ROOT,
        )

    def ask(self, question: Any) -> Any:
        """Send a line, and return what the next one says."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())

    def end(self) -> None:
        """End the process with its input."""
        self._process.communicate()


@functools.cache
def _forker() -> _Forker:
    """Return this process's own, started when the first service is."""
    with leftovers.lasting():
        forker = _Forker()
    atexit.register(forker.end)
    return forker


def _import_all() -> None:
    for name in MODULES:
        importlib.import_module(name)
    for name in OPTIONAL:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    importlib.import_module("placement.app").import_all()
    # so that no service's collections walk through it, and copy the memory
    gc.freeze()


def _fork(start: Start) -> int:
    """Fork a service and return its process's id. The new process never returns."""
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    end_with(parent)
    os.environ.clear()
    os.environ.update(start.environ)
    name_test()
    os.chdir(start.folder)
    with open(os.devnull, "rb") as nothing, open(start.log, "ab") as log:
        os.dup2(nothing.fileno(), 0)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    sys.argv = ["placement-api", *start.arguments]
    code = Path("sitecustomize.py")
    if code.exists():
        # an interpreter would run this first
        runpy.run_path(str(code))
    sys.exit(importlib.import_module("placement.cli.serve").main())


def _ended(pid: int) -> int | None:
    """Return a service's exit code, once; None while it runs."""
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def main() -> None:
    """Fork services as the input says, until it ends."""
    _import_all()
    for line in sys.stdin:
        question = json.loads(line)
        answer = _fork(Start(**question)) if isinstance(question, dict) else _ended(question)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
