"""Names in two spellings: equal under MariaDB's default collation, different elsewhere."""

import types

import pytest

from placement.storage.database import engine
from tests.functional.placement.small_cloud import ROOT, expect, holding, numbered, stock

PATH = f"/resource_providers/{ROOT}"
LOWER, UPPER = numbered("b", 1), numbered("b", 1).upper()
HOLDER = "c0000000-0000-4000-8000-00000000000a"


@pytest.fixture
def spellings(database_kind):
    """Return how many names `a` and `A` are."""
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


def test_a_name_exists_in_all_spellings_that_are_equal_to_the_database(service, spellings):
    expect(service.post("/resource_providers", {"name": "alpha"}), 200)
    second = service.post("/resource_providers", {"name": "Alpha"})
    assert second.status_code == (409 if spellings == 1 else 200)


def test_a_provider_gets_another_spelling_of_its_own_name(stocked):
    expect(stocked.put(PATH, {"name": "Root"}), 200)
    assert stocked.get(PATH).json["name"] == "Root"


def tree(service, **names):
    """Write a tree whose new children have these names."""
    children = {
        numbered("a", number): {
            "generation": None,
            "name": name,
            "parent_provider_uuid": ROOT,
        }
        for number, name in enumerate(names.values(), 10)
    }
    return service.put(f"/berth/v1/provider_trees/{ROOT}", {"providers": children})


@pytest.mark.parametrize("other", ["Alpha", "alpha ", "älpha"], ids=["case", "space", "accent"])
def test_two_names_of_one_tree_are_compared_as_the_database_does(stocked, spellings, other):
    answer = tree(stocked, one="beta", two="alpha", three=other, four="größe")
    if spellings == 2:
        expect(answer, 200)
    else:
        error = expect(answer, 409).json["errors"][0]
        assert error["code"] == "placement.duplicate_name"
        assert f"name: {other} already" in error["detail"]
        assert len(stocked.get("/resource_providers").json["resource_providers"]) == 1


def test_names_are_swapped_in_other_spellings(stocked):
    expect(tree(stocked, one="alpha", two="beta"), 200)
    swapped = {
        numbered("a", 10): {"generation": 0, "name": "BETA"},
        numbered("a", 11): {"generation": 0, "name": "ALPHA"},
    }
    expect(stocked.put(f"/berth/v1/provider_trees/{ROOT}", {"providers": swapped}), 200)
    assert stocked.get(f"/resource_providers/{numbered('a', 10)}").json["name"] == "BETA"


def test_two_spellings_of_a_new_aggregate_are_as_many_as_the_database_says(stocked, spellings):
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
def test_two_spellings_are_one_project_if_the_database_says_so(stocked, spellings, other):
    for number, project in enumerate(("p", other, "p", other)):
        wanted = holding({ROOT: {"VCPU": 1}}, project=project)
        expect(stocked.put(f"/allocations/{numbered('c', number)}", wanted), 204)
    assert len(stocked.ask("SELECT id FROM projects")) == spellings


def test_spellings_of_a_new_project_in_one_request_are_as_many_as_the_database_says(
    stocked, spellings
):
    body = {
        numbered("c", number): holding({ROOT: {"VCPU": 1}}, project=project)
        for number, project in enumerate(("p", "P"))
    }
    expect(stocked.post("/allocations", body), 204)
    assert len(stocked.ask("SELECT id FROM projects")) == spellings


def test_a_consumer_is_found_in_all_spellings_that_are_equal_to_the_database(stocked, spellings):
    expect(stocked.post("/allocations", {HOLDER: holding({ROOT: {"VCPU": 1}})}), 204)
    generation = 1 if spellings == 1 else None
    body = {HOLDER.upper(): holding({ROOT: {"VCPU": 2}}, generation)}
    expect(stocked.post("/allocations", body), 204)
    held = [row[0] for row in stocked.ask("SELECT used FROM allocations ORDER BY used")]
    assert held == ([2] if spellings == 1 else [1, 2])


@pytest.fixture
def impatient(monkeypatch):
    """Fail if the service tries a write a second time."""

    def refuse(*_):
        raise AssertionError("tried again")

    # the module itself serves threads that retry nothing, such as that of the audits
    monkeypatch.setattr(engine, "random", types.SimpleNamespace(uniform=refuse))


@pytest.mark.parametrize(
    ("minor", "given", "told"),
    [
        (39, None, "expected 0 but got None"),
        (28, None, "expected 0 but got None"),
        (39, 0, "expected null but got 0"),
        (27, None, "expected 0 but got None"),
    ],
)
def test_a_new_consumer_in_two_equal_spellings_is_rejected_without_a_retry(
    stocked, spellings, impatient, minor, given, told
):
    body = {
        uuid: as_of(minor, holding({ROOT: {"VCPU": 1}}, generation))
        for uuid, generation in (
            (HOLDER, None),
            (HOLDER.upper(), given if spellings == 1 else None),
        )
    }
    before = stocked.tables()
    answer = stocked.post("/allocations", body, version=f"1.{minor}")

    assert answer.status_code == (409 if spellings == 1 else 204)
    if spellings == 1:
        assert f"consumer generation conflict - {told}" in answer.text
        assert stocked.tables() == before


@pytest.mark.parametrize("amount", [0, 2])
@pytest.mark.parametrize(
    ("spelling", "given", "told"),
    [
        (HOLDER, None, "expected 1 but got None"),
        (HOLDER, 1, "expected null but got 1"),
        (HOLDER.replace("c", "C"), 1, "expected 2 but got 1"),
    ],
)
def test_a_consumer_in_two_equal_spellings_is_rejected_without_a_retry(
    stocked, spellings, impatient, amount, spelling, given, told
):
    expect(stocked.put(f"/allocations/{HOLDER}", holding({ROOT: {"VCPU": 1}})), 204)
    first = 1 if spellings == 1 or spelling == HOLDER else None
    body = {
        spelling: holding({ROOT: {"VCPU": amount}} if amount else {}, first),
        HOLDER.upper(): holding({ROOT: {"VCPU": 2}}, given if spellings == 1 else None),
    }
    answer = stocked.post("/allocations", body)

    assert answer.status_code == (409 if spellings == 1 else 204)
    if spellings == 1:
        assert f"consumer generation conflict - {told}" in answer.text


def as_of(minor, body):
    """Return the body for a consumer's allocations, in the form of an older version."""
    since = {"consumer_generation": 28, "consumer_type": 38}
    return {key: value for key, value in body.items() if since.get(key, 0) <= minor}
