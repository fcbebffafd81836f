"""A place to start servers in, and servers that end with the test."""

import contextlib
import gc
import logging
import os
import sysconfig
from pathlib import Path

import pytest

from tests.functional.serving.programs import Server

ROOT = Path(__file__).parents[3]


def configuration(folder):
    """An environment that configures a SQLite file and no authentication, and nothing else."""
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
    """A function that starts servers in the folder; they are gone when this ends."""
    started = []

    def start(command, url, verify=True, ready=None, **more):
        environ = configuration(folder) | more
        given = {name: value for name, value in environ.items() if value is not None}
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
    """Starts a server and waits until it answers under the URL, or until it is `ready()`.

    `more` are variables of its environment, None for those it shall not have.
    """
    with starting(tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def start_for_module(tmp_path_factory):
    """As `start`, but the servers serve all tests of the module."""
    with starting(tmp_path_factory.mktemp("servers")) as start:
        yield start


@pytest.fixture
def own_process():
    """The entry points set logging and the garbage collector up for a process that only serves."""
    root = logging.getLogger()
    handlers, level, thresholds = root.handlers[:], root.level, gc.get_threshold()
    yield
    root.handlers[:], root.level = handlers, level
    gc.unfreeze()
    gc.set_threshold(*thresholds)
