"""Another writer commits between two statements of a write (architecture.rst D3).

Only on databases where each statement sees what was committed before it, and not on SQLite, which
allows one writer at a time.
"""

import contextlib

import pytest
from sqlalchemy import event

from tests.databases.fixtures import CHOSEN
from tests.faults.tables import broken_rules
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import EMPTY, NEW, ROOT, fill, holding, stock

CONFLICT = (409, "placement.concurrent_update")


@pytest.fixture(scope="session", params=[kind for kind in CHOSEN if kind != "sqlite"])
def database_kind(request):
    """Return the kind, for databases with concurrent writers."""
    return request.param


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
