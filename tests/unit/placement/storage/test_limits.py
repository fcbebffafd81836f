"""What is beyond a database's limits is a refusal, not a failure."""

import sqlite3

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from placement.errors import TooMuchAtOnce, ValueNotStorable
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.driver.failures import is_longer, is_too_large


@pytest.fixture
def database():
    opened = Database(DatabaseSettings("sqlite://"))
    yield opened
    opened.close()


@pytest.mark.parametrize("value", [2**63, -(2**70), 10**400])
def test_an_integer_beyond_those_of_the_database_is_refused(database, value):
    with pytest.raises(ValueNotStorable):
        database.read(lambda connection: connection.execute(sa.select(sa.literal(value))))


@pytest.mark.parametrize("value", ["\ud800", "a\udfffb"])
def test_half_of_a_surrogate_pair_is_refused(database, value):
    with pytest.raises(ValueNotStorable):
        database.write(lambda connection: connection.execute(sa.select(sa.literal(value))))


def test_more_values_than_a_statement_holds_are_refused(tmp_path):
    database = Database(DatabaseSettings(f"sqlite:///{tmp_path}/few.db"))

    @event.listens_for(database.engine, "connect")
    def allow_few(connection, record):
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 5)

    def ask(count):
        question = sa.select(sa.literal(1)).where(sa.literal(1).in_(range(count)))
        return database.read(lambda connection: connection.execute(question).all())

    assert ask(2) == [(1,)]
    with pytest.raises(TooMuchAtOnce):
        ask(9)
    database.close()


def test_conditions_nested_too_deeply_are_refused(database):
    question = sa.select(sa.literal(1)).where(
        *(sa.literal_column("1") == number for number in range(1_500))
    )
    with pytest.raises(TooMuchAtOnce):
        database.read(lambda connection: connection.execute(question))


class Refusal(Exception):
    sqlstate = None


class Limit(Refusal):
    sqlstate = "54001"


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        (Limit("stack depth limit exceeded"), True),
        (Refusal("sending query failed: number of parameters must be between 0 and 65535"), True),
        (Refusal(1153, "Got a packet bigger than 'max_allowed_packet' bytes"), True),
        (Refusal(1213, "Deadlock found"), False),
        (Refusal("connection refused"), False),
    ],
)
def test_drivers_say_in_their_own_ways_that_a_statement_is_too_large(origin, wanted):
    assert is_too_large(OperationalError("SELECT", {}, origin)) is wanted


@pytest.mark.parametrize(
    ("given", "is_multi", "is_long"),
    [
        (("x" * 9, "y" * 9), False, True),
        ({"one": "x" * 9, "other": "y" * 9}, False, True),
        (("x" * 9,), False, False),
        # bytes count
        (("é" * 9,), False, True),
        (None, False, False),
        # a connection that is lost while many rows are sent is no fault of the request
        ([("x" * 9,), ("y" * 9,)], True, False),
        ([{"one": "x"}, {"one": "y" * 19}], True, True),
    ],
)
def test_a_statement_is_long_by_its_values_and_not_by_its_rows(given, is_multi, is_long):
    error = OperationalError("INSERT", given, Exception("gone"), ismulti=is_multi)
    assert is_longer(error, 10) is is_long
