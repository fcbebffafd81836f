"""A search whose client has left ends, and gives its thread back."""

import contextlib
import random

import pytest

from tests.faults.running import eventually, running

THREADS = 4
DEVICES, GROUPS = 11, 30
CLASSES = ("VGPU", "SRIOV_NET_VF")
LEFT = "ended because the client left"


@pytest.fixture
def database_kind():
    """One is enough: searches ask the snapshot."""
    return "sqlite"


@pytest.fixture
def service(database_url):
    """One worker, and nothing but a client that leaves ends a search."""
    options = {"BERTH__SEARCH_TIME_LIMIT": "0", "BERTH__SEARCH_MEMORY_LIMIT": "0"}
    with running(
        database_url, workers=1, threads=THREADS, arguments=["--debug"], **options
    ) as service:
        yield service


def build(service):
    """A tree of devices that have two classes each."""
    root = service.post("/resource_providers", {"name": "root"}).body["uuid"]
    for number in range(DEVICES):
        device = {"name": f"device {number}", "parent_provider_uuid": root}
        uuid = service.post("/resource_providers", device).body["uuid"]
        stock = {
            "inventories": {name: {"total": 98} for name in CLASSES},
            "resource_provider_generation": 0,
        }
        assert service.put(f"/resource_providers/{uuid}/inventories", stock).status == 200


def exploding():
    """Amounts of two classes, of which no bound shows whether they fit: nobody lives to see it."""
    source = random.Random(3)
    groups = []
    for number in range(GROUPS):
        amounts = ",".join(f"{name}:{source.randint(20, 45)}" for name in CLASSES)
        groups.append(f"resources{number}={amounts}")
    return "/allocation_candidates?" + "&".join(groups) + "&group_policy=none&limit=1"


def test_searches_whose_clients_have_left_do_not_hold_a_worker(service):
    build(service)

    def logged(text):
        return service.log.read_text(errors="replace").count(text)

    with contextlib.ExitStack() as stack:
        for _ in range(THREADS):
            connection = stack.enter_context(contextlib.closing(service.connect()))
            connection.request("GET", exploding(), headers=service.headers())
        eventually(lambda: logged("GET /allocation_candidates") == THREADS, service.said)
    assert service.get("/resource_providers").status == 200
    eventually(lambda: logged(LEFT) == THREADS, service.said)
