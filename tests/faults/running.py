"""The service as it is deployed: a process with workers, on a socket file, which can be killed."""

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
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
#: seconds for a process to start, for an answer, and for a state to come about
PATIENCE = 60


class Answer(NamedTuple):
    """An answer; its body is read as JSON if it is some."""

    status: int
    body: Any

    @property
    def code(self) -> str | None:
        """The error's code, None for success."""
        return None if self.status < 400 else self.body["errors"][0].get("code")


class Connection(http.client.HTTPConnection):
    """Speaks through a socket file, or a port of this machine."""

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
    """Sends requests to a socket file or a port, each on a connection of its own; for any process.

    Raises OSError or HTTPException when no answer comes.
    """

    def __init__(self, path: str | int, patience: float = PATIENCE) -> None:
        self.path = path
        self.patience = patience

    def connect(self) -> Connection:
        """A connection of one's own."""
        return Connection(self.path, self.patience)

    def request(self, method: str, path: str, body: Any = None, version: str = "1.39") -> Answer:
        headers = self.headers(version)
        if body is not None:
            headers["content-type"] = "application/json"
            body = json.dumps(body)
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            content = response.read()
        if response.headers.get_content_type() == "application/json" and content:
            return Answer(response.status, json.loads(content))
        return Answer(response.status, content.decode())

    def headers(self, version: str = "1.39") -> dict[str, str]:
        """Of an administrator's request that may also reshape."""
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


#: what a client raises when the service goes away under it
NO_ANSWER = (OSError, http.client.HTTPException)


class RunningService(Client):
    """`placement-api` on a database, in processes of its own.

    :param arguments: of the command
    :param options: by the names of their environment variables, without the `OS_`
    :param code: Python that each process of the service runs first
    :param port: to serve on, instead of a socket file
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
        **options: str,
    ) -> None:
        super().__init__(port or str(folder / "api.sock"))
        self.log = folder / "service.log"
        self._workers = workers
        environ = {k: v for k, v in os.environ.items() if not k.startswith("OS_")}
        environ |= {"HOME": str(folder), "PYTHONPATH": str(ROOT)}
        if code is not None:
            (folder / "sitecustomize.py").write_text(code)
            environ["PYTHONPATH"] = f"{folder}{os.pathsep}{ROOT}"
        options = {
            "PLACEMENT_DATABASE__CONNECTION": url,
            "PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true",
            "PLACEMENT_DATABASE__SQLITE_SYNCHRONOUS": "false",
            "API__AUTH_STRATEGY": "noauth2",
            # the pictures of the cloud shall be right without it
            "BERTH__SNAPSHOT_AUDIT_INTERVAL": "0",
            **options,
        }
        environ |= {f"OS_{name}": value for name, value in options.items()}
        command = [sys.executable, "-m", "placement.cli.serve"]
        command += [f"--port={port}" if port else f"--unix-socket={self.path}"]
        command += [f"--workers={workers}", f"--threads={threads}", *arguments]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def workers(self) -> list[int]:
        """The ids of the worker processes."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return [int(word) for word in Path(path).read_text().split()]

    def wait_until_served(self) -> None:
        """Wait until all workers have loaded the application."""
        eventually(self._is_served, self.said)

    def _is_served(self) -> bool:
        assert self.process.poll() is None, self.said()
        return len(self.ready_workers()) == self._workers

    def ready_workers(self) -> set[int]:
        """The workers that have loaded the application and wait for requests."""
        return {pid for pid in self.workers() if _accepts(pid)}

    def said(self) -> str:
        """The end of what it has logged."""
        return self.log.read_text(errors="replace")[-4000:]

    def stop(self) -> None:
        """End it, patiently first."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                for pid in [*self.workers(), self.process.pid]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                self.process.wait()


def _accepts(pid: int) -> bool:
    """Whether the process polls more than its own pipe: the service's socket, too."""
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if "eventpoll" in os.readlink(entry):
                polled = Path(f"/proc/{pid}/fdinfo/{entry.name}").read_text()
                return polled.count("tfd:") > 1
    return False


def eventually(holds: Callable[[], bool], why_not: Callable[[], object] = str) -> None:
    """Wait until something holds; it fails with what `why_not` says if that takes too long."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, why_not()
        time.sleep(0.01)


@contextlib.contextmanager
def running(url: str, **options: Any) -> Iterator[RunningService]:
    """A service on that database, for a while."""
    # short: a socket's path must be
    folder = Path(tempfile.mkdtemp(prefix="berth-"))
    service = RunningService(url, folder, **options)
    try:
        service.wait_until_served()
        yield service
    finally:
        service.stop()
        shutil.rmtree(folder)
