"""placement-api: its options, reload and stop (architecture.rst D8)."""

import contextlib
import signal
import socket
import sys
from pathlib import Path

import pytest
import requests

from tests.functional.placement.serving.programs import (
    PATIENCE,
    SlowClient,
    free_port,
    read_all,
    wait_until,
)

COMMAND = [sys.executable, "-m", "placement.cli.serve"]
CREATED = "HTTP/1.1 200 OK"


@pytest.fixture
def api(start):
    """Return a function that starts placement-api on a free port with further arguments."""

    def api(*arguments, host="127.0.0.1", **environ):
        port = free_port(host)
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{port}"
        server = start([*COMMAND, "--host", host, "--port", str(port), *arguments], url, **environ)
        server.host, server.port = host, port
        return server

    return api


@pytest.mark.parametrize("host", ["127.0.0.2", "localhost", "::1"])
def test_it_serves_on_the_given_host(api, host):
    server = api(host=host)
    assert server.request("GET", "/resource_providers").status_code == 200


def test_it_serves_on_no_other_host(api):
    server = api(host="127.0.0.2")
    with pytest.raises(requests.ConnectionError):
        requests.get(f"http://127.0.0.3:{server.port}/", timeout=PATIENCE)


def test_it_has_the_given_number_of_workers(api):
    server = api("--workers", "3")
    wait_until(lambda: len(server.workers()) == 3, server.said)


def test_its_processes_have_the_search_in_common(api):
    server = api("--workers", "2")
    processes = {server.process.pid, *server.workers()}
    maps = [Path(f"/proc/{pid}/maps").read_text() for pid in processes]
    assert ["_multiarray_umath" in each for each in maps] == [True] * len(processes)


def test_a_worker_answers_requests_while_it_waits_for_a_slow_client(api):
    server = api("--workers", "1", "--threads", "2")
    slow = SlowClient(server.host, server.port, "slow")
    assert server.request("GET", "/resource_providers").json() == {"resource_providers": []}
    assert slow.finish() == CREATED


def test_several_requests_on_one_connection_of_a_socket_file_are_answered(start, tmp_path):
    path = tmp_path / "placement.sock"
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as client:
        client.settimeout(PATIENCE)

        # the file is there a moment before the server listens
        def connected():
            return client.connect_ex(str(path)) == 0

        server = start([*COMMAND, "--unix-socket", str(path)], str(path), ready=connected)
        client.sendall(
            b"GET /resource_providers HTTP/1.1\r\nHost: x\r\nX-Auth-Token: admin\r\n"
            b"Connection: close\r\n\r\n"
        )
        answer = read_all(client)
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert answer.endswith(b'{"resource_providers": []}')
    assert (server.stop(), path.exists()) == (0, False)


def test_at_a_stop_it_finishes_requests_in_progress(api):
    server = api()
    slow = SlowClient(server.host, server.port, "slow")
    wait_for_threads(server)
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "Handling signal: term" in server.said(), server.said)
    assert (slow.finish(), server.process.wait(PATIENCE)) == (CREATED, 0)


def test_at_a_reload_it_finishes_requests_in_progress(api):
    server = api()
    slow = SlowClient(server.host, server.port, "slow")
    wait_for_threads(server)
    (before,) = server.workers()
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.workers() - {before}, server.said)
    assert slow.finish() == CREATED
    names = [one["name"] for one in providers(server)]
    assert names == ["slow"]


def test_during_a_reload_every_request_is_answered(api):
    server = api("--workers", "2")
    before = wait_until(lambda: len(server.workers()) == 2 and server.workers(), server.said)
    server.process.send_signal(signal.SIGHUP)
    statuses = set()

    def replaced():
        statuses.add(server.request("GET", "/resource_providers").status_code)
        return not before & server.workers()

    wait_until(replaced, server.said)
    assert statuses == {200}


def wait_for_threads(server):
    """Send another request; its response shows that the slow one before it was accepted."""
    assert server.request("GET", "/resource_providers").status_code == 200


def providers(server):
    return server.request("GET", "/resource_providers").json()["resource_providers"]
