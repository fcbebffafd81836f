"""placement-api reads its configuration again at SIGHUP, and keeps the old one if it must.

What makes a configuration unusable is in test_configuration_in_force.py.
"""

import os
import signal

import pytest

from tests.functional.placement.serving.programs import FORKED, free_port, wait_until

COMMAND = [FORKED]
KEPT = "so the old one stays in force"
KEYSTONE = """
[keystone_authtoken]
auth_url = http://127.0.0.1:9/v3
www_authenticate_uri = http://127.0.0.1:9/v3
auth_type = password
username = placement
password = x
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Return the path of the configuration file."""
    return tmp_path_factory.mktemp("etc") / "placement.conf"


@pytest.fixture(scope="module")
def running(start_for_module, file):
    """Return placement-api with the configuration file."""
    file.write_text(roles("admin"))
    port = free_port()
    command = [*COMMAND, "--port", str(port), "--config-file", str(file)]
    return start_for_module(command, f"http://127.0.0.1:{port}")


@pytest.fixture
def server(running, file):
    """Return placement-api after it has read a file by which nobody may reshape."""
    file.write_text(roles("admin"))
    reload(running)
    assert not may_reshape(running)
    return running


def roles(*names):
    """Return the text of a configuration file with these roles."""
    return f"[berth]\nnoauth2_admin_roles = {','.join(names)}\n"


def may_reshape(server):
    return server.request("POST", "/reshaper", json={}).status_code == 400


def reload(server):
    """Reload it; return what it said meanwhile."""
    before, said = server.workers(), len(server.said())
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.workers() and not before & server.workers(), server.said)
    return server.said()[said:]


def test_reloading_reads_the_configuration_again(server, file):
    file.write_text(roles("admin", "service"))
    said = reload(server)
    assert may_reshape(server)
    assert KEPT not in said
    # each thread that a worker had has ended
    assert "still running" not in said


def test_a_wrong_file_leaves_the_configuration_of_the_last_good_reload_in_force(server, file):
    file.write_text(roles("admin", "service"))
    reload(server)
    file.write_text("[")
    said = reload(server)
    assert may_reshape(server)
    assert str(file) in said.partition(KEPT)[2]


def test_a_worker_that_replaces_a_dead_one_has_the_configuration_in_force(server, file):
    file.write_text(roles("admin", "service"))
    reload(server)
    file.write_text("[berth]\nsearch_time_limit = soon\n")
    (worker,) = server.workers()
    os.kill(int(worker), signal.SIGKILL)
    wait_until(lambda: server.workers() - {worker}, server.said)
    assert may_reshape(server)


def test_a_service_whose_configuration_is_gone_does_not_serve_without_authentication(
    start, tmp_path
):
    folder = tmp_path / ".placement"
    folder.mkdir()
    (folder / "placement.conf").write_text(
        "[placement_database]\nconnection = sqlite:///x.db\nsync_on_startup = true\n" + KEYSTONE
    )
    port = free_port()
    options = ["CONNECTION", "SYNC_ON_STARTUP", "SQLITE_SYNCHRONOUS"]
    removed = {f"OS_PLACEMENT_DATABASE__{name}": None for name in options}
    url = f"http://127.0.0.1:{port}"
    server = start([*COMMAND, "--port", str(port)], url, OS_API__AUTH_STRATEGY=None, **removed)
    (folder / "placement.conf").unlink()
    reload(server)
    # keystone can't be asked
    assert server.request("GET", "/traits").status_code == 503
    assert "connection" in server.said().partition(KEPT)[2]
    assert server.stop() == 0
