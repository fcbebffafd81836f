"""All connections to the database are in use."""

import concurrent.futures

import pytest
import sqlalchemy as sa

from tests.databases.fixtures import CHOSEN
from tests.databases.questions import connected
from tests.faults.forking import running
from tests.faults.locks import wait_until_somebody_waits
from tests.faults.running import eventually
from tests.functional.placement.small_cloud import ROOT, holding, numbered, stock

#: number of connections of the only worker, which has more threads
CONNECTIONS = 2


@pytest.fixture(scope="session", params=[kind for kind in CHOSEN if kind != "sqlite"])
def database_kind(request):
    """Return the kind, where a waiting write uses a connection; on SQLite it waits without one."""
    return request.param


@pytest.fixture
def service(database_url):
    options = {
        "PLACEMENT_DATABASE__MAX_POOL_SIZE": str(CONNECTIONS),
        "PLACEMENT_DATABASE__MAX_OVERFLOW": "0",
        "PLACEMENT_DATABASE__POOL_TIMEOUT": "1",
    }
    with running(database_url, workers=1, threads=CONNECTIONS + 2, **options) as service:
        assert service.post("/resource_providers", {"name": "root", "uuid": ROOT}).status == 200
        path = f"/resource_providers/{ROOT}/inventories"
        assert service.put(path, stock(0, VCPU=10)).status == 200
        yield service


def test_requests_without_a_free_connection_get_503_and_those_with_one_succeed(
    service, database_url
):
    def claim(number):
        wanted = holding({ROOT: {"VCPU": 1}}, project=f"p{number}")
        return service.put(f"/allocations/{numbered('c', number)}", wanted).status

    with concurrent.futures.ThreadPoolExecutor() as pool, connected(database_url) as other:
        other.execute(sa.text("SELECT id FROM resource_providers FOR UPDATE"))
        claims = [pool.submit(claim, number) for number in range(CONNECTIONS)]
        wait_until_somebody_waits(database_url, CONNECTIONS)
        refused = service.get(f"/resource_providers/{ROOT}")
        assert service.get("/").status == 200
        other.rollback()
        answers = [claim.result() for claim in claims]

    assert (refused.status, answers) == (503, [204] * CONNECTIONS)
    eventually(lambda: service.get(f"/resource_providers/{ROOT}").status == 200)
