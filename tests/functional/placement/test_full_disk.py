"""A disk without room: told as that, and nothing half stored.

On SQLite: servers have disks of their own (`tests/unit/placement/storage/test_outages.py` has what
they say).
"""

import contextlib

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from tests.functional.placement.cloud import NEW, ROOT, holding


@contextlib.contextmanager
def full(service):
    """No page can be added to the SQLite file."""

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
    """SQLite alone."""
    return "sqlite"


@pytest.fixture
def filled(filled):
    """The filled service, free to have no room."""
    return filled.unjudged()


def fill_up(service):
    """Create providers until one is refused; give that answer and the tables from before it."""
    for number in range(1000):
        before = service.tables()
        answer = service.post("/resource_providers", {"name": f"{number:0200}"})
        if answer.status_code != 200:
            return answer, before
    raise AssertionError("1000 providers found room")


def test_a_full_disk_is_told_and_leaves_nothing(filled):
    with full(filled):
        answer, before = fill_up(filled)
        after = filled.tables()
    assert (answer.status_code, after) == (507, before)
    assert answer.json["errors"][0]["title"] == "Insufficient Storage"
    assert "The database has no space left. Nothing was changed." in answer.text


def test_on_a_full_disk_reading_goes_on(filled):
    with full(filled):
        fill_up(filled)
        assert filled.get(f"/resource_providers/{ROOT}").status_code == 200
        assert filled.get("/allocation_candidates?resources=VCPU:1").status_code == 200


def test_when_there_is_room_again_writing_goes_on(filled):
    with full(filled):
        fill_up(filled)
    assert filled.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}})).status_code == 204
    with filled.database.engine.connect() as connection:
        assert connection.execute(sa.text("PRAGMA integrity_check")).scalar() == "ok"
