"""A folder to start servers in, and servers that end with the test."""

import contextlib
import gc
import os
import socket
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests import leftovers
from tests.functional.placement.serving.programs import Server, free_port, needed, wait_until

ROOT = Path(__file__).parents[4]


def configuration(folder):
    """Return an environment that configures a SQLite file and `noauth2`, and nothing else."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    scripts = sysconfig.get_path("scripts")
    return kept | {
        "HOME": str(folder),
        "PATH": f"{scripts}:{kept['PATH']}",
        "PYTHONPATH": str(ROOT),
        "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{folder}/placement.db",
        "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true",
        "OS_PLACEMENT_DATABASE__SQLITE_SYNCHRONOUS": "false",
        "OS_API__AUTH_STRATEGY": "noauth2",
    }


@contextlib.contextmanager
def starting(folder):
    """Yield a function that starts servers in the folder; stop them at the end."""
    started, owner = [], leftovers.owner()

    def start(command, url, verify=True, ready=None, **more):
        environ = configuration(folder) | more
        given = {name: value for name, value in environ.items() if value is not None}
        # another fixture may call this, which ends sooner
        with owner.going_on():
            server = Server(command, folder, given, url, verify)
        started.append(server)
        return server.wait_until(ready)

    try:
        yield start
    finally:
        for server in reversed(started):
            server.kill()


@pytest.fixture
def start(tmp_path):
    """Return a function that starts a server and waits until it answers or `ready()` is true.

    `more` are variables of its environment; None removes a variable.
    """
    with starting(tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def start_for_module(tmp_path_factory):
    """Return a function like `start`, whose servers run for all tests of the module."""
    with starting(tmp_path_factory.mktemp("servers")) as start:
        yield start


@pytest.fixture
def own_process():
    """Restore garbage collection, which entry points change for the process."""
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def is_listening(port):
    """Say whether somebody listens at a port of this machine."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def memcached():
    """Yield a memcached for this test, as `(process, address)`."""
    port = free_port()
    command = [needed("memcached", "memcached"), "-u", "nobody", "-l", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            # a client that doesn't find it at first does without it for half a minute
            wait_until(lambda: is_listening(port), lambda: command)
            yield process, f"127.0.0.1:{port}"
        finally:
            process.kill()
