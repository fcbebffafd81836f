"""Statements that are compiled once and go to the driver, in transactions."""

import contextlib
import datetime
from unittest import mock

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, IntegrityError

from placement.errors import DatabaseUnavailable, LostRace, ValueNotStorable
from placement.storage.database.compiled import Compiled
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.driver.list_parameters import among

MADE = datetime.datetime(2026, 2, 3, 4, 5, 6)
THINGS = sa.Table(
    "things",
    sa.MetaData(),
    sa.Column("n", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.String(50), default="lamp"),
    sa.Column("ratio", sa.Float),
    sa.Column("made", sa.DateTime, default=lambda: MADE),
    sa.Column("changed", sa.DateTime, onupdate=lambda: MADE),
)
INSERT = Compiled(sa.insert(THINGS))
ALL = Compiled(sa.select(THINGS).order_by(THINGS.c.n))
SOME = Compiled(sa.select(THINGS.c.n).where(among(THINGS.c.n, "numbers")).order_by(THINGS.c.n))
OTHERS = Compiled(sa.select(THINGS.c.n).where(sa.not_(among(THINGS.c.n, "numbers"))))
RAISE = Compiled(sa.update(THINGS).where(among(THINGS.c.n, "numbers")).values(n=THINGS.c.n + 100))


@pytest.fixture
def opened(database_url):
    with contextlib.ExitStack() as stack:

        def opened(**settings):
            database = Database(
                DatabaseSettings(database_url, **settings), pause=lambda seconds: None
            )
            return stack.enter_context(contextlib.closing(database))

        yield opened


@pytest.fixture(params=[0, 1], ids=["driver", "sqlalchemy"])
def things(opened, request):
    """Return a database; with `connection_trace` all statements go through SQLAlchemy."""
    database = opened(connection_trace=bool(request.param))
    THINGS.create(database.engine)
    return database


def rows(*numbers):
    return [{"n": number, "ratio": number / 2} for number in numbers]


def run(database, statement, values=None):
    return database.write(lambda connection: connection.execute(statement, values))


@pytest.mark.parametrize("count", [1, 2, 32, 33, 100])
def test_any_number_of_rows_is_stored_with_defaults_by_one_statement(things, count):
    before = things.statements
    run(things, INSERT, rows(*range(count)))
    assert things.statements == before + 1
    stored = run(things, ALL).all()
    assert stored == [(n, "lamp", n / 2, MADE, None) for n in range(count)]


def test_a_given_value_counts_more_than_a_default(things):
    run(things, INSERT, {"n": 1, "name": "100% %s $1 ? :n", "made": None})
    assert run(things, ALL).all() == [(1, "100% %s $1 ? :n", None, None, None)]


def test_rows_with_other_columns_are_another_statement(things):
    run(things, INSERT, {"n": 1})
    run(things, INSERT, {"n": 2, "ratio": 0.1})
    assert [row[2] for row in run(things, ALL)] == [None, 0.1]


@pytest.mark.parametrize(
    ("numbers", "found"),
    [([], []), ([2], [2]), ([1, 3, 7], [1, 3]), (list(range(5000)), [1, 2, 3])],
)
def test_a_list_has_any_length(things, numbers, found):
    run(things, INSERT, rows(1, 2, 3))
    assert run(things, SOME, {"numbers": numbers}).scalars() == found


def test_an_answer_says_how_many_rows_were_changed(things):
    run(things, INSERT, rows(1, 2, 3))
    assert run(things, RAISE, {"numbers": [1, 3, 9]}).rowcount == 2
    stored = run(things, ALL)
    assert [(row[0], row[4]) for row in stored] == [(2, None), (101, MADE), (103, MADE)]


def test_an_answer_without_rows_is_empty(things):
    answer = run(things, ALL)
    assert (answer.all(), answer.first(), answer.scalar(), answer.scalars()) == ([], None, None, [])


def test_a_broken_key_is_sqlalchemys_error_and_nothing_is_stored(things):
    run(things, INSERT, rows(1))
    with pytest.raises(LostRace) as refused:
        run(things, INSERT, rows(0, 1))
    assert isinstance(refused.value.__cause__, IntegrityError)
    assert run(things, ALL).all() == [(1, "lamp", 0.5, MADE, None)]


def test_a_wrong_statement_is_sqlalchemys_error(things):
    THINGS.drop(things.engine)
    with pytest.raises(DBAPIError, match="things"):
        run(things, ALL)


@pytest.mark.parametrize("name", ["\ud800", "\0"])
def test_a_value_that_no_database_stores_is_refused_and_nothing_is_stored(things, name):
    kind = things.engine.dialect.name
    if name == "\0" and kind != "postgresql":
        run(things, INSERT, {"n": 1, "name": name})
        return
    with pytest.raises(ValueNotStorable):
        run(things, INSERT, {"n": 1, "name": name})
    assert run(things, ALL).all() == []


def test_a_lost_connection_is_replaced_and_the_write_runs_again(opened):
    database = opened()
    THINGS.create(database.engine)
    tries = []

    def write(connection):
        tries.append(1)
        if len(tries) == 1:
            connection.plain.connection.driver_connection.close()
        return connection.execute(INSERT, rows(1))

    database.write(write)
    assert len(tries) == 2
    assert run(database, ALL).scalars() == [1]


def test_who_listens_for_sqlalchemys_statements_sees_them(opened):
    database, seen = opened(), []
    THINGS.create(database.engine)

    def see(connection, cursor, statement, parameters, context, executemany):
        seen.append((statement.partition(" ")[0], executemany))

    event.listen(database.engine, "before_cursor_execute", see)
    run(database, INSERT, rows(1))
    run(database, INSERT, rows(*range(2, 50)))
    run(database, ALL)
    assert seen == [("INSERT", False), ("INSERT", True), ("SELECT", False)]


def test_an_interrupted_statement_takes_its_connection_out_of_the_pool(opened):
    database = opened(max_pool_size=1, max_overflow=0, pool_timeout=5)
    THINGS.create(database.engine)

    class Stopped(BaseException):
        pass

    def stop(*_):
        raise Stopped

    with pytest.raises(Stopped), mock.patch.object(database._driver, "run", stop):
        run(database, ALL)
    assert database.engine.pool.checkedout() == 0
    assert run(database, ALL).all() == []


def test_no_connection_in_time_is_the_error_of_any_write(opened):
    database = opened(max_pool_size=1, max_overflow=0, pool_timeout=1)
    with database.engine.connect(), pytest.raises(DatabaseUnavailable):
        run(database, SOME, {"numbers": [1]})
