"""Which concurrent writes proceed together, which wait, and what waiting writes find afterwards.

When the second write begins, the first one has executed all but its last statement, and so holds
all its locks (architecture.rst D3).
"""

import concurrent.futures
import contextlib

import pytest
from sqlalchemy import event

from tests.databases.fixtures import only
from tests.faults.locks import wait_until_somebody_waits
from tests.faults.mixed import LEAF, MIDDLE, OTHER_ROOT, ROOT
from tests.faults.tables import broken_rules
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import NEW, expect, holding, numbered, stock

CHILD, OTHER_CHILD = numbered("b", 1), numbered("b", 2)
OTHER_CONSUMER = numbered("c", 2)
#: the generation of each provider after its inventory was stored
GENERATION = 1
TOTAL = 9


#: databases with concurrent writers
database_kind = only("postgresql", "mariadb")


@pytest.fixture
def service(database_url):
    """Return a service with LEAF, the oldest provider, below MIDDLE, below ROOT."""
    service = Service(database_url)
    for uuid in (LEAF, MIDDLE, ROOT, OTHER_ROOT):
        expect(service.post("/resource_providers", {"name": uuid, "uuid": uuid}), 200)
        expect(service.put(f"/resource_providers/{uuid}/inventories", stock(0, VCPU=TOTAL)), 200)
    expect(put(MIDDLE, ROOT)(service), 200)
    expect(put(LEAF, MIDDLE)(service), 200)
    return service


@pytest.fixture
def other(service, database_url):
    """Return another worker's service."""
    return Service(database_url, placement_database__sync_on_startup=False)


def put(uuid, parent, name=None):
    body = {"name": name or uuid, "parent_provider_uuid": parent}
    return lambda service: service.put(f"/resource_providers/{uuid}", body)


def create(parent, uuid=CHILD):
    body = {"name": uuid, "uuid": uuid, "parent_provider_uuid": parent}
    return lambda service: service.post("/resource_providers", body)


def delete(uuid):
    return lambda service: service.delete(f"/resource_providers/{uuid}")


def claim(*uuids, amount=1, consumer=NEW):
    body = holding({uuid: {"VCPU": amount} for uuid in uuids})
    return lambda service: service.put(f"/allocations/{consumer}", body)


def replace(uuid, **totals):
    path = f"/resource_providers/{uuid}/inventories"
    return lambda service: service.put(path, stock(GENERATION, **totals))


def reshape(uuid, **totals):
    body = {"inventories": {uuid: stock(GENERATION, **totals)}, "allocations": {}}
    return lambda service: service.post("/reshaper", body)


@contextlib.contextmanager
def at_the_end(service, act):
    """Call `act` once, before the last statement of the service's next write."""
    engine, acted = service.database.engine, []

    def run(connection, cursor, statement, parameters, context, executemany):
        if "INSERT INTO berth_provider_changes" in statement and not acted:
            acted.append(True)
            act()

    event.listen(engine, "before_cursor_execute", run)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", run)
    assert acted, "it wrote nothing"


def in_turn(url, service, other, first, second):
    """Return the responses of a write and of one that waits for it; fail if that doesn't wait."""
    with concurrent.futures.ThreadPoolExecutor() as beside:
        begun = []

        def begin():
            begun.append(beside.submit(second, other))
            wait_until_somebody_waits(url)

        with at_the_end(service, begin):
            answers = [first(service)]
        answers.append(begun[0].result())
    assert broken_rules(url) == {}
    return [answer.status_code for answer in answers]


def at_once(url, service, other, first, second):
    """Return the responses of a write, and of one that ends while the first holds its locks."""
    answers = []
    with at_the_end(service, lambda: answers.append(second(other))):
        answers.insert(0, first(service))
    assert broken_rules(url) == {}
    return [answer.status_code for answer in answers]


ALONG = {
    "children of one parent": (create(MIDDLE), create(MIDDLE, OTHER_CHILD), [200, 200]),
    "a child, an update of its parent without a change": (
        create(MIDDLE),
        put(MIDDLE, ROOT),
        [200, 200],
    ),
    "an allocation, an update without a change": (claim(MIDDLE), put(MIDDLE, ROOT), [204, 200]),
    "a move, an update without a change": (put(LEAF, ROOT), put(MIDDLE, ROOT), [200, 200]),
}
ALONG_ON_POSTGRESQL = {
    "an allocation, a child": (claim(ROOT, MIDDLE), create(MIDDLE), [204, 200]),
    "a child, an allocation": (create(MIDDLE), claim(ROOT, MIDDLE), [200, 204]),
    "inventories, a child": (replace(MIDDLE, VCPU=5), create(MIDDLE), [200, 200]),
    "a child, inventories": (create(MIDDLE), replace(MIDDLE, VCPU=5), [200, 200]),
    "a reshape, a child": (reshape(MIDDLE, VCPU=5), create(MIDDLE), [204, 200]),
    "a child, a reshape": (create(MIDDLE), reshape(MIDDLE, VCPU=5), [200, 204]),
}


