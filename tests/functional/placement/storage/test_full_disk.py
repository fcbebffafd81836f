"""A full disk is reported, and leaves no partial write.

On SQLite only: servers have their own disks. Their errors are in
`tests/unit/placement/storage/driver/test_outages.py`.
"""

import contextlib

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from tests.functional.placement.small_cloud import NEW, ROOT, holding


@contextlib.contextmanager
def full(service):
    """Prevent the SQLite file from growing in this block."""

    def bound(connection, record):
        connection.execute("PRAGMA max_page_count = 1")

    database = service.database.engine
    database.dispose()
    event.listen(database, "connect", bound)
    try:
        yield
    finally:
        event.remove(database, "connect", bound)
        database.dispose()


@pytest.fixture
def database_kind():
    """Return SQLite only."""
    return "sqlite"


@pytest.fixture
def filled(filled):
    """Return the filled service, whose responses may be 507."""
    return filled.unjudged()


def fill_up(service):
    """Create providers until one fails; return its response and the tables from before it."""
    for number in range(1000):
        before = service.tables()
        answer = service.post("/resource_providers", {"name": f"{number:0200}"})
        if answer.status_code != 200:
            return answer, before
    raise AssertionError("1000 providers found room")


def test_a_full_disk_is_reported_and_leaves_no_partial_write(filled):
    with full(filled):
        answer, before = fill_up(filled)
        after = filled.tables()
    assert (answer.status_code, after) == (507, before)
    assert answer.json["errors"][0]["title"] == "Insufficient Storage"
    assert "The database has no space left. Nothing was changed." in answer.text


def test_reads_work_on_a_full_disk(filled):
    with full(filled):
        fill_up(filled)
        assert filled.get(f"/resource_providers/{ROOT}").status_code == 200
        assert filled.get("/allocation_candidates?resources=VCPU:1").status_code == 200


def test_writes_work_again_once_there_is_space(filled):
    with full(filled):
        fill_up(filled)
    assert filled.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}})).status_code == 204
    with filled.database.engine.connect() as connection:
        assert connection.execute(sa.text("PRAGMA integrity_check")).scalar() == "ok"
