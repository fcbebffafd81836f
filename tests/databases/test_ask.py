"""Queries that go to the driver without SQLAlchemy (`Database.ask`)."""

import contextlib
import datetime

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError

from placement.errors import DatabaseUnavailable, ProviderNotFound, ValueNotStorable
from placement.storage import providers
from placement.storage.database.compiled import Compiled
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import Cursor
from placement.storage.schema import schema_upgrade

ANSWER = Compiled(
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
NAMED = Compiled(sa.select(THINGS.c.n, THINGS.c.made).where(THINGS.c.name == sa.bindparam("name")))


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
    """Close the only connection of the pool without the pool noticing."""
    pooled = database.engine.raw_connection()
    driver = pooled.driver_connection
    pooled.close()
    driver.close()


@contextlib.contextmanager
def not_seen(database):
    """Assert that SQLAlchemy sees no statement."""
    seen = []

    def see(connection, cursor, statement, *_):
        seen.append(statement)

    event.listen(database.engine, "before_cursor_execute", see)
    yield
    event.remove(database.engine, "before_cursor_execute", see)
    assert seen == []


def test_it_returns_rows_and_counts_the_statement_without_sqlalchemy(opened):
    database = opened()
    assert database.ask(ANSWER, more=1) == [(41,)]
    before = database.statements
    with not_seen(database):
        assert database.ask(ANSWER, more=2) == [(42,)]
    assert database.statements == before + 1


def test_the_service_uses_it_for_its_own_queries(opened):
    database = opened()
    schema_upgrade.sync(database)
    with not_seen(database):
        assert change_feed.has_news(database, Cursor())
        with pytest.raises(ProviderNotFound):
            providers.shown(database, "00000000-0000-4000-8000-000000000000")


def test_values_have_python_types(things):
    add(things, 1, "lamp")
    add(things, 2, "lamp", None)
    add(things, 3, "chair")
    assert sorted(things.ask(NAMED, name="lamp")) == [(1, MADE), (2, None)]
    assert things.ask(NAMED, name="' OR 1=1 --") == []


def test_each_query_sees_the_latest_data(things):
    largest = Compiled(sa.select(sa.func.max(THINGS.c.n)))
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


def test_a_wrong_statement_fails_as_in_any_query_and_later_ones_work(opened):
    database = opened()
    with pytest.raises(DBAPIError, match="things"):
        database.ask(NAMED, name="lamp")
    assert database.ask(ANSWER, more=2) == [(42,)]


def test_a_value_that_no_database_accepts_is_rejected_as_in_any_query(things):
    add(things, 1, "lamp")
    with pytest.raises(ValueNotStorable):
        things.ask(NAMED, name="\ud800")
    assert things.ask(NAMED, name="lamp") == [(1, MADE)]


def test_no_connection_in_time_is_the_error_of_any_query(opened):
    database = opened(max_pool_size=1, max_overflow=0, pool_timeout=1)
    with database.engine.connect(), pytest.raises(DatabaseUnavailable):
        database.ask(ANSWER, more=2)
    assert database.ask(ANSWER, more=2) == [(42,)]


def test_an_unreachable_database_is_an_error(opened, database_url, database_kind):
    away = database_url.replace("berth-", "nobody-")
    if database_kind == "sqlite":
        away = "sqlite:////nowhere/at/all/placement.db"
    with pytest.raises(DatabaseUnavailable):
        opened(away).ask(ANSWER, more=2)


def test_the_database_is_prepared_before_the_first_query(opened):
    database = opened()
    database.prepare_first(lambda: THINGS.create(database.engine))
    assert database.ask(NAMED, name="lamp") == []


def test_queries_are_logged_as_configured(opened, caplog):
    opened(connection_debug=50).ask(ANSWER, more=2)
    assert "SELECT 40" in caplog.text
