"""Errors that aren't the caller's fault (rest-api.md 1.12, architecture.rst D3)."""

import contextlib
import copy
import re
import sqlite3
from unittest import mock

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    StatementError,
)

from placement.storage.database import engine
from placement.storage.database.engine import Database
from tests.functional.placement.small_cloud import NEW, ROOT, fill, holding
from tests.unit.placement.storage.driver.test_dialects import Origin

pytestmark = pytest.mark.spread_over_databases


@contextlib.contextmanager
def trouble(times, error, words):
    """Make so many statements that contain these words fail.

    A question that goes to the driver outside of a transaction fails each time: it is repeated.
    """
    left = iter([error] * times)
    rows = Database._rows

    def fail_at_the_driver(database, driver, select, values):
        if words in str(select.statement):
            raise error
        return rows(database, driver, select, values)

    def fail(connection, cursor, statement, parameters, context, executemany):
        if words in statement:
            failure = next(left, None)
            if failure is not None:
                raise failure

    event.listen(sa.Engine, "before_cursor_execute", fail)
    try:
        with mock.patch.object(Database, "_rows", fail_at_the_driver):
            yield
    finally:
        event.remove(sa.Engine, "before_cursor_execute", fail)


LOCKED = OperationalError("INSERT", {}, sqlite3.OperationalError("database is locked"))
LAST_STATEMENT = "INSERT INTO berth_provider_changes"


@pytest.fixture
def troubled(filled):
    """Return the filled service, whose responses may be 500."""
    return filled.unjudged()


@pytest.fixture
def troubled_only(unchanging):
    """Return the filled service of all tests in which nothing but errors happens."""
    return copy.copy(unchanging).unjudged()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(engine, "LONGEST_PAUSE", 0)


def test_a_client_does_not_notice_a_short_lock(filled):
    with trouble(engine.TRIES - 1, LOCKED, LAST_STATEMENT):
        answer = filled.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))
    assert answer.status_code == 204
    now = filled.get(f"/allocations/{NEW}").json
    assert (now["consumer_generation"], now["allocations"][ROOT]["generation"]) == (1, 6)


def test_a_lock_that_stays_is_a_conflict_and_changes_nothing(filled):
    before = filled.tables()
    with trouble(engine.TRIES, LOCKED, LAST_STATEMENT):
        answer = filled.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))
    assert answer.status_code == 409
    assert answer.json["errors"][0]["code"] == "placement.concurrent_update"
    assert filled.tables() == before


UNEXPECTED = KeyError("a <b>secret</b> of the code")


def test_an_unexpected_error_is_a_500_in_the_usual_form(troubled_only):
    with trouble(1, UNEXPECTED, "FROM resource_providers"):
        answer = troubled_only.get(f"/resource_providers/{ROOT}/inventories")
    error = answer.json["errors"][0]
    assert (answer.status_code, error["status"], error["code"]) == (
        500,
        500,
        "placement.undefined_code",
    )
    assert error["request_id"] == answer.headers["x-openstack-request-id"]


def test_an_unexpected_error_names_no_version(troubled_only):
    with trouble(1, UNEXPECTED, "FROM resource_providers"):
        answer = troubled_only.get(f"/resource_providers/{ROOT}/inventories")
    assert {"openstack-api-version", "vary"} & set(map(str.lower, answer.headers.keys())) == set()


def test_an_unexpected_error_is_logged_with_its_traceback(troubled_only, caplog):
    with trouble(1, UNEXPECTED, "FROM resource_providers"):
        answer = troubled_only.get(f"/resource_providers/{ROOT}/inventories")
    assert "Traceback" in caplog.text
    assert "Traceback" not in answer.text


