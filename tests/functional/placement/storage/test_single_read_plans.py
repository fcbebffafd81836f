"""A read of one provider finds its rows by index: its cost doesn't grow with the cloud."""

import contextlib
import sqlite3

import pytest
from sqlalchemy import event

from tests.functional.placement import small_cloud
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import ROOT


@pytest.fixture
def service(tmp_path):
    service = Service(f"sqlite:///{tmp_path}/placement.db", berth__snapshot_audit_interval=0)
    small_cloud.fill(service)
    return service


@pytest.mark.parametrize("part", ["inventories", "traits", "aggregates", "usages", "allocations"])
def test_sqlite_scans_no_table_for_what_one_provider_has(service, tmp_path, part):
    sent = []

    def trace(connection, *_):
        connection.set_trace_callback(sent.append)

    event.listen(service.database.engine, "checkout", trace)
    assert service.get(f"/resource_providers/{ROOT}/{part}").status_code == 200
    asked = [text for text in sent if text.startswith("SELECT")]
    assert asked
    with contextlib.closing(sqlite3.connect(tmp_path / "placement.db")) as connection:
        plan = [
            row[3] for text in asked for row in connection.execute(f"EXPLAIN QUERY PLAN {text}")
        ]
    assert [step for step in plan if "SCAN" in step] == []
