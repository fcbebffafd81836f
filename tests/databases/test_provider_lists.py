"""Long lists of providers, whose JSON is remembered, say what the tables say now."""

import json

import pytest
import sqlalchemy as sa

from placement.domain import uuids
from placement.storage.tables import resource_providers
from tests.functional.placement.service import statements


def add(service, name, parent=None, uuid=None):
    body = {"name": name, "uuid": uuid or uuids.new(), "parent_provider_uuid": parent}
    return service.write("POST", "/resource_providers", body)["uuid"]


def listed(service, query=""):
    """Return the list, which says of each provider what the provider itself says."""
    found = service.get(f"/resource_providers{query}").json["resource_providers"]
    for provider in found:
        assert provider == service.get(f"/resource_providers/{provider['uuid']}").json
    return {provider["name"]: provider for provider in found}


def test_a_list_is_read_by_one_statement_without_the_library(service):
    add(service, "host")
    before = service.database.statements
    with statements(service.database) as by_library:
        service.get("/resource_providers")
    assert (service.database.statements - before, by_library) == (1, [])


@pytest.mark.spread_over_databases
def test_an_empty_list_is_a_list(service):
    assert service.get("/resource_providers").json == {"resource_providers": []}


@pytest.mark.parametrize("number", [1, 127, 128, 129, 256, 257])
def test_pieces_of_a_list_are_joined_to_json(service, number):
    rows = [
        {"uuid": uuids.new(), "name": f"host-{number}", "generation": 0} for number in range(number)
    ]

    def insert(connection):
        connection.execute(sa.insert(resource_providers), rows)
        root = {"root_provider_id": resource_providers.c.id}
        connection.execute(sa.update(resource_providers).values(root))

    service.database.write(insert)
    found = json.loads(service.get("/resource_providers").data)["resource_providers"]
    assert [(each["uuid"], each["name"]) for each in found] == [
        (row["uuid"], row["name"]) for row in rows
    ]


def test_a_change_of_any_part_is_in_the_next_list(service):
    root, other = add(service, "root"), add(service, "other")
    child = add(service, "child", root)
    assert listed(service)["child"]["root_provider_uuid"] == root
    service.write("PUT", f"/resource_providers/{child}", {"name": "renamed"})
    assert set(listed(service)) == {"root", "other", "renamed"}
    moved = {"name": "renamed", "parent_provider_uuid": other}
    service.write("PUT", f"/resource_providers/{child}", moved)
    assert listed(service)["renamed"]["root_provider_uuid"] == other
    stock = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1}}}
    service.write("PUT", f"/resource_providers/{child}/inventories", stock)
    assert listed(service)["renamed"]["generation"] == 1
    service.write("DELETE", f"/resource_providers/{child}")
    assert set(listed(service)) == {"root", "other"}


def test_a_parent_that_comes_back_with_another_uuid_is_shown_with_it(service):
    # SQLite gives the ids of the deleted providers again, and the child is as it was
    child = uuids.new()
    for _ in range(2):
        root = add(service, "root")
        add(service, "child", root, uuid=child)
        assert listed(service)["child"]["parent_provider_uuid"] == root
        for uuid in (child, root):
            service.write("DELETE", f"/resource_providers/{uuid}")


@pytest.mark.parametrize("name", ['100 % "sure"', "%s %d %%", "Zürich\\\n", "雪", "</script>"])
def test_names_are_text_and_nothing_else(service, name):
    uuid = add(service, name)
    assert listed(service)[name]["uuid"] == uuid
    assert listed(service, f"?uuid={uuid}")[name]["uuid"] == uuid


@pytest.mark.spread_over_databases
def test_versions_share_no_form(service):
    add(service, "host")
    for _ in range(2):
        for version, rels in (("1.0", 3), ("1.5", 4), ("1.10", 5), ("1.11", 6), ("1.39", 6)):
            (provider,) = service.get("/resource_providers", version=version).json[
                "resource_providers"
            ]
            assert len(provider["links"]) == rels
            assert ("root_provider_uuid" in provider) == (version == "1.39")


@pytest.mark.parametrize("query", ["", "?in_tree="])
def test_the_newest_change_is_the_time_of_the_list(service, query):
    old, new = add(service, "old"), add(service, "new")
    service.write("PUT", f"/resource_providers/{old}", {"name": "changed"})
    times = {"old": "2020-02-29 23:59:59", "new": "2019-12-31 23:59:59"}

    def set_times(connection):
        for uuid, column, time in (
            (old, "created_at", times["new"]),
            (old, "updated_at", times["old"]),
            (new, "created_at", times["new"]),
            (new, "updated_at", None),
        ):
            connection.execute(
                sa.text(f"UPDATE resource_providers SET {column} = :time WHERE uuid = :uuid"),
                {"time": time, "uuid": uuid},
            )

    service.database.write(set_times)
    query = f"{query}{old}" if query else query
    answer = service.get(f"/resource_providers{query}")
    assert answer.headers["Last-Modified"] == "Sat, 29 Feb 2020 23:59:59 GMT"
