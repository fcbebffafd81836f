"""Values that the driver is asked for without SQLAlchemy (`Database.look_up`)."""

import contextlib

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from placement.errors import DatabaseUnavailable
from placement.storage.engine import Database, DatabaseSettings

ANSWER = "SELECT 40 + 2"


@pytest.fixture
def opened(database_url):
    with contextlib.ExitStack() as stack:

        def opened(url=database_url, **settings):
            database = Database(DatabaseSettings(url, **settings), pause=lambda seconds: None)
            return stack.enter_context(contextlib.closing(database))

        yield opened


def hang_up(database):
    """Close the one connection in the pool behind the pool's back."""
    pooled = database.engine.raw_connection()
    driver = pooled.driver_connection
    pooled.close()
    driver.close()


def test_it_answers_the_value_and_counts_the_statement(opened):
    database = opened()
    assert database.look_up(ANSWER) == 42
    before = database.statements
    assert database.look_up(ANSWER) == 42
    assert database.statements == before + 1


def test_no_value_is_none(opened):
    assert opened().look_up("SELECT max(a.n) FROM (SELECT 1 AS n) a WHERE a.n > 1") is None


def test_each_answer_is_of_now(opened):
    database = opened()
    database.write(lambda c: c.execute(sa.text("CREATE TABLE numbers (n INTEGER)")))
    for number in (1, 2, 3):
        insert = sa.text(f"INSERT INTO numbers VALUES ({number})")
        database.write(lambda c, insert=insert: c.execute(insert))
        assert database.look_up("SELECT max(n) FROM numbers") == number


def test_a_lost_connection_is_replaced(opened):
    database = opened()
    database.look_up(ANSWER)
    hang_up(database)
    assert database.look_up(ANSWER) == 42
    assert database.look_up(ANSWER) == 42


def test_a_wrong_statement_fails_as_in_any_question_and_harms_nothing_after_it(opened):
    database = opened()
    with pytest.raises(DBAPIError, match="no_such_table"):
        database.look_up("SELECT max(n) FROM no_such_table")
    assert database.look_up(ANSWER) == 42


def test_no_connection_in_time_is_the_refusal_of_any_question(opened):
    database = opened(max_pool_size=1, max_overflow=0, pool_timeout=1)
    with database.engine.connect(), pytest.raises(DatabaseUnavailable):
        database.look_up(ANSWER)
    assert database.look_up(ANSWER) == 42


def test_a_database_that_is_away_is_a_refusal(opened, database_url, database_kind):
    away = database_url.replace("berth-", "nobody-")
    if database_kind == "sqlite":
        away = "sqlite:////nowhere/at/all/placement.db"
    with pytest.raises(DatabaseUnavailable):
        opened(away).look_up(ANSWER)


def test_it_is_logged_as_told(opened, caplog):
    opened(connection_debug=50).look_up(ANSWER)
    assert ANSWER in caplog.text
