"""The services under measurement: each one gunicorn worker on a loopback port."""

import contextlib
import http.client
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HEADERS = {
    "X-Auth-Token": "admin",
    "X-Roles": "admin,service",
    "OpenStack-API-Version": "placement 1.39",
}
PATIENCE = 300


class Server:
    """A running server."""

    def __init__(self, port: int, process: subprocess.Popen) -> None:
        self.port = port
        self._process = process

    def get(self, path: str) -> bytes:
        """The body of a successful answer."""
        return self.request("GET", path)

    def request(self, method: str, path: str, body: str | None = None) -> bytes:
        """The body of a successful answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = HEADERS if body is None else HEADERS | {"Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path[:200]}: {answer.status} {content[:500]!r}")
        return content

    def time(self, path: str) -> float:
        """Seconds from the request to the last byte of the answer."""
        begin = time.perf_counter()
        self.get(path)
        return time.perf_counter() - begin

    def memory(self) -> int:
        """Resident bytes of the worker."""
        pages = int((self._worker() / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def spent(self) -> float:
        """Seconds of processor time that the worker has used."""
        return int((self._worker() / "schedstat").read_text().split()[0]) / 1e9

    def _worker(self) -> Path:
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return Path("/proc") / children.read_text().split()[0]


@contextlib.contextmanager
def _gunicorn(interpreter: str, target: str, folder: Path, settings: dict) -> Iterator[Server]:
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("OS_", "PYTHONPATH"))}
    folder.mkdir(parents=True, exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as listener, (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [
                *(interpreter, "-m", "gunicorn", "--bind", f"fd://{listener.fileno()}"),
                *("--workers", "1", "--timeout", str(PATIENCE), "--log-level", "error", target),
            ],
            cwd=folder,
            env=environ | settings,
            pass_fds=[listener.fileno()],
            stdout=log,
            stderr=log,
        )
        try:
            yield Server(listener.getsockname()[1], process)
        finally:
            process.terminate()
            process.wait()


def _settings(database: Path) -> dict[str, str]:
    return {
        "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{database}",
        "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true",
        "OS_API__AUTH_STRATEGY": "noauth2",
    }


@contextlib.contextmanager
def berth(database: Path) -> Iterator[Server]:
    """This project's service on a database file."""
    target = "placement.wsgi.api:application"
    with _gunicorn(sys.executable, target, database.parent / "berth", _settings(database)) as it:
        yield it


@contextlib.contextmanager
def reference(interpreter: str, database: Path) -> Iterator[Server]:
    """openstack-placement, from the environment of `interpreter`, on a copy of the file."""
    folder = database.parent / "reference"
    folder.mkdir(exist_ok=True)
    shutil.copy(database, folder / "copy.db")
    target = "placement.wsgi.api:application"
    settings = _settings(folder / "copy.db")
    with _gunicorn(interpreter, target, folder, settings) as it:
        yield it


@contextlib.contextmanager
def floor(folder: Path) -> Iterator[Server]:
    """A Flask route that answers with the bytes of a file of `folder`: nothing can be faster."""
    here = Path(__file__).parent
    settings = {"FLOOR_FOLDER": str(folder), "PYTHONPATH": str(here)}
    with _gunicorn(sys.executable, "floor:application", folder / "floor", settings) as it:
        yield it
