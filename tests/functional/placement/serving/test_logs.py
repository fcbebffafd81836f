"""Logs of placement-api: one line for each message, also after a rotation of the file."""

import contextlib
import json
import os
import signal
from pathlib import Path

import pytest

from tests.functional.placement.serving.programs import ADMIN, FORKED, free_port, wait_until
from tests.functional.placement.serving.refusing import refusing

REQUEST_ID = "req-00000000-0000-4000-8000-000000000001"


@pytest.fixture(scope="module")
def logging_service(start_for_module, tmp_path_factory):
    """Return the service, and its log file."""
    log = tmp_path_factory.mktemp("logs") / "placement.log"
    port = free_port()
    command = [FORKED, "--port", str(port), "--debug"]
    server = start_for_module(command, f"http://127.0.0.1:{port}", OS_DEFAULT__LOG_FILE=str(log))
    return server, log


FORGED = '192.0.2.66 "GET /forged" status: 200'


@pytest.mark.parametrize("end", ["%0A", "%0D", "%0D%0A", "%85", "%C2%85", "%0B", "%0C", "%1E"])
def test_a_path_can_not_forge_a_line_of_the_log(logging_service, end):
    server, log = logging_service
    path = f"/traits/CUSTOM_A{end}{FORGED}"
    server.request("GET", path)
    server.request("DELETE", path)
    lines = log.read_text().splitlines()
    assert [line for line in lines if line.startswith("192.0.2.66")] == []
    assert any(f'"GET /traits/CUSTOM_A{end}192.0.2.66%20%22GET' in line for line in lines)


def test_a_quote_in_a_path_can_not_forge_a_field_of_the_log(logging_service):
    server, log = logging_service
    server.request("GET", "/traits/a%22%20status:%20200")
    assert '"GET /traits/a%22%20status:%20200" status: 404' in log.read_text()


@pytest.mark.parametrize("name", ["x-openstack-request-id", "x-auth-token", "user-agent"])
def test_a_header_can_not_forge_a_line_of_the_log(logging_service, name):
    server, log = logging_service
    before = len(log.read_text().splitlines())
    headers = {name.encode(): b"a\x85" + FORGED.encode() for name in [name]}
    server.request("GET", "/traits/CUSTOM_B", headers=ADMIN | headers)
    lines = log.read_text().splitlines()[before:]
    assert [line for line in lines if line.startswith(FORGED)] == []


def test_the_caller_s_request_id_is_logged_if_it_is_valid(logging_service):
    server, log = logging_service
    for number, given in enumerate((REQUEST_ID, "req-forged")):
        headers = ADMIN | {"x-openstack-request-id": given}
        server.request("GET", f"/traits/CUSTOM_ID{number}", headers=headers)
    text = log.read_text()
    assert (REQUEST_ID in text, "req-forged" in text) == (True, False)


def test_after_a_rotation_no_process_has_the_old_file_open(logging_service):
    server, log = logging_service
    old = log.with_suffix(".old")
    log.rename(old)
    server.request("GET", "/traits/CUSTOM_ROTATED")
    assert "CUSTOM_ROTATED" in wait_until(lambda: log.exists() and log.read_text(), server.said)
    assert "CUSTOM_ROTATED" not in old.read_text()
    assert open_files(server) >= {str(log)}
    assert str(old) not in open_files(server)


def open_files(server):
    """Return the paths of the files that the server's processes have open."""
    found = set()
    for pid in (str(server.process.pid), *server.workers()):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            # the service may close files during the listing
            with contextlib.suppress(FileNotFoundError):
                found.add(os.readlink(entry))
    return found


def test_each_line_of_a_json_log_is_an_object_from_start_to_end(start):
    port = free_port()
    command = [FORKED, "--port", str(port)]
    server = start(command, f"http://127.0.0.1:{port}", OS_DEFAULT__USE_JSON="true")
    assert server.request("GET", "/traits").status_code == 200
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.said().count("Booting worker") == 2, server.said)
    assert server.stop() == 0

    messages = [json.loads(line) for line in server.said().splitlines()]
    assert all(message["levelname"] and message["name"] for message in messages)
    texts = [message["message"] for message in messages]
    assert any(text.startswith("Starting gunicorn") for text in texts)
    assert any("GET /traits" in text for text in texts)
    assert any("Tables added" in text for text in texts)
    assert [message for message in messages if message["name"].startswith("alembic")] == []


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys, own_logging):
    """Return a function that runs placement-api in this process and returns what it said."""
    return refusing(tmp_path, monkeypatch, capsys)


def test_without_a_log_file_messages_are_on_standard_error(refused):
    once = {f"OS_PLACEMENT_DATABASE__{name}": "1" for name in ("MAX_RETRIES", "RETRY_INTERVAL")}
    away = {"OS_PLACEMENT_DATABASE__CONNECTION": "postgresql://a@127.0.0.1:1/x"}
    lines = refused("--port", str(free_port()), **once, **away)
    assert any("WARNING placement.storage.database.engine" in line for line in lines)


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"OS_PLACEMENT_DATABASE__CONNECTION": None}, "value required for option connection"),
        ({"OS_PLACEMENT_DATABASE__CONNECTION": "nothing://"}, "nothing"),
        ({"OS_PLACEMENT_CONFIG_DIR": "/nowhere"}, "/nowhere/placement.conf"),
    ],
)
def test_a_failure_at_the_start_is_a_line_of_the_json_log(refused, variables, reason):
    (line,) = refused("--port", str(free_port()), OS_DEFAULT__USE_JSON="true", **variables)
    said = json.loads(line)
    assert (said["name"], said["levelname"]) == ("placement-api", "ERROR")
    assert reason in said["message"]
