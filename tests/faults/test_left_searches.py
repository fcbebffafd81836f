"""A search ends, and frees its thread, after its client has disconnected."""

import contextlib
import json
import random
import select
import socket

import pytest

from tests.faults.forking import running
from tests.faults.running import eventually
from tests.functional.placement.service import Service
from tests.functional.placement.serving.programs import free_port
from tests.functional.placement.small_cloud import numbered
from tests.patience import PATIENCE

THREADS = 4
DEVICES, GROUPS = 11, 30
CLASSES = ("VGPU", "SRIOV_NET_VF")
LEFT = "ended because the client left"


#: without limits, so that only the client's disconnection ends a search
ENDLESS = {
    "BERTH__SEARCH_TIME_LIMIT": "0",
    "BERTH__SEARCH_MEMORY_LIMIT": "0",
    "BERTH__EXPLAIN_BUDGET_MS": str(PATIENCE * 1000),
}
#: a search whose time is over as soon as a file is there
UNTIL = """
import pathlib, time
from placement.handlers import allocation_candidates as handler

over, budget_of = pathlib.Path({over!r}), handler.budget_of

def clock():
    return time.monotonic() + 1e6 * over.exists()

handler.budget_of = lambda call: budget_of(call, clock)
"""
LIMITED = {"BERTH__SEARCH_TIME_LIMIT": str(2 * PATIENCE)}


@pytest.fixture(scope="module")
def database_kind():
    """Return SQLite only: searches use the snapshot."""
    return "sqlite"


@pytest.fixture(scope="module")
def cloud(module_database_url):
    """Return the URL of a database with a tree of devices, which no test changes."""
    build(Service(module_database_url))
    return module_database_url


@contextlib.contextmanager
def searched(cloud, options, port=None):
    """Yield a service with one worker."""
    with running(
        cloud, workers=1, threads=THREADS, arguments=["--debug"], port=port, **options
    ) as service:
        yield service


def build(service):
    """Create a tree of devices with two classes each."""
    root = service.write("POST", "/resource_providers", {"name": "root"})["uuid"]
    for number in range(DEVICES):
        device = {"name": f"device {number}", "parent_provider_uuid": root}
        uuid = service.write("POST", "/resource_providers", device)["uuid"]
        stock = {
            "inventories": {name: {"total": 98} for name in CLASSES},
            "resource_provider_generation": 0,
        }
        service.write("PUT", f"/resource_providers/{uuid}/inventories", stock)


def exploding():
    """Return amounts of two classes for which a search would take practically for ever."""
    source = random.Random(3)
    groups = []
    for number in range(GROUPS):
        amounts = ",".join(f"{name}:{source.randint(20, 45)}" for name in CLASSES)
        groups.append(f"resources{number}={amounts}")
    return "/allocation_candidates?" + "&".join(groups) + "&group_policy=none&limit=1"


def count_logged(service, text):
    return service.log.read_text(errors="replace").count(text)


def test_searches_of_disconnected_clients_do_not_block_a_worker(cloud):
    with searched(cloud, ENDLESS) as service, contextlib.ExitStack() as stack:
        for _ in range(THREADS):
            connection = stack.enter_context(contextlib.closing(service.connect()))
            connection.request("GET", exploding(), headers=service.headers())
        eventually(
            lambda: count_logged(service, "GET /allocation_candidates") == THREADS, service.said
        )
        stack.close()
        assert service.get("/resource_providers").status == 200
        eventually(lambda: count_logged(service, LEFT) == THREADS, service.said)


CLAIM = {"uuid": numbered("c", 1), "project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
#: requests that search in other ways
OTHERS = {
    "/berth/v1/allocation_candidates/explain": None,
    "/berth/v1/capacity": None,
    "/berth/v1/claims": {"consumers": [CLAIM]},
}


def test_searches_of_another_kind_leave_threads_to_others_and_end_with_their_clients(cloud):
    with searched(cloud, ENDLESS) as service:
        for path, body in OTHERS.items():
            take_all_threads_and_leave(service, path, body)


def take_all_threads_and_leave(service, path, body):
    query = exploding().partition("?")[2]
    method, target = ("GET", f"{path}?{query}") if body is None else ("POST", path)
    sent = None if body is None else json.dumps({"query": query, **body})
    with contextlib.ExitStack() as stack:

        def search(number):
            connection = stack.enter_context(contextlib.closing(service.connect()))
            headers = service.headers() | {"content-type": "application/json"}
            connection.request(method, target, sent, headers)
            eventually(lambda: count_logged(service, f"{method} {path}") == number, service.said)
            return connection.sock

        sockets = [search(number) for number in range(1, THREADS)]
        assert service.get("/").status == 200
        assert service.get("/resource_providers?name=root").status == 200
        sockets.append(search(THREADS))
        # none is answered, so they have all threads
        assert select.select(sockets, [], [], 0)[0] == []
        stack.close()
        assert service.get("/resource_providers").status == 200


@contextlib.contextmanager
def searching(service, version):
    """Yield a client whose search is running."""
    before = count_logged(service, "GET /allocation_candidates")
    with contextlib.closing(service.connect()) as connection:
        connection.connect()
        headers = "".join(f"{name}: {value}\r\n" for name, value in service.headers().items())
        request = f"GET {exploding()} HTTP/{version}\r\nHost: x\r\n{headers}\r\n"
        connection.sock.sendall(request.encode())
        eventually(
            lambda: count_logged(service, "GET /allocation_candidates") > before, service.said
        )
        yield connection.sock


def test_a_search_ends_when_its_client_has_disconnected_over_tcp(cloud):
    """On a TCP port a disconnected client looks like a half-closed one."""
    with searched(cloud, ENDLESS, free_port()) as service:
        for number, version in enumerate(("1.0", "1.1"), 1):
            with searching(service, version):
                pass
            eventually(lambda number=number: count_logged(service, LEFT) == number, service.said)


def test_a_client_that_closed_its_sending_half_gets_the_response_of_a_long_search(cloud, tmp_path):
    over = tmp_path / "over"
    options = LIMITED | {"code": UNTIL.format(over=str(over))}
    with searched(cloud, options, free_port()) as service:
        with searching(service, "1.1") as client:
            client.shutdown(socket.SHUT_WR)
            # the interim response probes whether the client is connected
            interim = b"HTTP/1.1 100 Continue\r\n\r\n"
            assert client.recv(len(interim)) == interim
            over.touch()
            last = b"".join(iter(lambda: client.recv(65_536), b""))
        left = count_logged(service, LEFT)
    assert last.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 503 ")), last
    assert not left
