"""All connections to the database are in use."""

import contextlib

from tests.databases.fixtures import only
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import ROOT, expect

#: number of connections of the service
CONNECTIONS = 2
FEW = {
    "placement_database__max_pool_size": CONNECTIONS,
    "placement_database__max_overflow": 0,
    "placement_database__pool_timeout": 0,
}


database_kind = only("postgresql", "mariadb")


def test_requests_without_a_free_connection_get_503_and_those_with_one_succeed(database_url):
    service = Service(database_url, **FEW).unjudged()
    expect(service.post("/resource_providers", {"name": "root", "uuid": ROOT}), 200)
    path, body = f"/resource_providers/{ROOT}", {"name": "renamed"}
    # other requests have the connections; writes that wait for a row don't keep theirs
    with contextlib.ExitStack() as others:
        for _ in range(CONNECTIONS):
            expect(service.get(path), 200)
            expect(service.put(path, body), 200)
            others.enter_context(service.database.kept.taken(service.database.engine))
        expect(service.get(path), 503)
        expect(service.put(path, body), 503)
        expect(service.get("/"), 200)
    expect(service.get(path), 200)
    expect(service.put(path, body), 200)