@pytest.mark.spread_over_databases("postgresql", "mariadb")
@pytest.mark.parametrize(("first", "second", "wanted"), ALONG.values(), ids=ALONG)
def test_independent_writes_do_not_wait_for_each_other(
    service, other, database_url, first, second, wanted
):
    assert at_once(database_url, service, other, first, second) == wanted


@pytest.mark.parametrize(
    ("first", "second", "wanted"), ALONG_ON_POSTGRESQL.values(), ids=ALONG_ON_POSTGRESQL
)
def test_a_new_child_does_not_wait_for_writes_to_its_parent_where_locks_allow(
    service, other, database_url, database_kind, first, second, wanted
):
    run = at_once if database_kind == "postgresql" else in_turn
    assert run(database_url, service, other, first, second) == wanted
    shown = other.get(f"/resource_providers/{CHILD}").json
    assert (shown["parent_provider_uuid"], shown["root_provider_uuid"]) == (MIDDLE, ROOT)


#: the first write, the one that waits for it, and their responses
WAITING = {
    "a child, the deletion of its parent": (create(LEAF), delete(LEAF), [200, 409]),
    "a deletion, a child of the deleted provider": (delete(LEAF), create(LEAF), [204, 400]),
    "an allocation, the deletion of its provider": (claim(LEAF), delete(LEAF), [204, 409]),
    "a deletion, an allocation from the deleted provider": (delete(LEAF), claim(LEAF), [204, 400]),
    "an allocation, a move": (claim(LEAF), put(LEAF, OTHER_ROOT), [204, 200]),
    "an allocation, a move out of its tree": (claim(MIDDLE), put(LEAF, OTHER_ROOT), [204, 200]),
    "an allocation, a move in its tree": (claim(MIDDLE), put(LEAF, ROOT), [204, 200]),
    "a move, an allocation": (put(LEAF, OTHER_ROOT), claim(LEAF), [200, 204]),
    "a child, its parent's new name": (create(LEAF), put(LEAF, MIDDLE, "new"), [200, 200]),
    "a new name, a child": (put(LEAF, MIDDLE, "new"), create(LEAF), [200, 200]),
    "an allocation, another of the rest": (
        claim(LEAF, amount=TOTAL),
        claim(LEAF, consumer=OTHER_CONSUMER),
        [204, 409],
    ),
    "an allocation, inventories at an old generation": (
        claim(LEAF),
        replace(LEAF, VCPU=5),
        [204, 409],
    ),
    "inventories, an allocation above them": (
        replace(LEAF, VCPU=1),
        claim(LEAF, amount=2),
        [200, 409],
    ),
    "a reshape, an allocation of a removed class": (
        reshape(LEAF, DISK_GB=1),
        claim(LEAF),
        [204, 409],
    ),
    "an allocation, a reshape at an old generation": (
        claim(LEAF),
        reshape(LEAF, VCPU=5),
        [204, 409],
    ),
}


@pytest.mark.spread_over_databases("postgresql", "mariadb")
@pytest.mark.parametrize(("first", "second", "wanted"), WAITING.values(), ids=WAITING)
def test_a_write_that_depends_on_another_one_waits_and_sees_its_result(
    service, other, database_url, first, second, wanted
):
    assert in_turn(database_url, service, other, first, second) == wanted


CROSSING = {
    "the child first": (create(LEAF), put(MIDDLE, OTHER_ROOT)),
    "the move first": (put(MIDDLE, OTHER_ROOT), create(LEAF)),
}


@pytest.mark.parametrize(("first", "second"), CROSSING.values(), ids=CROSSING)
def test_a_child_created_during_a_move_is_in_the_tree_of_its_parent(
    service, other, database_url, first, second
):
    assert in_turn(database_url, service, other, first, second) == [200, 200]
    for uuid in (MIDDLE, LEAF, CHILD):
        shown = other.get(f"/resource_providers/{uuid}").json
        assert shown["root_provider_uuid"] == OTHER_ROOT, uuid
