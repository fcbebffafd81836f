"""A database that takes no changes: writes are refused and say why, and reads go on."""

import contextlib

import pytest
from sqlalchemy import event

from tests.functional.placement.small_cloud import HOLDER, NEW, ROOT, holding, stock

#: what makes a new connection one that only reads: an old primary after a switchover is like that
FROZEN = {
    "sqlite": "PRAGMA query_only = 1",
    "postgresql": "SET default_transaction_read_only = on",
    "mariadb": "SET SESSION TRANSACTION READ ONLY",
}
TREE = {ROOT: {"name": "t", "generation": 5}}
CLAIM = {
    "query": "resources=VCPU:1",
    "consumers": [
        {"uuid": NEW, "project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"},
    ],
}
WRITES = [
    ("POST", "/resource_providers", {"name": "new"}),
    ("PUT", f"/resource_providers/{ROOT}", {"name": "new"}),
    ("PUT", f"/resource_providers/{ROOT}/inventories", stock(5, VCPU=99)),
    ("PUT", "/traits/CUSTOM_NEW", None),
    ("PUT", "/resource_classes/CUSTOM_NEW", None),
    ("PUT", f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}})),
    ("POST", "/allocations", {NEW: holding({ROOT: {"VCPU": 1}})}),
    ("DELETE", f"/allocations/{HOLDER}", None),
    ("POST", "/reshaper", {"inventories": {ROOT: stock(5, VCPU=99)}, "allocations": {}}),
    ("PUT", f"/berth/v1/provider_trees/{ROOT}", {"providers": TREE}),
    ("POST", "/berth/v1/claims", CLAIM),
]
READS = (
    "/",
    f"/resource_providers/{ROOT}",
    "/allocation_candidates?resources=VCPU:1",
    "/usages?project_id=p",
    "/berth/v1/provider_trees",
    "/berth/v1/changes",
    "/berth/v1/suspects",
)

# pytest 8.3 doesn't find this fixture's parameters behind a fixture that replaces another
pytestmark = pytest.mark.usefixtures("database_kind")


@pytest.fixture
def filled(filled):
    """Return the filled service, whose responses may be 503."""
    return filled.unjudged()


@contextlib.contextmanager
def new_connections_only_read(service, kind):
    def freeze(connection, record):
        with contextlib.closing(connection.cursor()) as cursor:
            cursor.execute(FROZEN[kind])

    event.listen(service.database.engine, "connect", freeze)
    try:
        yield
    finally:
        event.remove(service.database.engine, "connect", freeze)


def test_each_write_says_that_the_database_is_read_only_and_reads_go_on(filled, database_kind):
    before = filled.tables()
    with new_connections_only_read(filled, database_kind):
        filled.database.close()
        for method, path, body in WRITES:
            answer = filled.request(method, path, body)
            assert answer.status_code == 503, (method, path, answer.text)
            assert "The database is read-only at present. Nothing was changed." in answer.text
        for path in READS:
            assert filled.get(path).status_code == 200, path
    assert filled.tables() == before


def test_after_a_refused_write_connections_are_made_anew(filled, database_kind):
    """The server's address may lead to another one by now, which takes changes."""
    with new_connections_only_read(filled, database_kind):
        filled.database.close()
        assert filled.get(f"/resource_providers/{ROOT}").status_code == 200
    assert filled.put("/traits/CUSTOM_NEW").status_code == 503
    assert filled.put("/traits/CUSTOM_NEW").status_code == 201
