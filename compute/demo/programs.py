"""Running the programs as an operator would: each a process of its own."""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import requests

#: seconds until the service must answer or end, and one run of the agent: on a slow machine, too
PATIENCE = 300.0
#: exit code of a rehearsal that found a reshape to do
_RESHAPE_NEEDED = 4
#: a line of the service's log
_TREE_WRITTEN = re.compile(r'"PUT /berth/v1/provider_trees/[^" ]+" status: 200 ')


class DemoFailed(Exception):
    """Something is not as it should be; the text says what."""


def environment() -> dict[str, str]:
    """Return this process's environment without anything that configures our programs."""
    return {name: value for name, value in os.environ.items() if not name.startswith("OS_")}


def free_port() -> int:
    """Return a port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclasses.dataclass(frozen=True)
class PlacementProgram:
    """A running `placement-api`."""

    url: str
    log_file: pathlib.Path

    def tree_writes(self) -> int:
        """Return how many whole trees the service has written, by its log."""
        return len(_TREE_WRITTEN.findall(self.log_file.read_text()))


@contextlib.contextmanager
def placement_service(folder: pathlib.Path) -> Iterator[PlacementProgram]:
    """Run `placement-api`, unconfigured, while the body runs. Raises DemoFailed if it fails."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    log_file = folder / "placement-api.log"
    command = [sys.executable, "-m", "placement.cli.serve", "--port", str(port)]
    with log_file.open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment(), stdout=log, stderr=subprocess.STDOUT
        )
        try:
            _wait_until_it_answers(url, process, log_file)
            yield PlacementProgram(url, log_file)
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)


def _wait_until_it_answers(url: str, process: subprocess.Popen, log_file: pathlib.Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise DemoFailed(f"placement-api ended at once:\n{log_file.read_text()}")
        with contextlib.suppress(requests.ConnectionError):
            if requests.get(url, timeout=PATIENCE).ok:
                return
        time.sleep(0.1)
    raise DemoFailed(f"placement-api does not answer at {url}:\n{log_file.read_text()}")


@dataclasses.dataclass(frozen=True)
class Machine:
    """What the host driver finds on a machine.

    `sysfs` and `procfs` are the directories that it reads; `memory_mb` has one entry for each NUMA
    node.
    """

    sysfs: str
    procfs: str
    memory_mb: list[int]


def machine(sample: str | None = None) -> Machine:
    """Ask the host driver's program for this machine, or for a sample that comes with the driver.

    Raises DemoFailed if the program fails.
    """
    chosen = ("--sample", sample) if sample else ()
    found = json.loads(_run("virt.host", *chosen, called="python -m virt.host"))
    memory = [node["memory_mb"] for node in found["numa_nodes"]]
    return Machine(found["sysfs_root"], found["procfs_root"], memory)


def run_agent(config_file: pathlib.Path) -> str:
    """Start `berth-compute` once and return what it logged. Raises DemoFailed if it fails."""
    return _run(
        "compute.cli.berth_compute",
        "--once",
        "--config-file",
        str(config_file),
        called="berth-compute",
    )


def draw_reshape(config_file: pathlib.Path, drawing: pathlib.Path) -> None:
    """Rehearse the reshape of the agent's next start; draw it. Raises DemoFailed if it fails."""
    _run(
        "compute.cli.nova_manage",
        *("--config-file", str(config_file), "placement", "migrate_compute_inventory"),
        *("--http", "--dry-run", "--html", str(drawing)),
        called="nova-manage",
        expected=_RESHAPE_NEEDED,
    )


def _run(module: str, *arguments: str, called: str, expected: int = 0) -> str:
    """Run a program of ours and return its output.

    Raises DemoFailed, which names it `called`, if its exit code isn't the expected one.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode != expected:
        raise DemoFailed(f"{called} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout
