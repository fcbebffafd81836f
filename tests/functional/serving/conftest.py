"""A place to start servers in, and servers that end with the test."""

import os
import sysconfig
from pathlib import Path

import pytest

from tests.functional.serving.programs import Server

ROOT = Path(__file__).parents[3]


@pytest.fixture
def environ(tmp_path):
    """An environment that configures a SQLite file and no authentication, and nothing else."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    scripts = sysconfig.get_path("scripts")
    return kept | {
        "HOME": str(tmp_path),
        "PATH": f"{scripts}:{kept['PATH']}",
        "PYTHONPATH": str(ROOT),
        "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{tmp_path}/placement.db",
        "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true",
        "OS_PLACEMENT_DATABASE__SQLITE_SYNCHRONOUS": "false",
        "OS_API__AUTH_STRATEGY": "noauth2",
    }


@pytest.fixture
def start(tmp_path, environ):
    """Starts a server and waits until it answers under the URL, or until it is `ready()`.

    `more` are variables of its environment, None for those it shall not have.
    """
    started = []

    def start(command, url, verify=True, ready=None, **more):
        given = {name: value for name, value in (environ | more).items() if value is not None}
        server = Server(command, tmp_path, given, url, verify)
        started.append(server)
        return server.wait_until(ready)

    yield start
    for server in reversed(started):
        server.kill()
