"""Trouble that no caller is to blame for (rest-api.md 1.12, DESIGN D3)."""

import contextlib
import sqlite3

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from placement.storage import engine
from tests.functional.placement.cloud import NEW, ROOT, fill, holding


@contextlib.contextmanager
def trouble(times, error, words):
    """Let so many statements with these words fail."""
    left = iter([error] * times)

    def fail(connection, cursor, statement, parameters, context, executemany):
        if words in statement:
            failure = next(left, None)
            if failure is not None:
                raise failure

    event.listen(sa.Engine, "before_cursor_execute", fail)
    try:
        yield
    finally:
        event.remove(sa.Engine, "before_cursor_execute", fail)


LOCKED = OperationalError("INSERT", {}, sqlite3.OperationalError("database is locked"))
LAST_STATEMENT = "INSERT INTO berth_provider_changes"


@pytest.fixture
def troubled(filled):
    """The filled service, its answers unjudged: everywhere else a 500 fails the test."""
    return filled.unjudged()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(engine, "LONGEST_PAUSE", 0)


def test_a_lock_that_goes_away_is_not_noticed(filled):
    with trouble(engine.TRIES - 1, LOCKED, LAST_STATEMENT):
        answer = filled.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))
    assert answer.status_code == 204
    now = filled.get(f"/allocations/{NEW}").json
    assert (now["consumer_generation"], now["allocations"][ROOT]["generation"]) == (1, 6)


def test_a_lock_that_stays_is_a_conflict_and_leaves_nothing(filled):
    before = filled.tables()
    with trouble(engine.TRIES, LOCKED, LAST_STATEMENT):
        answer = filled.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))
    assert answer.status_code == 409
    assert answer.json["errors"][0]["code"] == "placement.concurrent_update"
    assert filled.tables() == before


UNEXPECTED = KeyError("a <b>secret</b> of the code")


def test_an_unexpected_error_is_a_500_in_the_usual_form(troubled):
    with trouble(1, UNEXPECTED, "FROM resource_providers"):
        answer = troubled.get(f"/resource_providers/{ROOT}/inventories")
    error = answer.json["errors"][0]
    assert (answer.status_code, error["status"], error["code"]) == (
        500,
        500,
        "placement.undefined_code",
    )
    assert error["request_id"] == answer.headers["x-openstack-request-id"]


def test_an_unexpected_error_names_no_version(troubled):
    with trouble(1, UNEXPECTED, "FROM resource_providers"):
        answer = troubled.get(f"/resource_providers/{ROOT}/inventories")
    assert {"openstack-api-version", "vary"} & set(map(str.lower, answer.headers.keys())) == set()


def test_an_unexpected_error_is_logged_with_its_traceback(troubled, caplog):
    with trouble(1, UNEXPECTED, "FROM resource_providers"):
        answer = troubled.get(f"/resource_providers/{ROOT}/inventories")
    assert "Traceback" in caplog.text
    assert "Traceback" not in answer.text


def test_an_unexpected_error_in_a_write_leaves_nothing(troubled):
    before = troubled.tables()
    with trouble(1, UNEXPECTED, LAST_STATEMENT):
        answer = troubled.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))
    assert (answer.status_code, troubled.tables()) == (500, before)


def test_the_next_request_is_served_as_ever(troubled):
    with trouble(1, UNEXPECTED, LAST_STATEMENT):
        troubled.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))
    assert troubled.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}})).status_code == 204


def test_two_services_with_two_databases_do_not_know_each_other(new_service):
    first, second = new_service(), new_service()
    fill(first)
    assert second.get("/resource_providers").json == {"resource_providers": []}
