"""Statements that MariaDB gets in one message."""

import contextlib
import datetime
import importlib
from decimal import Decimal

import pytest

from placement.storage.driver import mysql_driver as batches
from placement.storage.driver.drivers import failed_statement
from placement.storage.driver.message_answers import connection_class
from tests.databases.questions import ask
from tests.extras import needed_library
from tests.faults.running import eventually
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import EMPTY, HOLDER, NEW, ROOT, expect, fill, holding

needed_library("pymysql", "mysql")
pymysql = importlib.import_module("pymysql")

VCPU = {ROOT: {"VCPU": 1}}
MOMENT = datetime.datetime(2026, 2, 3, 4, 5, 6, 7)


@pytest.fixture(params=["mariadb"])
def database_kind(request):
    return request.param


@pytest.fixture
def service(service):
    fill(service.unjudged())
    return service


@pytest.fixture
def session(service):
    with contextlib.closing(service.database.engine.raw_connection()) as connection:
        yield connection.driver_connection


def found(session, *texts):
    return [one.fetchall() for one in batches.run(session, [(text, (), False) for text in texts])]


def test_all_kinds_of_values_arrive(session):
    long, longer = "é" * 200, "x" * 70_000
    values = (-5, "100% \\ ' \0;", "", None, long, longer, 0.5, MOMENT, True)
    text = "SELECT %s, %s, %s, %s, %s, %s, %s, CAST(%s AS DATETIME(6)), %s"
    (row,) = batches.run(session, [(text, values, False), ("BEGIN", (), False)])[0].fetchall()
    assert row == values
    ((row,),) = found(session, "SELECT 1.5, X'00ff', CAST(7 AS UNSIGNED), DATE '2026-02-03'")
    assert row == (Decimal("1.5"), b"\x00\xff", 7, MOMENT.date())


def test_what_pymysql_reads_is_read(session):
    with session.cursor() as cursor:
        for table in ("traits", "resource_providers", "allocations", "inventories"):
            cursor.execute(f"SELECT * FROM {table}")
            assert cursor.rowcount
            ((rows),) = found(session, f"SELECT * FROM {table}")
            assert rows == list(cursor.fetchall())


def test_each_statement_has_its_own_answer(session):
    more_than_a_byte_counts = "SELECT 1" + " UNION ALL SELECT 1" * 300
    rows = found(session, "SELECT 1", "SELECT 2 LIMIT 0", "BEGIN", more_than_a_byte_counts)
    assert rows == [[(1,)], [], [], [(1,)] * 301]


@pytest.mark.parametrize(("place", "stopped"), [(0, True), (1, True), (2, False)])
def test_none_is_run_after_the_first_that_fails(session, place, stopped):
    texts = ["SELECT 1", "SELECT 2", "SELECT 3"]
    texts[place] = "SELECT nothing"
    with pytest.raises(pymysql.OperationalError) as failed:
        found(session, *texts)
    assert failed_statement(failed.value) == ("SELECT nothing", stopped)
    # the session goes on
    assert found(session, "SELECT 4") == [[(4,)]]


def test_one_that_fails_while_it_finds_rows_has_failed(session):
    text = "SELECT 1 UNION ALL SELECT (SELECT 1 UNION ALL SELECT seq FROM seq_1_to_2)"
    with pytest.raises(pymysql.OperationalError) as failed:
        found(session, text, "SELECT 2")
    assert failed.value.args[0] == 1242
    assert failed_statement(failed.value) == (text, True)


def test_many_values_go_in_messages_of_their_own(session, monkeypatch, messages):
    monkeypatch.setattr(batches, "_MOST_VALUES", 3)
    messages.clear()
    calls = [("SELECT %s IN %s", (1, (1, 2, 3)), False), ("SELECT %s", (5,), False)]
    assert [one.fetchall() for one in batches.run(session, calls)] == [[(1,)], [(5,)]]
    assert len(messages) == 2


def test_a_session_that_takes_one_statement_at_a_time_gets_no_more(
    database_url, monkeypatch, messages
):
    monkeypatch.setattr("placement.storage.driver.dialects.MULTI_STATEMENTS", 0)
    service = Service(database_url)
    fill(service)
    messages.clear()
    expect(service.put(f"/allocations/{NEW}", holding(VCPU)), 204)
    assert len(messages) > 10
    assert messages[-1] == "COMMIT"


def test_it_serves_in_the_sql_mode_of_another_database(new_database):
    service = Service(new_database(empty=True), placement_database__mysql_sql_mode="ORACLE")
    fill(service)
    assert service.get(f"/allocations/{HOLDER}").json["consumer_generation"] == 2


@pytest.mark.parametrize("mode", ["", "NO_BACKSLASH_ESCAPES"])
def test_nobody_ends_a_text_in_a_list(session, mode):
    """Neither in a message of several statements, nor with a cursor of PyMySQL before 1.2."""
    text = "x'); SELECT 1; -- \\'"
    with session.cursor() as cursor:
        cursor.execute("SET SESSION sql_mode = %s", (mode,))
        cursor.execute("SELECT %s IN %s", (text, (text,)))
        assert cursor.fetchall() == ((1,),)
        assert not cursor.nextset()
    one = batches.run(session, [("SELECT %s IN %s", (text, (text,)), False)])[0]
    assert one.fetchall() == [(1,)]


def test_a_connection_that_ended_between_the_messages_is_not_noticed(service, monkeypatch):
    ending(monkeypatch, service)
    expect(service.put(f"/allocations/{NEW}", holding(VCPU)), 204)
    assert service.get(f"/allocations/{NEW}").json["consumer_generation"] == 1


@pytest.mark.parametrize("stored", [True, False])
def test_a_connection_that_is_lost_with_the_commit_is_told_unless_the_write_may_run_again(
    service, monkeypatch, stored
):
    losing(monkeypatch, stored)
    expect(service.put(f"/allocations/{NEW}", holding(VCPU)), 204)
    assert service.get(f"/allocations/{NEW}").json["consumer_generation"] == 1
    losing(monkeypatch, stored)
    answer = expect(service.put(f"/allocations/{HOLDER}", holding(VCPU, 2)), 503)
    assert "It may or may not have happened." in answer.json["errors"][0]["detail"]
    assert service.get(f"/allocations/{HOLDER}").json["consumer_generation"] == 2 + stored
    losing(monkeypatch, stored)
    traits = {"traits": ["HW_CPU_X86_AVX2"], "resource_provider_generation": 0}
    expect(service.put(f"/resource_providers/{EMPTY}/traits", traits), 503 if stored else 200)
    assert service.get(f"/resource_providers/{EMPTY}").json["generation"] == 1


def losing(monkeypatch, stored):
    """Let the next message with COMMIT be lost with the connection: it is stored, or not."""
    connections = connection_class()
    send = connections.answers

    def lose(connection, text):
        if not text.endswith(b"COMMIT"):
            return send(connection, text)
        monkeypatch.setattr(connections, "answers", send)
        if stored:
            list(send(connection, text))
        connection._force_close()
        raise pymysql.OperationalError(2013, "the connection was lost")

    monkeypatch.setattr(connections, "answers", lose)


def ending(monkeypatch, service):
    """Let the server end the session before the next message that would end with COMMIT."""
    asked = batches.is_heard

    def end(connection):
        monkeypatch.setattr(batches, "is_heard", asked)
        ask(service.url, f"KILL {connection.thread_id()}")
        eventually(lambda: asked(connection))
        return True

    monkeypatch.setattr(batches, "is_heard", end)
