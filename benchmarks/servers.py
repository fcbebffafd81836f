"""The services that are compared, each one gunicorn worker on loopback with its own SQLite file.

Cost is the worker's own CPU time, as the kernel counts it: it holds still when the machine is busy
with something else.
"""

import contextlib
import dataclasses
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import requests

HEADERS = {
    "X-Auth-Token": "admin",
    "X-Roles": "admin,service",
    "OpenStack-API-Version": "placement 1.39",
}
#: an interpreter whose environment has openstack-placement and gunicorn
REFERENCE_PYTHON = os.environ.get("BERTH_REFERENCE_PYTHON", "")
PATIENCE = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")

FLOOR = """
import flask
app = flask.Flask("floor")
@app.route("/")
def hello():
    return flask.Response(b"hello", mimetype="text/plain")
@app.route("/bytes/<int:size>")
def some_bytes(size):
    return flask.Response(b"x" * size, mimetype="application/json")
"""


@dataclasses.dataclass
class Server:
    """A running service."""

    name: str
    url: str
    process: subprocess.Popen
    database: pathlib.Path
    session: requests.Session

    def worker(self) -> int:
        """The process id of its one worker."""
        listed = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(listed.read_text().split()[0])

    def cpu(self) -> float:
        """Seconds of CPU the worker has used, all threads and the kernel's part included."""
        fields = pathlib.Path(f"/proc/{self.worker()}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def request(self, method: str, path: str, **more: object) -> requests.Response:
        """One request on a kept-alive connection."""
        return self.session.request(method, self.url + path, timeout=PATIENCE * 10, **more)  # type: ignore[arg-type]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def _served(
    name: str, python: str, target: str, folder: pathlib.Path, environment: dict[str, str]
) -> Iterator[Server]:
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    command = [python, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--workers", "1"]
    command += ["--worker-class", "sync"]
    command += ["--log-level", "error", target]
    log_file = folder / f"{name}.log"
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("OS_")}
    with log_file.open("w") as log:
        process = subprocess.Popen(
            command,
            # away from this checkout, whose packages would hide the reference's
            cwd=folder,
            env=inherited | environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        session = requests.Session()
        session.headers.update(HEADERS)
        session.trust_env = False
        server = Server(name, url, process, folder / f"{name}.db", session)
        try:
            _wait(server, log_file)
            yield server
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)


def _wait(server: Server, log_file: pathlib.Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with contextlib.suppress(requests.ConnectionError):
            server.request("GET", "/")
            return
        if server.process.poll() is not None:
            break
        time.sleep(0.2)
    raise RuntimeError(f"{server.name} does not answer:\n{log_file.read_text()[-3000:]}")


def _placement_environment(database: pathlib.Path) -> dict[str, str]:
    return {
        "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{database}",
        "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true",
        "OS_API__AUTH_STRATEGY": "noauth2",
    }


@contextlib.contextmanager
def berth(folder: pathlib.Path) -> Iterator[Server]:
    """Berth, from this checkout."""
    environment = _placement_environment(folder / "berth.db")
    target = "placement.wsgi.api:application"
    with _served("berth", sys.executable, target, folder, environment) as server:
        yield server


@contextlib.contextmanager
def reference(folder: pathlib.Path) -> Iterator[Server]:
    """OpenStack Placement, from the environment of BERTH_REFERENCE_PYTHON."""
    if not REFERENCE_PYTHON:
        raise SystemExit("BERTH_REFERENCE_PYTHON must name a Python that has openstack-placement.")
    environment = _placement_environment(folder / "reference.db")
    target = "placement.wsgi.api:application"
    with _served("reference", REFERENCE_PYTHON, target, folder, environment) as server:
        yield server


@contextlib.contextmanager
def floor(folder: pathlib.Path) -> Iterator[Server]:
    """A Flask application that does nothing: what no service under this server can undercut."""
    (folder / "floor_app.py").write_text(FLOOR)
    environment = {"PYTHONPATH": str(folder)}
    with _served("floor", sys.executable, "floor_app:app", folder, environment) as server:
        yield server


@contextlib.contextmanager
def scratch_folder() -> Iterator[pathlib.Path]:
    """A temporary directory for databases and logs."""
    with tempfile.TemporaryDirectory(prefix="berth-benchmark-") as folder:
        yield pathlib.Path(folder)
