"""All writes lock rows in the same order, so that they may wait but never deadlock."""

import concurrent.futures
import contextlib

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from placement.storage.database import lock_limits
from tests.databases.fixtures import only
from tests.databases.mortal import mortal
from tests.databases.questions import connected
from tests.extent import examples
from tests.faults import mixed
from tests.faults.forking import running
from tests.faults.locks import wait_until_somebody_waits
from tests.faults.mixed import LEAF, MIDDLE, OTHER_ROOT, ROOT
from tests.faults.running import Client
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import NEW, expect, holding, numbered, stock

#: number of operations of each writer of the mixed load
TIMES = examples(6, 50)

#: databases that lock rows; SQLite has a single lock
database_kind = only("postgresql", "mariadb")


@pytest.fixture
def counted_url(database_kind, request):
    """Return the URL of an empty database whose deadlocks are counted.

    MariaDB counts those of the whole server, so it has one of its own.
    """
    if database_kind == "postgresql":
        yield request.getfixturevalue("new_database")(empty=True)
    else:
        with mortal(database_kind) as server:
            yield server.url


def test_concurrent_writes_of_all_kinds_to_the_same_trees_do_not_deadlock(counted_url):
    steps = [*mixed.CLAIMS, *mixed.TREES, *mixed.REST]
    with running(counted_url) as service, concurrent.futures.ThreadPoolExecutor() as pool:
        mixed.make(service)
        writers = {
            step.__name__: pool.submit(
                mixed.write, Client(service.path), step, TIMES, 1000 * number
            )
            for number, step in enumerate(steps, 1)
        }
        answers = {name: writer.result() for name, writer in writers.items()}
        assert all(found.keys() <= mixed.FINE for found in answers.values()), answers
    assert mixed.deadlocks(counted_url) == 0


@pytest.fixture
def service(database_url):
    """Return a service with LEAF, the oldest provider, below MIDDLE, below ROOT."""
    service = Service(database_url)
    for uuid in (LEAF, MIDDLE, ROOT, OTHER_ROOT):
        expect(service.post("/resource_providers", {"name": uuid, "uuid": uuid}), 200)
        expect(service.put(f"/resource_providers/{uuid}/inventories", stock(0, VCPU=9)), 200)
    expect(put(service, MIDDLE, ROOT), 200)
    expect(put(service, LEAF, MIDDLE), 200)
    return service


def put(service, uuid, parent):
    body = {"name": uuid, "parent_provider_uuid": parent}
    return service.put(f"/resource_providers/{uuid}", body)


def create(service, parent):
    uuid = numbered("b", 1)
    body = {"name": uuid, "uuid": uuid, "parent_provider_uuid": parent}
    return service.post("/resource_providers", body)


def claim(service):
    # the order of uuids isn't the order of ids
    wanted = {uuid: {"VCPU": 1} for uuid in (ROOT, LEAF, MIDDLE)}
    return service.put(f"/allocations/{NEW}", holding(wanted))


def write_tree(service, root, providers):
    """Write providers, all of generation 1, in one request."""
    wanted = {uuid: {"generation": 1, **change} for uuid, change in providers.items()}
    return service.put(f"/berth/v1/provider_trees/{root}", {"providers": wanted})


#: by name: the write, and the providers that it locks, by ascending id
WRITES = {
    "a move within the tree": (lambda service: put(service, LEAF, ROOT), [LEAF, MIDDLE, ROOT]),
    "a move to another tree": (
        lambda service: put(service, MIDDLE, OTHER_ROOT),
        [LEAF, MIDDLE, ROOT, OTHER_ROOT],
    ),
    "a child that becomes a root": (
        lambda service: put(service, LEAF, None),
        [LEAF, MIDDLE, ROOT],
    ),
    "a new child of a child": (lambda service: create(service, MIDDLE), [MIDDLE, ROOT]),
    "a tree with a rename": (
        lambda service: write_tree(service, ROOT, {LEAF: {"name": "leaf"}}),
        [LEAF, ROOT],
    ),
    "a tree with a child of a child": (
        lambda service: write_tree(
            service,
            ROOT,
            {
                numbered("b", 1): {
                    "generation": None,
                    "name": "new",
                    "parent_provider_uuid": MIDDLE,
                }
            },
        ),
        [MIDDLE, ROOT],
    ),
    "a tree that another one joins": (
        lambda service: write_tree(
            service, OTHER_ROOT, {MIDDLE: {"parent_provider_uuid": OTHER_ROOT}}
        ),
        [LEAF, MIDDLE, ROOT, OTHER_ROOT],
    ),
    "an allocation": (claim, [LEAF, MIDDLE, ROOT]),
}
LOCK = "SELECT id FROM resource_providers WHERE uuid = :uuid FOR UPDATE"


def is_locked(url, uuid):
    """Return whether a transaction has locked this provider's row."""
    with connected(url) as connection:
        try:
            connection.execute(sa.text(f"{LOCK} NOWAIT"), {"uuid": uuid})
        except OperationalError:
            return True
    return False


@contextlib.contextmanager
def held(url, uuid):
    """Lock the provider's row from another program in this block."""
    with connected(url) as connection, connection.begin():
        connection.execute(sa.text(LOCK), {"uuid": uuid})
        yield


#: what lets a session wait for a lock as long as the test needs, with what it holds
PATIENT = {
    "postgresql": "SET lock_timeout = '10min'",
    "mariadb": "SET SESSION innodb_lock_wait_timeout = 600",
}


@pytest.fixture
def patient(service, database_kind, monkeypatch):
    """Return the service; its writes give nothing back while they wait."""
    service.database.close()

    @sa.event.listens_for(service.database.engine, "connect")
    def connect(connection, record):
        connection.cursor().execute(PATIENT[database_kind])

    monkeypatch.setattr(lock_limits, "_SHORT_WAITS", lock_limits._LONGEST_WAITS)
    return service


@pytest.mark.spread_over_databases("postgresql", "mariadb")
@pytest.mark.parametrize(
    ("write", "rows", "awaited"),
    [(write, rows, at) for write, rows in WRITES.values() for at in range(len(rows))],
    ids=[f"{name} {at}" for name, (_, rows) in WRITES.items() for at in range(len(rows))],
)
def test_a_write_that_waits_for_a_provider_has_locked_those_before_it_only(
    patient, database_url, write, rows, awaited
):
    with concurrent.futures.ThreadPoolExecutor() as beside:
        with held(database_url, rows[awaited]):
            answer = beside.submit(write, patient)
            wait_until_somebody_waits(database_url)
            found = [is_locked(database_url, uuid) for uuid in rows]
        assert found == [True] * (awaited + 1) + [False] * (len(rows) - awaited - 1)
        assert answer.result().status_code in (200, 204)


def test_a_child_written_with_its_current_parent_locks_itself_only(service, database_url):
    with held(database_url, ROOT):
        expect(put(service, MIDDLE, ROOT), 200)
