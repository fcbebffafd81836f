"""Statements that PostgreSQL gets in one message."""

import contextlib
import datetime
import importlib

import pytest
import sqlalchemy as sa

from placement.errors import LostRace
from placement.storage.database.compiled import Compiled
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.driver.drivers import BATCHES
from placement.storage.driver.postgresql_sessions import LIMITS_LOCKS
from tests.databases.pooler import pooled
from tests.extras import needed_library

needed_library("psycopg", "postgresql")
batches = importlib.import_module("placement.storage.driver.postgresql_driver")
psycopg = batches.psycopg

THINGS = sa.Table("things", sa.MetaData(), sa.Column("n", sa.Integer, primary_key=True))
INSERT = Compiled(sa.insert(THINGS))
ALL = Compiled(sa.select(THINGS.c.n).order_by(THINGS.c.n))
ONE = Compiled(sa.select(THINGS.c.n).where(THINGS.c.n == sa.bindparam("n")))


@pytest.fixture(params=["postgresql"])
def database_kind(request):
    return request.param


@pytest.fixture
def database(database_url):
    with contextlib.closing(Database(DatabaseSettings(database_url))) as opened:
        THINGS.create(opened.engine)
        yield opened


@pytest.fixture
def session(database):
    with database.engine.connect() as connection:
        yield connection.connection.driver_connection


def stored(database):
    return database.read(lambda connection: connection.execute(ALL)).scalars()


def test_all_kinds_of_values_arrive(session):
    moment = datetime.datetime(2026, 2, 3, 4, 5, 6, 7)
    hostile = ['a"b\\c', "x,y", "{}", "NULL", "", "é", None]
    text = (
        "SELECT $1::INTEGER, $2::VARCHAR, $3::FLOAT, $4::TIMESTAMP, $5::VARCHAR[], $6::BIGINT[],"
        " $7::BOOLEAN, $8::VARCHAR"
    )
    values = [-5, "100% $1 \\ '", 0.1, moment, hostile, [], True, None]
    ((found,),) = [one.fetchall() for one in batches.run(session, [(text, values)])]
    assert list(found) == values


def test_each_statement_has_its_own_answer(session):
    found = batches.run(session, [("SELECT 1", []), ("SELECT 2 WHERE false", []), ("BEGIN", [])])
    assert [one.fetchall() for one in found] == [[(1,)], [], []]
    assert [one.description is None for one in found] == [False, False, True]


def test_the_first_error_is_raised_and_the_session_can_be_used_on(session):
    with pytest.raises(psycopg.errors.DivisionByZero):
        batches.run(session, [("SELECT 1", []), ("SELECT 1/0", []), ("SELECT nothing", [])])
    assert batches.run(session, [("SELECT 3", [])])[0].fetchall() == [(3,)]


@pytest.mark.parametrize(
    ("value", "error"), [("\0", psycopg.DataError), ("\ud800", UnicodeEncodeError)]
)
def test_what_is_no_text_is_refused_before_anything_is_sent(session, value, error):
    with pytest.raises(error):
        batches.run(session, [("BEGIN", []), ("SELECT $1::VARCHAR", [value])])
    assert session.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_a_session_prepares_a_statement_once(session):
    prepared = batches.Prepared()
    for _ in range(3):
        batches.run(session, [("BEGIN", []), ("SELECT $1::INTEGER", [4])] * 1, prepared)
        batches.run(session, [("ROLLBACK", [])], prepared)
    text = "SELECT statement FROM pg_prepared_statements WHERE name LIKE 'berth%'"
    assert session.execute(text).fetchall() == [("SELECT $1::INTEGER",)]


def test_a_session_prepares_so_much_text_and_runs_the_rest_as_it_is(session):
    prepared = batches.Prepared()
    calls = [(f"SELECT $1::INTEGER + {n} -- {'x' * 150_000}", [n]) for n in range(4)]
    # one that is too long keeps no shorter one behind it from being prepared
    short = "SELECT 2 * $1::INTEGER", [4]
    for sent in (calls[:1], [*calls, short], calls):
        found = batches.run(session, sent, prepared)
        assert [result.fetchall() for result in found] == [[(2 * n,)] for _, (n,) in sent]
    assert list(prepared.names) == [text for text, _ in [*calls[:2], short]]


def test_what_failed_to_be_prepared_is_prepared_again(session):
    prepared = batches.Prepared()
    with pytest.raises(psycopg.errors.UndefinedTable):
        batches.run(session, [("SELECT $1::INTEGER FROM nowhere", [1])], prepared)
    found = batches.run(session, [("SELECT $1::INTEGER", [1])], prepared)
    assert found[0].fetchall() == [(1,)]


