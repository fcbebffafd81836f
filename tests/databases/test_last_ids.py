"""A table has no number left for a new row: this is said, and the documented statements mend it."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from placement.storage.schema import schema_upgrade
from tests.databases.fixtures import only
from tests.databases.questions import connected
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import EMPTY, ROOT, expect, fill, holding, numbered

PAGE = Path(__file__).parents[2] / "doc/databases.rst"
LAST = 2**31 - 1
#: what makes a number the next one of a table
NEXT = {
    "postgresql": "SELECT setval('{table}_id_seq', {number}, false)",
    "mariadb": "ALTER TABLE {table} AUTO_INCREMENT = {number}",
}
CLASSES = ("PCPU", "VCPU", "MEMORY_MB")


#: kinds whose numbers end; those of SQLite have 64 bits
database_kind = only("postgresql", "mariadb")


@pytest.fixture
def service(service):
    fill(service.unjudged())
    return service


def claim(service, number, **owner):
    return service.put(
        f"/allocations/{numbered('9', number)}", holding({ROOT: {"VCPU": 1}}, **owner)
    )


def add_inventory(service, number):
    stock = {"resource_class": CLASSES[number], "total": 1, "resource_provider_generation": number}
    return service.post(f"/resource_providers/{EMPTY}/inventories", stock)


#: writes that need a number of a table, by the table
WRITES = {
    "allocations": claim,
    "consumers": claim,
    "projects": lambda service, number: claim(service, number, project=f"new{number}"),
    "users": lambda service, number: claim(service, number, user=f"new{number}"),
    "inventories": add_inventory,
    "resource_providers": lambda service, number: service.post(
        "/resource_providers", {"name": f"new{number}"}
    ),
    "traits": lambda service, number: service.put(f"/traits/CUSTOM_NEW{number}"),
    "placement_aggregates": lambda service, number: service.put(
        f"/resource_providers/{EMPTY}/aggregates",
        {"aggregates": [numbered("b", 5 + number)], "resource_provider_generation": number},
    ),
}


def change(url, *statements):
    with connected(url) as connection:
        for statement in statements:
            connection.execute(sa.text(statement))
        connection.commit()


def use_up(url, kind, *tables):
    """Make the last number the next one."""
    change(url, *(NEXT[kind].format(table=table, number=LAST) for table in tables))


def documented(kind):
    """Return the statements of the page that make ids longer."""
    page = PAGE.read_text().partition("When ids are used up")[2]
    block = page.partition({"postgresql": "PostgreSQL::", "mariadb": "MySQL::"}[kind])[2]
    return [line.strip(" ;") for line in block.split("\n\n")[1].splitlines()]


@pytest.mark.spread_over_databases("postgresql", "mariadb")
@pytest.mark.parametrize("table", WRITES)
def test_a_write_that_needs_one_says_so_and_changes_nothing(
    service, database_url, database_kind, table
):
    use_up(database_url, database_kind, table)
    assert WRITES[table](service, 0).status_code < 300
    before = service.tables()
    answer = WRITES[table](service, 1)
    assert answer.status_code == 507, answer.text
    assert "has no number left for a new row. Nothing was changed." in answer.text
    assert service.tables() == before
    assert service.get("/allocation_candidates?resources=VCPU:1").status_code == 200


@pytest.mark.parametrize("write", [claim, add_inventory])
def test_a_write_that_needs_a_place_in_the_change_feed_says_so_too(service, database_url, write):
    change(database_url, f"UPDATE berth_change_lanes SET position = {2**63 - 1}")
    answer = write(service, 0)
    assert answer.status_code == 507, answer.text
    assert "has no number left for a new row. Nothing was changed." in answer.text


def test_a_class_beyond_the_last_one_says_so_until_that_is_deleted(service, database_url):
    """The next id is one more than the highest."""
    row = f"INSERT INTO resource_classes (id, name) VALUES ({LAST}, 'CUSTOM_LAST')"
    change(database_url, row)
    answer = service.put("/resource_classes/CUSTOM_NEXT")
    assert answer.status_code == 507, answer.text
    assert "has no number left for a new row. Nothing was changed." in answer.text
    expect(service.delete("/resource_classes/CUSTOM_LAST"), 204)
    expect(service.put("/resource_classes/CUSTOM_NEXT"), 201)


def test_the_documented_statements_mend_it(service, database_url, database_kind):
    use_up(database_url, database_kind, "allocations", "consumers", "inventories")
    for write in (claim, add_inventory):
        expect(write(service, 0), 204 if write is claim else 201)
    change(database_url, *documented(database_kind))
    # what runs goes on, and what is started takes the tables for its own
    for number, each in enumerate((service, Service(database_url)), 1):
        expect(claim(each, number), 204)
        expect(add_inventory(each, number), 201)
        expect(each.get(f"/allocations/{numbered('9', number)}"), 200)
    schema_upgrade.sync(service.database)
