"""Claims that wait for locked trees take no thread of a worker from other requests."""

import concurrent.futures
import contextlib

import pytest

from tests.databases.fixtures import CHOSEN
from tests.faults.forking import running
from tests.faults.locks import wait_until_somebody_waits
from tests.faults.test_row_locks import lock, transaction
from tests.functional.placement.small_cloud import numbered, stock

THREADS = 4
#: two trees that are locked, and one that isn't
TREES = [numbered("a", number) for number in range(1, 4)]
#: claims of each locked tree: as many as the worker has threads
CLAIMS = THREADS


@pytest.fixture(scope="session", params=[kind for kind in CHOSEN if kind != "sqlite"])
def database_kind(request):
    """Return the kind, for databases that lock rows."""
    return request.param


@pytest.fixture
def service(database_url):
    with running(database_url, workers=1, threads=THREADS) as service:
        for uuid in TREES:
            body = {"name": uuid, "uuid": uuid}
            assert service.post("/resource_providers", body).status == 200
            path = f"/resource_providers/{uuid}/inventories"
            assert service.put(path, stock(0, VCPU=99)).status == 200
        yield service


def claim(service, tree, number):
    owner = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
    consumers = [{"uuid": numbered("c", number), **owner}]
    query = f"resources=VCPU:1&in_tree={tree}"
    return service.post("/berth/v1/claims", {"query": query, "consumers": consumers}).status


def test_other_requests_are_answered_however_many_wait(service, database_url):
    *locked, free = TREES
    with concurrent.futures.ThreadPoolExecutor(2 * CLAIMS) as pool:
        with contextlib.ExitStack() as holding:
            for tree in locked:
                lock(holding.enter_context(transaction(database_url)), tree)
            waiting = [
                pool.submit(claim, service, tree, 100 * place + number)
                for place, tree in enumerate(locked)
                for number in range(CLAIMS)
            ]
            # one of each line waits in the database
            wait_until_somebody_waits(database_url, 2)
            assert service.get(f"/resource_providers/{free}").status == 200
            assert [claim(service, free, 900 + number) for number in range(THREADS)] == [200] * 4
            assert not any(one.done() for one in waiting)
        assert [one.result() for one in waiting] == [200] * len(waiting)
