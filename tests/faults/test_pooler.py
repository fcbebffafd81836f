"""PgBouncer in transaction mode between the service and PostgreSQL.

Each transaction may get another session, and all clients share all sessions.
"""

import concurrent.futures

import pytest

from tests.databases.fixtures import only
from tests.databases.pooler import SHARED, pooled
from tests.databases.questions import ask
from tests.faults import mixed
from tests.faults.forking import running
from tests.faults.running import Client
from tests.functional.placement.small_cloud import numbered

CLAIMS = 48
CLIENTS = 12
#: number of operations of each writer; more than psycopg executes before it prepares a statement
TIMES = 7
SHOWN = (
    "/resource_providers?in_tree={0}",
    "/resource_providers?resources=VCPU:1",
    "/resource_providers/{0}",
    "/resource_providers/{0}/inventories",
    "/resource_providers/{0}/usages",
    "/resource_providers/{0}/traits",
    "/resource_providers/{0}/aggregates",
    "/resource_providers/{0}/allocations",
    "/allocation_candidates?resources=VCPU:1",
    "/usages?project_id=p",
    "/traits",
    "/resource_classes",
)


#: PgBouncer is for PostgreSQL
database_kind = only("postgresql")


@pytest.fixture
def service(new_database):
    with pooled(new_database(empty=True)) as url, running(url) as service:
        mixed.make(service)
        yield service


def test_claims_of_several_workers_are_all_answered(service):
    def claim(number):
        client = Client(service.path)
        body = mixed.held(None, {mixed.ROOT: {"VCPU": 1}, mixed.MIDDLE: {"VCPU": 1}})
        return client.put(f"/allocations/{numbered('a', number)}", body).status

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(claim, range(CLAIMS)))
    used = service.get(f"/resource_providers/{mixed.ROOT}/usages").body["usages"]
    assert (set(answers), used["VCPU"]) == ({204}, CLAIMS)


def test_reads_and_writes_of_all_kinds_are_answered(service):
    steps = [*mixed.CLAIMS, *mixed.TREES, *mixed.REST]

    def read(number):
        paths = [path.format(mixed.ROOT) for path in SHOWN]
        return {Client(service.path).get(path).status for path in paths}

    with concurrent.futures.ThreadPoolExecutor() as pool:
        writers = [
            pool.submit(mixed.write, Client(service.path), step, TIMES, 1000 * number)
            for number, step in enumerate(steps, 1)
        ]
        reads = [pool.submit(read, number) for number in range(TIMES)]
        statuses = set().union(*(writer.result() for writer in writers))
        assert set().union(*(each.result() for each in reads)) == {200}
    assert statuses <= mixed.FINE, service.said()


SETTINGS = "SELECT current_setting('lock_timeout'), current_setting('transaction_isolation')"


def test_no_setting_of_a_transaction_remains_in_a_session(new_database):
    with pooled(new_database(empty=True)) as url:
        with running(url) as service:
            for number in range(2 * SHARED):
                assert service.put(f"/traits/CUSTOM_{number}").status == 201
        with concurrent.futures.ThreadPoolExecutor() as pool:
            found = list(pool.map(lambda number: ask(url, SETTINGS)[0], range(2 * SHARED)))
    assert set(found) == {("0", "read committed")}
