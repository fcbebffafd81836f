"""Another writer commits between two statements of a write (architecture.rst D3).

Only on databases where each statement sees what was committed before it, and not on SQLite, which
allows one writer at a time.
"""

import contextlib

import pytest
from sqlalchemy import event

from tests.databases.fixtures import only
from tests.faults.tables import broken_rules
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import (
    CHILD,
    EMPTY,
    NEW,
    ROOT,
    fill,
    holding,
    numbered,
    stock,
)

# the cases are many: those of each kind show that it sees what others commit
pytestmark = pytest.mark.spread_over_databases("postgresql", "mariadb")

CONFLICT = (409, "placement.concurrent_update")


#: databases with concurrent writers
database_kind = only("postgresql", "mariadb")


@pytest.fixture
def service(database_url):
    service = Service(database_url)
    fill(service)
    return service


@contextlib.contextmanager
def before_statement(service, number, act):
    """Call `act` before the number-th statement that the service sends from now on."""
    left = [number]

    def count(connection, cursor, statement, parameters, context, executemany):
        if not statement.startswith(("BEGIN", "SET TRANSACTION")):
            left[0] -= 1
            if left[0] == 0:
                act()

    engine = service.database.engine
    event.listen(engine, "before_cursor_execute", count)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", count)
    assert left[0] <= 0, "there were fewer statements"


def code(response):
    return response.status_code, response.json["errors"][0]["code"]


CLAIM = holding({ROOT: {"VCPU": 1}})
WRITES = {
    "PUT of nothing": lambda service: service.put(f"/allocations/{NEW}", holding({})),
    "POST of nothing": lambda service: service.post("/allocations", {NEW: holding({})}),
    "reshape to nothing": lambda service: service.post(
        "/reshaper",
        {"inventories": {EMPTY: stock(0, VCPU=1)}, "allocations": {NEW: holding({})}},
    ),
    "PUT": lambda service: service.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 2}})),
}


@pytest.mark.parametrize("statement", [1, 2, 3])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_new_consumer_that_another_writer_creates_concurrently_keeps_its_allocations(
    service, database_url, write, statement
):
    other = Service(database_url, placement_database__sync_on_startup=False)
    answers = []

    def create():
        answers.append(other.put(f"/allocations/{NEW}", CLAIM).status_code)

    with before_statement(service, statement, create):
        answer = write(service)

    assert (answers, code(answer)) == ([204], CONFLICT)
    assert other.get(f"/allocations/{NEW}").json["allocations"][ROOT]["resources"] == {"VCPU": 1}
    assert broken_rules(database_url) == {}


def test_before_1_28_an_empty_write_deletes_a_consumer_created_concurrently(service, database_url):
    other = Service(database_url, placement_database__sync_on_startup=False)
    nothing = {NEW: {"allocations": {}, "project_id": "p", "user_id": "u"}}
    with before_statement(service, 2, lambda: other.put(f"/allocations/{NEW}", CLAIM)):
        answer = service.post("/allocations", nothing, version="1.27")
    assert answer.status_code == 204
    assert service.ask("SELECT count(*) FROM consumers WHERE uuid = :uuid", uuid=NEW) == [(0,)]
    assert broken_rules(database_url) == {}


FRESH = numbered("a", 71)


def put(service, uuid, **change):
    return service.put(f"/resource_providers/{uuid}", change)


def child_of(uuid):
    return {"name": "fresh", "uuid": FRESH, "parent_provider_uuid": uuid}


def existing(uuid, generation, **change):
    return {uuid: {"generation": generation, **change}}


