"""What is read of one provider, one consumer or one project costs one statement."""

import pytest
import sqlalchemy as sa

from tests.functional.placement import small_cloud
from tests.functional.placement.service import statements
from tests.functional.placement.small_cloud import CHILD, EMPTY, HOLDER, ROOT, UNKNOWN

PARTS = ("", "/inventories", "/inventories/VCPU", "/traits", "/aggregates", "/usages")
PROVIDERS = [f"/resource_providers/{ROOT}{part}" for part in (*PARTS, "/allocations")]
#: a provider without any rows in the joined tables, and names that nobody has
NOTHING = [
    *(f"/resource_providers/{EMPTY}{part}" for part in PARTS if "VCPU" not in part),
    *(f"/resource_providers/{UNKNOWN}{part}" for part in PARTS),
    f"/allocations/{UNKNOWN}",
    "/usages?project_id=nobody",
]
GONE = f"/resource_providers/{UNKNOWN}"
OTHERS = [f"/allocations/{HOLDER}", "/usages?project_id=p", "/usages?project_id=p&user_id=u"]


@pytest.fixture
def filled(service):
    small_cloud.fill(service)
    return service


def test_one_statement_is_sent_and_nothing_else(filled):
    for path in (*PROVIDERS, *OTHERS, *NOTHING):
        for version in ("1.37", "1.39"):
            before = filled.database.statements
            with statements(filled.database) as by_library:
                response = filled.get(path, version=version)
            assert response.status_code == (404 if path.startswith(GONE) else 200)
            sent = filled.database.statements - before
            # by the driver alone: no transaction has to begin or end
            assert (sent, by_library) == (1, []), (path, version)


def test_the_numbers_are_those_of_all_consumers(filled):
    body = small_cloud.holding({CHILD: {"VGPU": 1}}, user="other", kind="MIGRATION")
    filled.write("PUT", f"/allocations/{small_cloud.NEW}", body)
    by_type = {
        "INSTANCE": {"VCPU": 4, "DISK_GB": 10, "VGPU": 1, "consumer_count": 2},
        "MIGRATION": {"VGPU": 1, "consumer_count": 1},
    }
    path = "/usages?project_id=p"
    assert filled.get(path).json == {"usages": by_type}
    totals = {"VCPU": 4, "DISK_GB": 10, "VGPU": 2}
    assert filled.get(path, version="1.37").json == {"usages": totals}
    assert filled.get(f"{path}&user_id=other").json == {
        "usages": {"MIGRATION": by_type["MIGRATION"]}
    }
    assert filled.get(f"{path}&user_id=other", version="1.9").json == {"usages": {"VGPU": 1}}
    assert filled.get(f"{path}&consumer_type=all").json == {
        "usages": {"all": totals | {"consumer_count": 3}}
    }


def test_rows_without_the_rows_that_they_name_are_left_out(filled):
    path = f"/resource_providers/{ROOT}/allocations"
    assert HOLDER in filled.get(path).json["allocations"]
    # very old data may be like this
    with filled.database.engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM consumers"))
    assert filled.get(path).json["allocations"] == {}
