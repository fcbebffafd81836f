"""The service as deployed: `placement-api` with workers on a socket file, which can be killed."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]


class Answer(NamedTuple):
    """A response; its body is decoded if it is JSON."""

    status: int
    body: Any

    @property
    def code(self) -> str | None:
        """The error's code; None for success."""
        return None if self.status < 400 else self.body["errors"][0].get("code")


class Process(Protocol):
    """What a service's main process can be asked for, as of `subprocess.Popen`."""

    pid: int

    def poll(self) -> int | None:
        """Return how the process ended; None if it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end. Raises subprocess.TimeoutExpired."""

    def send_signal(self, sig: int) -> None:
        """Send a signal, if the process runs."""


class Connection(http.client.HTTPConnection):
    """An HTTP connection through a socket file or a port of this machine."""

    def __init__(self, path: str | int, patience: float) -> None:
        super().__init__("localhost", timeout=patience)
        self._path = path

    def connect(self) -> None:
        if isinstance(self._path, int):
            self.sock = socket.create_connection(("127.0.0.1", self._path), self.timeout)
            return
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Client:
    """Sends each request on a separate connection to a socket file or a port; works in any process.

    Raises OSError or HTTPException if no response comes.
    """

    def __init__(self, path: str | int, patience: float = PATIENCE) -> None:
        self.path = path
        self.patience = patience

    def connect(self) -> Connection:
        """Open a separate connection."""
        return Connection(self.path, self.patience)

    def request(self, method: str, path: str, body: Any = None, version: str = "1.39") -> Answer:
        headers = self.headers(version)
        if body is not None:
            headers["content-type"] = "application/json"
            body = json.dumps(body)
        return self._send(method, path, headers, body)

    def probe(self, path: str) -> Answer:
        """Ask as a load balancer does: without a token."""
        return self._send("GET", path, {})

    def _send(
        self, method: str, path: str, headers: dict[str, str], body: str | None = None
    ) -> Answer:
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            content = response.read()
        if response.headers.get_content_type() == "application/json" and content:
            return Answer(response.status, json.loads(content))
        return Answer(response.status, content.decode())

    def headers(self, version: str = "1.39") -> dict[str, str]:
        """Return the headers of an administrator who may also reshape."""
        return {
            "x-auth-token": "admin",
            "x-roles": "admin,service",
            "openstack-api-version": f"placement {version}",
        }

    def get(self, path: str) -> Answer:
        return self.request("GET", path)

    def put(self, path: str, body: Any = None) -> Answer:
        return self.request("PUT", path, body)

    def post(self, path: str, body: Any) -> Answer:
        return self.request("POST", path, body)

    def delete(self, path: str) -> Answer:
        return self.request("DELETE", path)


#: what a client raises if the service ends during a request
NO_ANSWER = (OSError, http.client.HTTPException)


class RunningService(Client):
    """`placement-api` on a database, in separate processes.

    :param arguments: of the command
    :param options: by the names of their environment variables, without `OS_`
    :param code: Python code that each process of the service runs first
    :param port: to serve on, instead of a socket file
    :param root: the folder whose packages are run
    """

    def __init__(
        self,
        url: str,
        folder: Path,
        workers: int = 2,
        threads: int = 4,
        arguments: Sequence[str] = (),
        code: str | None = None,
        port: int | None = None,
        root: Path = ROOT,
        **options: str,
    ) -> None:
        super().__init__(port or str(folder / "api.sock"))
        self.log = folder / "service.log"
        self._workers = workers
        environ = {k: v for k, v in os.environ.items() if not k.startswith("OS_")}
        environ |= {"HOME": str(folder), "PYTHONPATH": str(root)}
        if code is not None:
            (folder / "sitecustomize.py").write_text(code)
            environ["PYTHONPATH"] = f"{folder}{os.pathsep}{root}"
        options = {
            "PLACEMENT_DATABASE__CONNECTION": url,
            "PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true",
            "PLACEMENT_DATABASE__SQLITE_SYNCHRONOUS": "false",
            "API__AUTH_STRATEGY": "noauth2",
            # snapshots must be right without audits
            "BERTH__SNAPSHOT_AUDIT_INTERVAL": "0",
            **options,
        }
        environ |= {f"OS_{name}": value for name, value in options.items()}
        place = f"--port={port}" if port else f"--unix-socket={self.path}"
        given = [place, f"--workers={workers}", f"--threads={threads}", *arguments]
        self.process = self._start(given, environ, folder)

    def _start(self, arguments: list[str], environ: dict[str, str], folder: Path) -> Process:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "placement.cli.serve", *arguments],
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def workers(self) -> list[int]:
        """Return the ids of the worker processes."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return [int(word) for word in Path(path).read_text().split()]

    def wait_until_served(self) -> None:
        """Wait until all workers have loaded the application."""
        eventually(self._is_served, self.said)

    def _is_served(self) -> bool:
        assert self.process.poll() is None, self.said()
        return len(self.ready_workers()) == self._workers

    def ready_workers(self) -> set[int]:
        """Return the workers that have loaded the application and wait for requests."""
        return {pid for pid in self.workers() if accepts(pid)}

    def said(self) -> str:
        """Return the end of the log."""
        return self.log.read_text(errors="replace")[-4000:]

    def stop(self) -> None:
        """Terminate the service; kill it if it doesn't end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                for pid in [*self.workers(), self.process.pid]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                self.process.wait()


def accepts(pid: int) -> bool:
    """Return whether the process polls more than its own pipe, that is, the service's socket."""
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if "eventpoll" in os.readlink(entry):
                polled = Path(f"/proc/{pid}/fdinfo/{entry.name}").read_text()
                return polled.count("tfd:") > 1
    return False


def eventually(
    holds: Callable[[], bool], why_not: Callable[[], object] = str, patience: float = PATIENCE
) -> None:
    """Wait until `holds()` is true; on timeout, fail with what `why_not` returns."""
    end = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < end, why_not()
        time.sleep(0.01)


@contextlib.contextmanager
def running(
    url: str, kind: type[RunningService] = RunningService, **options: Any
) -> Iterator[RunningService]:
    """Yield a running service on the database, in an interpreter of its own."""
    # short, because the length of a socket's path is limited
    folder = Path(tempfile.mkdtemp(prefix="berth-"))
    service = kind(url, folder, **options)
    try:
        service.wait_until_served()
        yield service
    finally:
        service.stop()
        shutil.rmtree(folder)
