"""placement-api: its options, reload and stop (architecture.rst D8)."""

import contextlib
import signal
import socket
import sys
from pathlib import Path

import pytest
import requests

from tests.functional.placement.serving.programs import (
    FORKED,
    PATIENCE,
    SlowClient,
    free_port,
    read_all,
    wait_until,
)

COMMAND = [FORKED]
#: for what depends on what a start imports
PROGRAM = [sys.executable, "-m", "placement.cli.serve"]
CREATED = "HTTP/1.1 200 OK"


def started(start, host, *arguments, program=COMMAND):
    """Start placement-api on a free port of the host."""
    port = free_port(host)
    shown = f"[{host}]" if ":" in host else host
    command = [*program, "--host", host, "--port", str(port), *arguments]
    server = start(command, f"http://{shown}:{port}")
    server.host, server.port = host, port
    return server


@pytest.fixture(scope="module")
def one_worker(start_for_module):
    """Return a placement-api with one worker, of two threads."""
    return started(start_for_module, "127.0.0.2", "--workers", "1", "--threads", "2")


@pytest.fixture(scope="module")
def two_workers(start_for_module):
    """Return a placement-api with two workers."""
    server = started(start_for_module, "::1", "--workers", "2", program=PROGRAM)
    wait_until(lambda: len(server.workers()) == 2, server.said)
    return server


def test_it_serves_on_the_given_address_only(one_worker):
    assert one_worker.request("GET", "/resource_providers").status_code == 200
    with pytest.raises(requests.ConnectionError):
        requests.get(f"http://127.0.0.3:{one_worker.port}/", timeout=PATIENCE)


def test_it_serves_on_the_given_address_of_ipv6_with_the_given_number_of_workers(two_workers):
    assert two_workers.request("GET", "/resource_providers").status_code == 200
    assert len(two_workers.workers()) == 2


@pytest.mark.thorough
def test_it_serves_on_the_given_name(start):
    assert started(start, "localhost").request("GET", "/resource_providers").status_code == 200


def test_its_processes_have_the_search_in_common(two_workers):
    processes = {two_workers.process.pid, *two_workers.workers()}
    maps = [Path(f"/proc/{pid}/maps").read_text() for pid in processes]
    assert ["_multiarray_umath" in each for each in maps] == [True] * 3


def test_a_worker_answers_requests_while_it_waits_for_a_slow_client(one_worker):
    slow = SlowClient(one_worker.host, one_worker.port, "slow")
    assert "slow" not in providers(one_worker)
    assert slow.finish() == CREATED
    assert "slow" in providers(one_worker)


def test_a_client_that_begins_tls_is_refused_at_its_first_byte(one_worker):
    with socket.create_connection((one_worker.host, one_worker.port), PATIENCE) as client:
        client.sendall(b"\x16")
        answer = read_all(client)
    assert answer.startswith(b"HTTP/1.0 400 ")
    assert b"This port speaks HTTP without TLS: use http://, not https://" in answer


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


def test_at_a_stop_it_finishes_requests_in_progress(start):
    server = started(start, "127.0.0.1")
    slow = SlowClient(server.host, server.port, "slow")
    wait_for_threads(server)
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "Handling signal: term" in server.said(), server.said)
    assert (slow.finish(), server.process.wait(PATIENCE)) == (CREATED, 0)


def test_at_a_reload_it_finishes_requests_in_progress(one_worker):
    slow = SlowClient(one_worker.host, one_worker.port, "reloaded")
    wait_for_threads(one_worker)
    (before,) = one_worker.workers()
    one_worker.process.send_signal(signal.SIGHUP)
    wait_until(lambda: one_worker.workers() - {before}, one_worker.said)
    assert slow.finish() == CREATED
    assert "reloaded" in providers(one_worker)


def test_during_a_reload_every_request_is_answered(two_workers):
    before = two_workers.workers()
    two_workers.process.send_signal(signal.SIGHUP)
    statuses = set()

    def replaced():
        statuses.add(two_workers.request("GET", "/resource_providers").status_code)
        return not before & two_workers.workers()

    wait_until(replaced, two_workers.said)
    assert statuses == {200}


def wait_for_threads(server):
    """Send another request; its response shows that the slow one before it was accepted."""
    assert server.request("GET", "/resource_providers").status_code == 200


def providers(server):
    """Return the names of the providers."""
    found = server.request("GET", "/resource_providers").json()["resource_providers"]
    return [one["name"] for one in found]
