"""Who stands in the line of a locked tree waits for that tree, and for nothing else."""

import contextlib
import random
import threading

import pytest
import sqlalchemy as sa

from placement.operations.allocations import lock
from tests.databases.questions import connected
from tests.faults import locks
from tests.faults.locks import wait_until_somebody_waits
from tests.faults.running import eventually
from tests.functional.placement.extensions.claims.claiming import ask, stay_in_lines
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import numbered
from tests.functional.placement.topology import Cloud
from tests.patience import PATIENCE

pytestmark = pytest.mark.parametrize("database_kind", ["postgresql", "mariadb"], indirect=True)

#: the pool serves a, and is locked before it
TOPOLOGY = [
    {
        "name": "pool",
        "inventories": {"DISK_GB": {"total": 9}},
        "traits": ["MISC_SHARES_VIA_AGGREGATE"],
        "aggregates": ["g"],
    },
    {"name": "a", "inventories": {"VCPU": {"total": 3}}, "aggregates": ["g"]},
    {"name": "b", "inventories": {"VCPU": {"total": 9}}},
]
ANY = "resources=VCPU:1"
BYTES = "CUSTOM_BYTES"


@pytest.fixture
def cloud(service):
    return Cloud(service).build(TOPOLOGY)


@pytest.fixture
def locked(service):
    """Return a function that locks a provider, and returns a function that ends that."""
    with contextlib.ExitStack() as ends:

        def locking(uuid):
            ready, enough = threading.Event(), threading.Event()

            def hold(connection):
                lock(connection, [], [uuid])
                ready.set()
                enough.wait(PATIENCE)

            holder = threading.Thread(target=service.database.write, args=(hold,))
            holder.start()
            ends.callback(holder.join, PATIENCE)
            ends.callback(enough.set)
            assert ready.wait(PATIENCE)
            return enough.set

        yield locking


class Claiming(threading.Thread):
    """A claim of one consumer, under way."""

    def __init__(self, service, number, query):
        super().__init__()
        self._asked = service, numbered("c", number), query
        self.status = self.body = None
        self.start()

    def run(self):
        service, consumer, query = self._asked
        answer = ask(service, consumer, query=query)
        self.status, self.body = answer.status_code, answer.json

    def end(self):
        self.join(PATIENCE)
        return self.status


def in_line(service, cloud, name):
    return service.running.searching.parts.claims.waiting(cloud.uuids[name])


def test_a_claim_of_a_tree_that_is_free_again_does_not_wait_for_another_tree(
    service, cloud, locked, monkeypatch
):
    """One that stands in the same line finds room in the other tree only, when it has its turn."""
    stay_in_lines(monkeypatch)
    of_a = f"{ANY}&in_tree={cloud.uuids['a']}"
    free_a, free_b = locked(cloud.uuids["a"]), locked(cloud.uuids["b"])
    claims = [Claiming(service, 0, of_a)]
    wait_until_somebody_waits(service.url)
    for number, query in enumerate([of_a, of_a, "resources=VCPU:3"], 1):
        claims.append(Claiming(service, number, query))
        eventually(lambda number=number: in_line(service, cloud, "a") == number)
    free_a()
    assert [claim.end() for claim in claims[:3]] == [200] * 3
    assert claims[3].status is None
    free_b()
    assert claims[3].end() == 200


def test_a_claim_that_takes_nothing_of_a_locked_pool_does_not_wait_for_it(service, cloud, locked):
    free = locked(cloud.uuids["pool"])
    waits = Claiming(service, 0, "resources=VCPU:1,DISK_GB:1")
    wait_until_somebody_waits(service.url)
    assert Claiming(service, 1, f"{ANY}&in_tree={cloud.uuids['a']}").end() == 200
    assert waits.status is None
    free()
    assert waits.end() == 200


def is_free(service, uuid):
    """Say whether nobody has locked a provider."""
    question = "SELECT id FROM resource_providers WHERE uuid = :uuid FOR UPDATE NOWAIT"
    with connected(service.url) as connection:
        try:
            connection.execute(sa.text(question), {"uuid": uuid})
        except sa.exc.OperationalError:
            return False
    return True


def test_who_waits_for_one_tree_keeps_nobody_from_another(service, cloud, locked):
    """It takes of both, and the pool has the lower id."""
    free = locked(cloud.uuids["a"])
    waits = Claiming(service, 0, "resources=VCPU:1,DISK_GB:1")
    wait_until_somebody_waits(service.url)
    assert is_free(service, cloud.uuids["pool"])
    assert not is_free(service, cloud.uuids["a"])
    free()
    assert waits.end() == 200


def test_who_needs_two_locked_trees_waits_for_one_after_the_other(service, cloud, locked):
    first, second = sorted(cloud.uuids[name] for name in ("a", "pool"))
    frees = {uuid: locked(uuid) for uuid in (first, second)}
    waits = Claiming(service, 0, "resources=VCPU:1,DISK_GB:1")
    wait_until_somebody_waits(service.url)
    frees[first]()
    # it holds the first one only while it finds out that the second one is locked
    eventually(lambda: is_free(service, first))
    # who waited for the first one may seem to wait for it still
    eventually(lambda: locks.waiting(service.url) and is_free(service, first))
    assert waits.status is None
    frees[second]()
    assert waits.end() == 200


def test_a_claim_that_was_made_is_answered_again_while_its_tree_is_locked(service, cloud, locked):
    first = ask(service, numbered("c", 0), query=ANY)
    free = locked(cloud.uuids["a"])
    waits = Claiming(service, 1, f"{ANY}&in_tree={cloud.uuids['a']}")
    wait_until_somebody_waits(service.url)
    again = Claiming(service, 0, f"{ANY}&in_tree={cloud.uuids['a']}")
    assert again.end() == 200
    assert again.body == first.json
    assert waits.status is None
    free()
    assert waits.end() == 200


def test_a_long_search_beside_a_locked_tree_does_not_refuse_a_claim_that_fits_there(
    service, locked
):
    """Whether the groups fit in the other tree is bin packing without any slack."""
    source = random.Random(1)
    amounts = [source.randint(10**6, 10**7) for _ in range(24)]
    room = sum(amounts) // 6 + 1
    cloud = Cloud(service).build(
        [
            {"name": "easy", "inventories": {"VCPU": {"total": 9}, BYTES: {"total": 10**9}}},
            {"name": "hard", "inventories": {"VCPU": {"total": 9}}},
            *(
                {"name": f"d{n}", "parent": "hard", "inventories": {BYTES: {"total": room}}}
                for n in range(6)
            ),
        ]
    )
    groups = [f"resources_{n}={BYTES}:{amount}" for n, amount in enumerate(amounts)]
    query = "&".join(["resources=VCPU:9", *groups, "group_policy=none"])
    hasty = Service(
        service.url, placement_database__sync_on_startup=False, berth__search_time_limit=1
    )
    free = locked(cloud.uuids["easy"])
    claim = Claiming(hasty, 0, query)
    eventually(lambda: claim.status or locks.waiting(service.url))
    free()
    assert claim.end() == 200
