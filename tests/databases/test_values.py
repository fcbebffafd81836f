"""Limits that SQLite doesn't have: lengths, ranges, characters, precision of ratios."""

import pytest

from placement.candidates.live import loading
from placement.candidates.live.comparison import differences
from placement.storage.database.engine import Database, DatabaseSettings
from tests.functional.placement.small_cloud import HOLDER, ROOT, expect, holding, numbered, stock

PATH = f"/resource_providers/{ROOT}"
MOST = 2**31 - 1


@pytest.fixture
def provider(service):
    expect(service.post("/resource_providers", {"name": "root", "uuid": ROOT}), 200)
    return service


def with_ratio(ratio, total=10, generation=0, **more):
    inventory = {"total": total, "allocation_ratio": ratio} | more
    return {"inventories": {"VCPU": inventory}, "resource_provider_generation": generation}


@pytest.mark.parametrize(
    "name", ["zażółć", "名前", "🐧" * 200, "a'b\"c`d\\e%f_g", " padded"], ids=ascii
)
def test_names_may_have_any_character(service, name):
    expect(service.post("/resource_providers", {"name": name, "uuid": ROOT}), 200)
    found = service.get("/resource_providers", query_string={"name": name})
    assert [provider["name"] for provider in found.json["resource_providers"]] == [name]


def test_a_character_that_a_database_lacks_is_no_server_error(service):
    made = service.post("/resource_providers", {"name": "a\0b", "uuid": ROOT})
    asked = service.get("/resource_providers?name=a%00b")
    assert {made.status_code, asked.status_code} <= {200, 400}


LONG = "urn:uuid:{b0000000-0000-4000-8000-000000000001}"


def test_a_long_spelling_of_an_aggregate_is_no_server_error(provider, database_kind):
    body = {"aggregates": [LONG], "resource_provider_generation": 0}
    expected = 200 if database_kind == "sqlite" else 400
    assert provider.put(f"{PATH}/aggregates", body).status_code == expected


@pytest.mark.parametrize("field", ["project", "user"])
def test_owners_may_have_names_of_255_characters(provider, field):
    expect(provider.put(f"{PATH}/inventories", stock(0, VCPU=8)), 200)
    wanted = holding({ROOT: {"VCPU": 1}}, **{field: "🐧" * 255})
    assert provider.put(f"/allocations/{HOLDER}", wanted).status_code == 204
    stored = provider.get(f"/allocations/{HOLDER}").json
    assert stored[f"{field}_id"] == "🐧" * 255


def test_a_rejected_value_changes_nothing(provider, database_kind):
    before = provider.tables()
    body = {"aggregates": [numbered("b", 1), LONG], "resource_provider_generation": 0}
    if provider.put(f"{PATH}/aggregates", body).status_code == 400:
        assert provider.tables() == before
    else:
        assert database_kind == "sqlite"


def test_the_largest_amounts_can_be_stored_and_allocated(provider):
    largest = {"reserved": 0, "max_unit": MOST, "min_unit": 1, "step_size": 1}
    expect(provider.put(f"{PATH}/inventories", with_ratio(100.0, MOST, **largest)), 200)
    for number in range(3):
        wanted = holding({ROOT: {"VCPU": MOST}})
        expect(provider.put(f"/allocations/{numbered('c', number)}", wanted), 204)
    usages = provider.get(f"{PATH}/usages").json["usages"]
    totals = provider.get("/usages?project_id=p").json["usages"]["INSTANCE"]
    listed = provider.get(f"/resource_providers?resources=VCPU:{MOST}").json
    offered = provider.get(f"/allocation_candidates?resources=VCPU:{MOST}").json
    assert usages == {"VCPU": 3 * MOST}
    assert totals == {"VCPU": 3 * MOST, "consumer_count": 3}
    assert len(listed["resource_providers"]) == 1
    assert len(offered["allocation_requests"]) == 1


@pytest.mark.parametrize("ratio", [0.7, 1.1, 16.0, 0.1, 1234.56])
def test_a_ratio_has_the_written_value_wherever_it_is_used(provider, ratio):
    expect(provider.put(f"{PATH}/inventories", with_ratio(ratio)), 200)
    shown = provider.get(f"{PATH}/inventories").json["inventories"]["VCPU"]["allocation_ratio"]
    room = int(10 * ratio)
    fits = provider.get(f"/resource_providers?resources=VCPU:{room}").json["resource_providers"]
    over = provider.get(f"/resource_providers?resources=VCPU:{room + 1}").json["resource_providers"]
    claimed = provider.put(f"/allocations/{HOLDER}", holding({ROOT: {"VCPU": room}}))
    assert (shown, len(fits), len(over), claimed.status_code) == (ratio, 1, 0, 204)


def test_a_snapshot_has_the_sums_of_the_tables(provider):
    for number, ratio in enumerate((0.7, 1.1, 1.3, 1234.56)):
        uuid = numbered("d", number)
        expect(provider.post("/resource_providers", {"name": uuid, "uuid": uuid}), 200)
        path = f"/resource_providers/{uuid}/inventories"
        expect(provider.put(path, with_ratio(ratio, MOST)), 200)
    database = Database(DatabaseSettings(provider.url))
    snapshot = database.read(loading.load)
    found = database.read(lambda connection: differences(connection, snapshot))
    database.close()
    assert found == []
