"""Questions that the driver is asked without SQLAlchemy (`Database.ask`)."""

import contextlib
import datetime

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError

from placement.errors import DatabaseUnavailable, ProviderNotFound, ValueNotStorable
from placement.storage import change_feed, providers, schema_upgrade
from placement.storage.change_feed import Cursor
from placement.storage.compiled_select import CompiledSelect
from placement.storage.engine import Database, DatabaseSettings

ANSWER = CompiledSelect(
    sa.select(sa.literal_column("40", sa.Integer) + sa.bindparam("more", type_=sa.Integer))
)
THINGS = sa.Table(
    "things",
    sa.MetaData(),
    sa.Column("n", sa.Integer),
    sa.Column("name", sa.String(50)),
    sa.Column("made", sa.DateTime),
)
MADE = datetime.datetime(2026, 2, 3, 4, 5, 6)
NAMED = CompiledSelect(
    sa.select(THINGS.c.n, THINGS.c.made).where(THINGS.c.name == sa.bindparam("name"))
)


@pytest.fixture
def opened(database_url):
    with contextlib.ExitStack() as stack:

        def opened(url=database_url, **settings):
            database = Database(DatabaseSettings(url, **settings), pause=lambda seconds: None)
            return stack.enter_context(contextlib.closing(database))

        yield opened


@pytest.fixture
def things(opened):
    database = opened()
    THINGS.create(database.engine)
    return database


def add(database, number, name, made=MADE):
    row = {"n": number, "name": name, "made": made}
    database.write(lambda connection: connection.execute(sa.insert(THINGS), row))


def hang_up(database):
    """Close the one connection in the pool behind the pool's back."""
    pooled = database.engine.raw_connection()
    driver = pooled.driver_connection
    pooled.close()
    driver.close()


@contextlib.contextmanager
def not_seen(database):
    """SQLAlchemy sees none of the statements."""
    seen = []

    def see(connection, cursor, statement, *_):
        seen.append(statement)

    event.listen(database.engine, "before_cursor_execute", see)
    yield
    event.remove(database.engine, "before_cursor_execute", see)
    assert seen == []


def test_it_answers_and_counts_the_statement_and_sqlalchemy_sees_nothing(opened):
    database = opened()
    assert database.ask(ANSWER, more=1) == [(41,)]
    before = database.statements
    with not_seen(database):
        assert database.ask(ANSWER, more=2) == [(42,)]
    assert database.statements == before + 1


def test_the_service_s_own_questions_are_asked_like_that(opened):
    database = opened()
    schema_upgrade.sync(database)
    with not_seen(database):
        assert change_feed.has_news(database, Cursor())
        with pytest.raises(ProviderNotFound):
            providers.shown(database, "00000000-0000-4000-8000-000000000000")


def test_values_are_python_s(things):
    add(things, 1, "lamp")
    add(things, 2, "lamp", None)
    add(things, 3, "chair")
    assert sorted(things.ask(NAMED, name="lamp")) == [(1, MADE), (2, None)]
    assert things.ask(NAMED, name="' OR 1=1 --") == []


def test_each_answer_is_of_now(things):
    largest = CompiledSelect(sa.select(sa.func.max(THINGS.c.n)))
    assert things.ask(largest) == [(None,)]
    for number in (1, 2, 3):
        add(things, number, "lamp")
        assert things.ask(largest) == [(number,)]


def test_a_lost_connection_is_replaced(opened):
    database = opened()
    database.ask(ANSWER, more=2)
    hang_up(database)
    assert database.ask(ANSWER, more=2) == [(42,)]
    assert database.ask(ANSWER, more=2) == [(42,)]


def test_a_wrong_statement_fails_as_in_any_question_and_harms_nothing_after_it(opened):
    database = opened()
    with pytest.raises(DBAPIError, match="things"):
        database.ask(NAMED, name="lamp")
    assert database.ask(ANSWER, more=2) == [(42,)]


def test_a_value_that_no_database_takes_is_refused_as_in_any_question(things):
    add(things, 1, "lamp")
    with pytest.raises(ValueNotStorable):
        things.ask(NAMED, name="\ud800")
    assert things.ask(NAMED, name="lamp") == [(1, MADE)]


def test_no_connection_in_time_is_the_refusal_of_any_question(opened):
    database = opened(max_pool_size=1, max_overflow=0, pool_timeout=1)
    with database.engine.connect(), pytest.raises(DatabaseUnavailable):
        database.ask(ANSWER, more=2)
    assert database.ask(ANSWER, more=2) == [(42,)]


def test_a_database_that_is_away_is_a_refusal(opened, database_url, database_kind):
    away = database_url.replace("berth-", "nobody-")
    if database_kind == "sqlite":
        away = "sqlite:////nowhere/at/all/placement.db"
    with pytest.raises(DatabaseUnavailable):
        opened(away).ask(ANSWER, more=2)


def test_what_is_to_be_prepared_first_is(opened):
    database = opened()
    database.prepare_first(lambda: THINGS.create(database.engine))
    assert database.ask(NAMED, name="lamp") == []


def test_it_is_logged_as_told(opened, caplog):
    opened(connection_debug=50).ask(ANSWER, more=2)
    assert "SELECT 40" in caplog.text