ROW = (
    "SELECT p.name, r.uuid FROM resource_providers p JOIN resource_providers r "
    "ON r.id = p.root_provider_id WHERE p.uuid = :uuid"
)
#: a write of a tree, what another writer does meanwhile, the answer, and then a provider with its
#: name and root
TREES = {
    "what is moved gets a child": (
        (EMPTY, {"providers": existing(CHILD, 2, parent_provider_uuid=EMPTY)}),
        lambda other: other.post("/resource_providers", child_of(CHILD)),
        200,
        (FRESH, "fresh", EMPTY),
    ),
    "the tree becomes part of another one": (
        (EMPTY, {"providers": existing(CHILD, 2, parent_provider_uuid=EMPTY)}),
        lambda other: put(other, EMPTY, name="empty", parent_provider_uuid=ROOT),
        400,
        (CHILD, "child", ROOT),
    ),
    "the new parent becomes a child of what is moved": (
        (EMPTY, {"providers": existing(ROOT, 5, parent_provider_uuid=EMPTY)}),
        lambda other: put(other, EMPTY, name="empty", parent_provider_uuid=ROOT),
        400,
        (EMPTY, "empty", ROOT),
    ),
    "a name that stays is changed": (
        (ROOT, {"providers": existing(CHILD, 2, name="child")}),
        lambda other: put(other, CHILD, name="other", parent_provider_uuid=ROOT),
        200,
        (CHILD, "child", ROOT),
    ),
    "a name is taken": (
        (ROOT, {"providers": existing(CHILD, 2, name="fresh")}),
        lambda other: other.post("/resource_providers", child_of(None)),
        409,
        (CHILD, "child", ROOT),
    ),
    "what is new is created": (
        (
            ROOT,
            {"providers": {FRESH: {"generation": None, "name": "x", "parent_provider_uuid": ROOT}}},
        ),
        lambda other: other.post("/resource_providers", child_of(ROOT)),
        409,
        (FRESH, "fresh", ROOT),
    ),
    "what is removed gets a child": (
        (EMPTY, {"remove": {EMPTY: 0}}),
        lambda other: other.post("/resource_providers", child_of(EMPTY)),
        409,
        (FRESH, "fresh", EMPTY),
    ),
    "a generation rises": (
        (ROOT, {"providers": existing(CHILD, 2, traits=["CUSTOM_T"])}),
        lambda other: other.put(
            f"/resource_providers/{CHILD}/aggregates",
            {"aggregates": [], "resource_provider_generation": 2},
        ),
        409,
        (CHILD, "child", ROOT),
    ),
}


@pytest.mark.parametrize("statement", [1, 2])
@pytest.mark.parametrize("case", TREES.values(), ids=TREES)
def test_a_tree_that_changes_before_it_is_locked_is_written_as_it_is_then(
    service, database_url, case, statement
):
    (root, body), act, status, (uuid, *expected) = case
    other = Service(database_url, placement_database__sync_on_startup=False)
    answers = []
    with before_statement(service, statement, lambda: answers.append(act(other).status_code)):
        answer = service.put(f"/berth/v1/provider_trees/{root}", body)

    assert (answers, answer.status_code) == ([200], status)
    assert other.ask(ROW, uuid=uuid) == [tuple(expected)]
    assert broken_rules(database_url) == {}


@pytest.mark.parametrize("statement", [1, 4, 5])
def test_a_tree_gets_its_class_if_another_writer_deletes_it_meanwhile(
    service, database_url, statement
):
    other = Service(database_url, placement_database__sync_on_startup=False)
    inventories = {"CUSTOM_UNUSED": {"total": 1}}
    body = {"providers": existing(EMPTY, 0, inventories=inventories), "create_names": True}
    answers = []

    def delete():
        answers.append(other.delete("/resource_classes/CUSTOM_UNUSED").status_code)

    with before_statement(service, statement, delete):
        answer = service.put(f"/berth/v1/provider_trees/{EMPTY}", body)

    assert (answers, answer.status_code) == ([204], 200), answer.text
    stored = other.get(f"/resource_providers/{EMPTY}/inventories").json["inventories"]
    assert stored["CUSTOM_UNUSED"]["total"] == 1
    assert broken_rules(database_url) == {}
