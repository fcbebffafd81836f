"""placement-api reads its configuration again at SIGHUP, and keeps the old one if it must."""

import os
import signal
import sys

import pytest

from tests.functional.placement.serving.programs import free_port, wait_until

COMMAND = [sys.executable, "-m", "placement.cli.serve"]
KEPT = "so the old one stays in force"
KEYSTONE = """
[keystone_authtoken]
auth_url = http://127.0.0.1:9/v3
www_authenticate_uri = http://127.0.0.1:9/v3
auth_type = password
username = placement
password = x
"""


@pytest.fixture
def file(tmp_path):
    """Return the path of the configuration file."""
    return tmp_path / "placement.conf"


@pytest.fixture
def api(start, file):
    """Return a function that starts placement-api with the configuration file."""

    def api(*arguments, **environ):
        port = free_port()
        command = [*COMMAND, "--port", str(port), "--config-file", str(file), *arguments]
        return start(command, f"http://127.0.0.1:{port}", **environ)

    return api


def roles(*names):
    """Return the text of a configuration file with these roles."""
    return f"[berth]\nnoauth2_admin_roles = {','.join(names)}\n"


def may_reshape(server):
    return server.request("POST", "/reshaper", json={}).status_code == 400


def reload(server):
    before = server.workers()
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.workers() and not before & server.workers(), server.said)


def test_reloading_reads_the_configuration_again(api, file):
    file.write_text(roles("admin"))
    server = api()
    assert not may_reshape(server)
    file.write_text(roles("admin", "service"))
    reload(server)
    assert may_reshape(server)
    assert KEPT not in server.said()
    # each thread that a worker had has ended
    assert "still running" not in server.said()


RIGHT = """
[DEFAULT]
debug = false
[api]
auth_strategy = noauth2
[placement_database]
connection = sqlite:///placement.db
sync_on_startup = true
[berth]
noauth2_admin_roles = admin,service
"""


@pytest.mark.parametrize(
    ("right", "wrong", "reason"),
    [
        ("[berth]", "[berth", "[berth"),
        ("[berth]", "[berth]\nsearch_time_limit = soon", "search_time_limit"),
        ("strategy = noauth2", "strategy = anything", "anything"),
        ("[berth]", "[berth]\nmetrics_allowed_source_ranges = here", "'here' does not appear"),
        ("[berth]", "[healthcheck]\nbackends = no\n[berth]", "[healthcheck]backends"),
        ("sqlite:///placement.db", "nothing://me:hunter2@host/name", "no kind of database"),
        ("debug = false", "debug = maybe", "maybe"),
        ("debug = false", "log_dir = /nowhere", "/nowhere"),
        ("debug = false", "log_config_append = /nowhere", "/nowhere"),
    ],
)
def test_a_wrong_option_changes_nothing_and_the_log_says_why(api, file, right, wrong, reason):
    file.write_text(RIGHT)
    named = ["API__AUTH_STRATEGY", "PLACEMENT_DATABASE__CONNECTION"]
    server = api(**{f"OS_{name}": None for name in named})
    file.write_text(RIGHT.replace("admin,service", "admin").replace(right, wrong))
    reload(server)
    assert may_reshape(server)
    (line,) = [line for line in server.said().splitlines() if KEPT in line]
    assert reason in line
    assert "hunter2" not in server.said()


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"["])
def test_a_file_that_can_not_be_read_changes_nothing(api, file, content):
    file.write_text(roles("admin", "service"))
    server = api()
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    reload(server)
    assert may_reshape(server)
    assert str(file) in server.said().partition(KEPT)[2]


def test_a_policy_that_can_not_be_used_changes_nothing(api, file):
    file.write_text(roles("admin", "service"))
    server = api()
    (file.parent / "policy.yaml").write_text("x: [\n")
    reload(server)
    assert server.request("GET", "/").status_code == 200
    assert "The policy can't be used" in server.said().partition(KEPT)[2]


def test_what_stays_in_force_is_the_configuration_of_the_last_good_reload(api, file):
    file.write_text(roles("admin"))
    server = api()
    file.write_text(roles("admin", "service"))
    reload(server)
    file.write_text("[")
    reload(server)
    assert may_reshape(server)


def test_a_worker_that_replaces_a_dead_one_has_the_configuration_in_force(api, file):
    file.write_text(roles("admin"))
    server = api()
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


def test_a_reload_can_not_remove_authentication_on_a_public_address(api, file):
    file.write_text("[api]\nauth_strategy = keystone\n" + KEYSTONE)
    # not set in the environment, which overrides the file
    server = api("--host", "0.0.0.0", OS_API__AUTH_STRATEGY=None)
    file.write_text("[api]\nauth_strategy = noauth2\n")
    reload(server)
    assert "everybody would be the administrator" in server.said().partition(KEPT)[2]
    assert server.request("GET", "/traits").status_code == 503
    assert server.stop() == 0