def test_what_was_prepared_stays_so_though_a_later_statement_fails(session):
    prepared = batches.Prepared()
    failing = [("BEGIN", []), ("SELECT $1::INTEGER", [1]), ("SELECT 1 / $1::INTEGER", [0])]
    for _ in range(2):
        with pytest.raises(psycopg.errors.DivisionByZero):
            batches.run(session, failing, prepared)
        session.rollback()
    found = batches.run(session, failing[1:2], prepared)
    assert found[0].fetchall() == [(1,)]
    assert len(set(prepared.names.values())) == len(prepared.names) == 2


def test_a_session_of_its_own_is_known_and_keeps_its_limit(database):
    def look(connection):
        text = sa.text("SELECT current_setting('lock_timeout')")
        return dict(connection.info), connection.plain.execute(text).scalar()

    info, limit = database.write(look)
    assert (info[BATCHES], info[LIMITS_LOCKS], batches.PREPARED in info) == (True, True, True)
    assert limit == "500ms"


LIMITS = "SELECT current_setting('lock_timeout'), current_setting('berth.long_wait')"


@pytest.mark.parametrize(
    ("own", "short", "long"),
    [("100ms", "100ms", 100), ("2s", "500ms", 2000), ("1min", "500ms", 6000), ("0", "500ms", 6000)],
)
def test_an_operator_s_limit_for_locks_stays_if_it_is_shorter(database_url, own, short, long):
    settings = DatabaseSettings(database_url, connection_parameters=f"options=-clock_timeout={own}")
    with contextlib.closing(Database(settings)) as opened:
        found = opened.read(lambda one: one.plain.execute(sa.text(LIMITS)).one())
        assert tuple(found) == (short, str(long))


def test_behind_a_pooler_nothing_stays_in_a_session(database_url):
    with pooled(database_url) as url, contextlib.closing(Database(DatabaseSettings(url))) as opened:

        def look(connection):
            text = sa.text("SELECT current_setting('lock_timeout')")
            return dict(connection.info), connection.plain.execute(text).scalar()

        info, limit = opened.write(look)
        assert (info[BATCHES], info.get(LIMITS_LOCKS), batches.PREPARED in info) == (
            True,
            None,
            False,
        )
        assert limit == "500ms"


def test_a_prepared_statement_that_is_gone_is_no_error(database):
    database.write(lambda connection: connection.execute(INSERT, {"n": 1}))

    def question(connection):
        return connection.execute(ONE, {"n": 1}).scalars()

    assert database.read(question) == [1]
    with database.engine.connect() as connection:
        connection.connection.driver_connection.execute("DEALLOCATE ALL")
    assert database.read(question) == [1]
    assert database.write(question) == [1]


def test_what_is_put_off_is_sent_before_the_end_and_before_all_that_follows(database):
    def write(connection):
        connection.later(INSERT, {"n": 1})
        seen = connection.execute(ALL).scalars()
        connection.later(INSERT, {"n": 2})
        seen += connection.execute(sa.select(THINGS.c.n).order_by(THINGS.c.n)).scalars().all()
        connection.later(INSERT, [{"n": number} for number in range(3, 50)])
        return seen

    assert database.write(write) == [1, 1, 2]
    assert stored(database) == list(range(1, 50))


def test_what_was_put_off_and_fails_leaves_nothing(database):
    def write(connection):
        connection.later(INSERT, {"n": 1})
        connection.later(INSERT, {"n": 1})

    with pytest.raises(LostRace):
        database.write(write, tries=2)
    assert stored(database) == []


@pytest.mark.parametrize("before", [0, 1, 5])
def test_a_session_that_the_server_ends_in_the_middle_is_an_error(session, before):
    end = ("SELECT pg_terminate_backend(pg_backend_pid())", [])
    with pytest.raises(psycopg.OperationalError):
        batches.run(session, [("SELECT 1", [])] * before + [end] + [("SELECT 2", [])] * 3)
    assert session.closed


def test_a_session_that_ended_before_is_an_error(database, session):
    text = f"SELECT pg_terminate_backend({session.info.backend_pid})"
    database.read(lambda connection: connection.plain.exec_driver_sql(text).all())
    with pytest.raises(psycopg.OperationalError):
        batches.run(session, [("SELECT 1", []), ("SELECT 2", [])])
    assert session.closed


def test_a_write_whose_session_ends_runs_again(database):
    tries = []

    def write(connection):
        tries.append(1)
        connection.later(INSERT, {"n": len(tries)})
        if len(tries) == 1:
            connection.plain.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")

    database.write(write)
    assert stored(database) == [2]
