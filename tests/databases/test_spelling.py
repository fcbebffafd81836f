"""Names in two spellings: one name under MariaDB's usual collation, two elsewhere."""

import pytest

from tests.functional.placement.cloud import ROOT, expect, holding, numbered, stock

PATH = f"/resource_providers/{ROOT}"
LOWER, UPPER = numbered("b", 1), numbered("b", 1).upper()
HOLDER = "c0000000-0000-4000-8000-00000000000a"


@pytest.fixture
def spellings(database_kind):
    """How many names `a` and `A` are."""
    return 1 if database_kind == "mariadb" else 2


@pytest.fixture
def stocked(service):
    expect(service.post("/resource_providers", {"name": "root", "uuid": ROOT}), 200)
    expect(service.put(f"{PATH}/inventories", stock(0, VCPU=8)), 200)
    return service


def aggregates_of(service, generation, *uuids):
    body = {"aggregates": list(uuids), "resource_provider_generation": generation}
    expect(service.put(f"{PATH}/aggregates", body), 200)
    return service.get(f"{PATH}/aggregates").json["aggregates"]


def test_a_name_is_taken_in_the_spellings_that_the_database_holds_for_one(service, spellings):
    expect(service.post("/resource_providers", {"name": "alpha"}), 200)
    second = service.post("/resource_providers", {"name": "Alpha"})
    assert second.status_code == (409 if spellings == 1 else 200)


def test_two_new_aggregates_are_as_many_as_the_database_says(stocked, spellings):
    assert len(aggregates_of(stocked, 1, LOWER, UPPER)) == spellings


def test_an_aggregate_is_found_in_another_spelling(stocked, spellings):
    aggregates_of(stocked, 1, LOWER)
    assert len(aggregates_of(stocked, 2, UPPER)) == 1
    assert len(stocked.ask("SELECT id FROM placement_aggregates")) == spellings


def test_members_are_listed_in_the_spellings_of_their_aggregate(stocked, spellings):
    aggregates_of(stocked, 1, LOWER)
    found = stocked.get(f"/resource_providers?member_of={UPPER}").json["resource_providers"]
    assert len(found) == (1 if spellings == 1 else 0)


@pytest.mark.parametrize("other", ["P", "p "], ids=["case", "space"])
def test_projects_are_one_if_the_database_says_so(stocked, spellings, other):
    for number, project in enumerate(("p", other, "p", other)):
        wanted = holding({ROOT: {"VCPU": 1}}, project=project)
        expect(stocked.put(f"/allocations/{numbered('c', number)}", wanted), 204)
    assert len(stocked.ask("SELECT id FROM projects")) == spellings


def test_two_new_projects_in_one_request_are_as_many_as_the_database_says(stocked, spellings):
    body = {
        numbered("c", number): holding({ROOT: {"VCPU": 1}}, project=project)
        for number, project in enumerate(("p", "P"))
    }
    expect(stocked.post("/allocations", body), 204)
    assert len(stocked.ask("SELECT id FROM projects")) == spellings


def test_a_consumer_is_one_in_the_spellings_that_the_database_holds_for_one(stocked, spellings):
    expect(stocked.post("/allocations", {HOLDER: holding({ROOT: {"VCPU": 1}})}), 204)
    generation = 1 if spellings == 1 else None
    body = {HOLDER.upper(): holding({ROOT: {"VCPU": 2}}, generation)}
    expect(stocked.post("/allocations", body), 204)
    held = [row[0] for row in stocked.ask("SELECT used FROM allocations ORDER BY used")]
    assert held == ([2] if spellings == 1 else [1, 2])


def test_a_consumer_in_two_spellings_is_refused_where_it_is_one(stocked, spellings):
    body = {uuid: holding({ROOT: {"VCPU": 1}}) for uuid in (HOLDER, HOLDER.upper())}
    answer = stocked.post("/allocations", body)
    assert answer.status_code == (409 if spellings == 1 else 204)
