"""A generation has the last value of its column: the next write says so and changes nothing.

SQLite's numbers have 64 bits. There the generation goes on, as OpenStack Placement's does.
"""

import pytest
import sqlalchemy as sa

from tests.databases.questions import connected
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import HOLDER, NEW, ROOT, fill, holding, stock

LAST = 2**31 - 1
PROVIDER = f"/resource_providers/{ROOT}"
VCPU = {ROOT: {"VCPU": 1}}
TRAITS = {"traits": ["HW_CPU_X86_AVX2"], "resource_provider_generation": LAST}
#: whose generation is the last one, what is written, and with which answer if it is stored
WRITES = {
    "a claim": ("resource_providers", f"/allocations/{NEW}", holding(VCPU), 204),
    "a consumer": ("consumers", f"/allocations/{HOLDER}", holding(VCPU, LAST), 204),
    "inventories": (
        "resource_providers",
        f"{PROVIDER}/inventories",
        stock(LAST, VCPU=9, DISK_GB=100, CUSTOM_A=4),
        200,
    ),
    "traits": ("resource_providers", f"{PROVIDER}/traits", TRAITS, 200),
}


@pytest.mark.parametrize(("table", "path", "body", "status"), WRITES.values(), ids=WRITES)
def test_a_write_after_the_last_one(database_url, database_kind, table, path, body, status):
    service = Service(database_url).unjudged()
    fill(service)
    with connected(database_url) as connection:
        connection.execute(sa.text(f"UPDATE {table} SET generation = {LAST}"))
        connection.commit()
    before = service.tables()
    answer = service.put(path, body)
    if database_kind == "sqlite":
        assert answer.status_code == status, answer.text
        return
    assert answer.status_code == 507, answer.text
    assert "is 2147483647, the last number that the database has" in answer.text
    assert service.tables() == before