SAID = 'near "SELECT s3cr3t FROM hidden": syntax error'
DATABASE_ERRORS = {
    kind.__name__: kind("SELECT s3cr3t FROM hidden", {"name": "s3cr3t"}, sqlite3.Error(SAID))
    for kind in (
        DatabaseError,
        IntegrityError,
        InterfaceError,
        InternalError,
        NotSupportedError,
        OperationalError,
        ProgrammingError,
    )
} | {"sqlite3.Error": sqlite3.Error(SAID), "raised from one": KeyError("a name")}
DATABASE_ERRORS["StatementError"] = StatementError(SAID, "SELECT s3cr3t", {}, ValueError(SAID))
DATABASE_ERRORS["raised from one"].__cause__ = DATABASE_ERRORS["OperationalError"]
REQUESTS = {
    "a read": lambda service: service.get(f"/resource_providers/{ROOT}/inventories"),
    "a search": lambda service: service.get("/allocation_candidates?resources=VCPU:1"),
    "a write": lambda service: service.put(f"/resource_providers/{ROOT}", {"name": "s3cr3t"}),
}


@pytest.mark.parametrize("error", DATABASE_ERRORS.values(), ids=DATABASE_ERRORS)
@pytest.mark.parametrize("request_of", REQUESTS.values(), ids=REQUESTS)
def test_no_error_of_the_database_shows_a_statement_or_its_values(
    troubled_only, caplog, error, request_of
):
    with trouble(100, error, "FROM resource_providers"):
        answer = request_of(troubled_only)
    told = answer.text + caplog.text
    assert answer.status_code == 500
    assert not {"SELECT", "FROM", "hidden", "s3cr3t"} & set(re.findall(r"\w+", told)), told
    assert type(error).__name__ in caplog.text
    assert "dispatch.py" in caplog.text


def test_the_error_of_a_missing_table_shows_no_statement_either(troubled, caplog):
    with troubled.database.engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE resource_provider_traits"))
    answer = troubled.get(f"/resource_providers/{ROOT}/traits")
    assert answer.status_code == 500
    assert "SELECT" not in answer.text + caplog.text


CANCELED = {
    "sqlite": Origin("interrupted", sqlite_errorname="SQLITE_INTERRUPT"),
    "postgresql": Origin("canceling statement due to statement timeout", sqlstate="57014"),
    "mariadb": Origin(1969, "Query execution was interrupted (max_statement_time exceeded)"),
    "mysql": Origin(3024, "Query execution was interrupted, maximum time exceeded"),
}


@pytest.mark.parametrize("origin", CANCELED.values(), ids=CANCELED)
@pytest.mark.parametrize("request_of", REQUESTS.values(), ids=REQUESTS)
def test_a_statement_that_the_database_always_cancels_is_unavailable(
    troubled_only, origin, request_of
):
    before = troubled_only.tables()
    error = OperationalError("SELECT s3cr3t FROM hidden", {}, origin)
    with trouble(100, error, "FROM resource_providers"):
        answer = request_of(troubled_only)
    assert (answer.status_code, troubled_only.tables()) == (503, before)
    assert "The database is not available. Nothing was changed." in answer.text


def test_a_client_does_not_notice_a_statement_that_is_cancelled_once(filled):
    error = OperationalError("SELECT 1", {}, CANCELED["postgresql"])
    with trouble(1, error, LAST_STATEMENT):
        answer = filled.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))
    assert answer.status_code == 204


def test_an_unexpected_error_in_a_write_changes_nothing(troubled):
    before = troubled.tables()
    with trouble(1, UNEXPECTED, LAST_STATEMENT):
        answer = troubled.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))
    assert (answer.status_code, troubled.tables()) == (500, before)


def test_the_next_request_succeeds(troubled):
    with trouble(1, UNEXPECTED, LAST_STATEMENT):
        troubled.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}}))
    assert troubled.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}})).status_code == 204


def test_two_services_with_two_databases_are_independent(new_service):
    first, second = new_service(), new_service()
    fill(first)
    assert second.get("/resource_providers").json == {"resource_providers": []}
