"""The measured services: each one gunicorn worker on a port of the loopback interface."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import processor_time
from tests.reference.environment import SCHEMES

HEADERS = {
    "X-Auth-Token": "admin",
    "X-Roles": "admin,service",
    "OpenStack-API-Version": "placement 1.39",
}
PATIENCE = 300


class Silent(Exception):
    """A server doesn't respond; the text has the end of its log."""


class Failed(Exception):
    """A server answers with status 500 or above."""


class Server:
    """A running server.

    :param name: berth, reference or floor
    :param log: the server's log, shown if it doesn't respond
    """

    def __init__(self, name: str, port: int, process: subprocess.Popen, log: Path) -> None:
        self.name = name
        self.port = port
        self._process = process
        self._log = log

    def get(self, path: str, **headers: str) -> bytes:
        """Send a GET that must succeed; return the body."""
        return self.request("GET", path, **headers)

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> bytes:
        """Send a request that must succeed; return the body.

        :param body: sent as JSON
        :param headers: further ones, or others than usual, with `_` for `-`

        :raises Silent: without a response, for example if the server couldn't start
        :raises Failed: if the server fails
        """
        try:
            status, content, _ = self.answer(method, path, body, **headers)
        except (OSError, http.client.HTTPException) as failed:
            last = "".join(self._log.read_text().splitlines(keepends=True)[-20:])
            raise Silent(f"{self.name}: no answer to {method} {path[:200]}\n{last}") from failed
        if status >= 400:
            kind = Failed if status >= 500 else RuntimeError
            raise kind(f"{method} {path[:200]}: {status} {content[:500]!r}")
        return content

    def answer(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, bytes, http.client.HTTPMessage]:
        """Send a request; return status, body and headers of the response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        sent = HEADERS | {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            sent["Content-Type"] = "application/json"
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers

    def time(self, path: str) -> float:
        """Return the seconds from the request to the last byte of the response."""
        begin = time.perf_counter()
        self.get(path)
        return time.perf_counter() - begin

    def memory(self) -> int:
        """Return the resident bytes of the worker."""
        pages = int((self._worker() / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def forget_peak(self) -> int:
        """Make `peak` begin anew; return the resident bytes of the worker."""
        (self._worker() / "clear_refs").write_text("5")
        return self.memory()

    def peak(self) -> int:
        """Return the most resident bytes that the worker has had since `forget_peak`."""
        lines = (self._worker() / "status").read_text().splitlines()
        (shown,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
        return int(shown) * 1024

    def spent(self) -> float:
        """Return the seconds of processor time that the workers have used, in all threads."""
        return sum(map(processor_time.of_process, processor_time.children(self._process.pid)))

    def _worker(self) -> Path:
        return Path("/proc", str(processor_time.children(self._process.pid)[0]))


@contextlib.contextmanager
def _gunicorn(
    name: str, interpreter: str, target: str, parent: Path, settings: dict, workers: int = 1
) -> Iterator[Server]:
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("OS_", "PYTHONPATH"))}
    # not in this checkout, whose packages would hide the reference's
    folder = parent / name
    folder.mkdir(parents=True, exist_ok=True)
    log_file = folder / "log"
    with socket.create_server(("127.0.0.1", 0)) as listener, log_file.open("w") as log:
        port = listener.getsockname()[1]
        process = subprocess.Popen(
            [
                *(interpreter, "-m", "gunicorn", "--bind", f"fd://{listener.fileno()}"),
                *("--workers", str(workers), "--timeout", str(PATIENCE)),
                *("--log-level", "error", target),
            ],
            cwd=folder,
            env=environ | settings,
            pass_fds=[listener.fileno()],
            stdout=log,
            stderr=log,
        )
    # from here on only the server has the listener: if the server ends, connections are refused
    # instead of queued
    try:
        yield Server(name, port, process, log_file)
    finally:
        process.terminate()
        process.wait()


def settings(connection: str) -> dict[str, str]:
    """Return the variables that configure a service for a database."""
    return {
        "OS_PLACEMENT_DATABASE__CONNECTION": connection,
        "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true",
        "OS_API__AUTH_STRATEGY": "noauth2",
        # the rows that a benchmark stores itself would be taken for those of another service
        "OS_BERTH__BESIDE_REFERENCE": "never",
    }


def for_reference(connection: str) -> str:
    """Return a URL in Berth's form, without a driver, as the reference's environment needs it."""
    scheme, colon, rest = connection.partition(":")
    return SCHEMES.get(scheme + colon, scheme + colon) + rest


@contextlib.contextmanager
def berth(connection: str, folder: Path) -> Iterator[Server]:
    """Start Berth on a database; the log is in `folder`."""
    target = "placement.wsgi.api:application"
    with _gunicorn("berth", sys.executable, target, folder, settings(connection)) as server:
        yield server


@contextlib.contextmanager
def reference(
    interpreter: str, connection: str, folder: Path, workers: int = 1
) -> Iterator[Server]:
    """Start openstack-placement from the environment of `interpreter`.

    :param connection: URL in Berth's form, without a driver
    """
    target = "placement.wsgi.api:application"
    given = settings(for_reference(connection))
    with _gunicorn("reference", interpreter, target, folder, given, workers) as server:
        yield server


@contextlib.contextmanager
def floor(folder: Path) -> Iterator[Server]:
    """Start a Flask route that returns the bytes of a file in `folder`: the fastest possible."""
    here = Path(__file__).parent
    given = {"FLOOR_FOLDER": str(folder), "PYTHONPATH": str(here)}
    with _gunicorn("floor", sys.executable, "floor:application", folder, given) as server:
        yield server


@contextlib.contextmanager
def write_floor(connection: str, folder: Path) -> Iterator[Server]:
    """Start Flask routes that write with the driver's own calls; see `write_floor.py`."""
    given = {"FLOOR_CONNECTION": connection, "PYTHONPATH": str(Path(__file__).parents[1])}
    target = "benchmarks.write_floor:application"
    with _gunicorn("writes", sys.executable, target, folder, given) as server:
        yield server
