"""`placement-api --preload`: the main process loads the cloud, and workers share it."""

import os
import re
import signal

import pytest

from tests.faults.forking import running
from tests.faults.running import eventually

pytestmark = pytest.mark.spread_over_databases
SEARCH = "/allocation_candidates?resources=VCPU:1"


def create(service, number):
    uuid = f"00000000-0000-4000-8000-{number:012}"
    body = {"name": f"host{number}", "uuid": uuid}
    assert service.post("/resource_providers", body).status == 200
    stock = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}
    assert service.put(f"/resource_providers/{uuid}/inventories", stock).status == 200


def hosts(service):
    answer = service.get(SEARCH)
    assert answer.status == 200, answer
    return len(answer.body["provider_summaries"])


def loads(service):
    """Return how often the workers loaded the cloud."""
    page = service.get("/metrics").body
    found = re.findall(r"^placement_snapshot_loads_total\{[^}]*\} (\S+)$", page, re.MULTILINE)
    assert found, page
    return sum(map(float, found))


def test_workers_search_what_was_loaded_and_what_came_later(database_url):
    with running(database_url) as service:
        create(service, 1)

    with running(database_url, arguments=["--preload"], BERTH__METRICS="token") as service:
        create(service, 2)
        assert {hosts(service) for _ in range(10)} == {2}
        os.kill(service.workers()[0], signal.SIGKILL)
        create(service, 3)
        eventually(lambda: len(service.ready_workers()) == 2)
        assert {hosts(service) for _ in range(10)} == {3}
        assert loads(service) == 0


def test_a_reload_loads_again(database_url):
    options = {"BERTH__METRICS": "token", "BERTH__SNAPSHOT_AUDIT_INTERVAL": "60"}
    with running(database_url, arguments=["--preload"], **options) as service:
        create(service, 1)
        before = set(service.workers())
        service.process.send_signal(signal.SIGHUP)
        eventually(lambda: service.ready_workers() and not before & set(service.workers()))
        service.wait_until_served()
        assert hosts(service) == 1
        assert loads(service) == 0
        assert service.said().count("Loaded 1 providers for all workers") == 1
