"""Writes that wait for locked trees take no thread of a worker from other requests."""

import concurrent.futures
import contextlib

import pytest

from tests.databases.fixtures import only
from tests.faults.forking import running
from tests.faults.locks import wait_until_somebody_waits, waiting
from tests.faults.running import eventually
from tests.faults.test_row_locks import lock, transaction
from tests.functional.placement.small_cloud import holding, numbered, stock

THREADS = 4
#: trees that can be locked, and one that isn't
TREES = [numbered("a", number) for number in range(1, 7)]
FEW_CONNECTIONS = {
    "PLACEMENT_DATABASE__MAX_POOL_SIZE": "4",
    "PLACEMENT_DATABASE__MAX_OVERFLOW": "0",
}


# who waits gives back its thread and its connection, whatever the database
pytestmark = pytest.mark.spread_over_databases("postgresql", "mariadb")
#: databases that lock rows
database_kind = only("postgresql", "mariadb")


@pytest.fixture
def options(request):
    """Return options of the test."""
    return getattr(request, "param", {})


@pytest.fixture
def service(database_url, options):
    with running(database_url, workers=1, threads=THREADS, **options) as service:
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


def allocate(service, tree, number):
    path = f"/allocations/{numbered('c', number)}"
    return service.put(path, holding({tree: {"VCPU": 1}})).status


def rename(service, tree, number):
    return service.put(f"/resource_providers/{tree}", {"name": f"{tree} {number}"}).status


@contextlib.contextmanager
def writes_of_locked(service, database_url, write, trees, writes, most):
    """Yield while so many writes of each of these trees are under way, which are locked.

    :param most: how many wait in the database
    """
    with concurrent.futures.ThreadPoolExecutor(len(trees) * writes) as pool:
        with contextlib.ExitStack() as holding:
            for tree in trees:
                lock(holding.enter_context(transaction(database_url)), tree)
            begun = [
                pool.submit(write, service, tree, 100 * place + number)
                for place, tree in enumerate(trees)
                for number in range(writes)
            ]
            wait_until_somebody_waits(database_url, most)
            yield
            # those that came last wait in the database for a moment, too
            eventually(lambda: waiting(database_url) <= most)
            assert not any(one.done() for one in begun)
        assert {one.result() for one in begun} <= {200, 204}


def serves_others(service):
    *_, free = TREES
    assert service.get(f"/resource_providers/{free}").status == 200
    assert [claim(service, free, 900 + number) for number in range(THREADS)] == [200] * THREADS


@pytest.mark.parametrize("write", [claim, allocate, rename])
def test_other_requests_are_answered_however_many_wait(service, database_url, write):
    with writes_of_locked(service, database_url, write, TREES[:2], THREADS, most=2):
        serves_others(service)


@pytest.mark.parametrize("options", [FEW_CONNECTIONS], indirect=True, ids=["few connections"])
@pytest.mark.parametrize("write", [claim, allocate])
def test_other_requests_find_connections_however_many_trees_are_locked(
    service, database_url, write
):
    with writes_of_locked(service, database_url, write, TREES[:5], 1, most=2):
        serves_others(service)
