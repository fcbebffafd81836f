"""Start fresh services in either environment."""

import contextlib
import dataclasses
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE
from tests.reference.pair import Pair, Side

FORK_SERVER = Path(__file__).with_name("fork_server.py")


class Starter:
    """Starts services in one environment; a new service replaces the one before."""

    def __init__(self, interpreter: str, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        self._process = subprocess.Popen(
            [interpreter, "-P", str(FORK_SERVER)],
            cwd=folder,
            env=plain_environ(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self) -> tuple[int, Path]:
        """Start a service with an empty database; return its port and database."""
        place = Path(tempfile.mkdtemp(dir=self._folder))
        database = place / "placement.db"
        port = self.serve(f"sqlite:///{database}", PLACEMENT_DATABASE__SYNC_ON_STARTUP="true")
        return port, database

    def serve(self, url: str, **options: str) -> int:
        """Start a service on the database of the URL; return its port.

        :param options: by the names of their environment variables, without `OS_`
        """
        options = {
            "PLACEMENT_DATABASE__CONNECTION": url,
            "API__AUTH_STRATEGY": "noauth2",
            **options,
        }
        environ = {f"OS_{name}": value for name, value in options.items()}
        command = {"environ": environ, "log": str(self._folder / "log")}
        return self._obey(command)["port"]

    def stop(self) -> None:
        """Stop the service and remove its database."""
        self._obey(None)
        for place in self._folder.iterdir():
            if place.is_dir():
                shutil.rmtree(place)

    def kill(self, end: signal.Signals) -> None:
        """Send a signal that ends the process which forks the services."""
        self._process.send_signal(end)
        self._process.wait()

    def close(self) -> None:
        """Stop all processes."""
        self._process.communicate()

    def _obey(self, command: dict[str, Any] | None) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self._process.args!r} has ended")
        return json.loads(answer)


def plain_environ() -> dict[str, str]:
    """Return this process's environment without options of a placement service."""
    left_out = ("OS_", "PYTHONPATH", "PYTHONHOME")
    return {name: value for name, value in os.environ.items() if not name.startswith(left_out)}


@dataclasses.dataclass(frozen=True)
class Bench:
    """Sets up pairs of services, one at a time."""

    reference: Starter
    ours: Starter

    @contextlib.contextmanager
    def pair(self) -> Iterator[Pair]:
        """Return both services, with empty databases."""
        since = time.time()
        with _running(self.reference) as reference, _running(self.ours) as ours:
            yield Pair(reference, ours, since)


@contextlib.contextmanager
def _running(starter: Starter) -> Iterator[Side]:
    port, database = starter.start()
    try:
        wait_for(port)
        side = Side(port, database)
        with contextlib.closing(side.camera):
            yield side
    finally:
        starter.stop()


def wait_for(port: int) -> None:
    """Wait for the first response; the socket listens already and queues the request."""
    with contextlib.closing(
        http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    ) as connection:
        connection.request("GET", "/")
        connection.getresponse().read()


@contextlib.contextmanager
def bench(reference_python: str, folder: Path) -> Iterator[Bench]:
    """Yield the bench; Berth runs with this interpreter."""
    with contextlib.ExitStack() as stack:
        starters = []
        for name, interpreter in (("reference", reference_python), ("ours", sys.executable)):
            starters.append(Starter(interpreter, folder / name))
            stack.callback(starters[-1].close)
        yield Bench(*starters)
