"""The number of SQL statements of each thread."""

import contextlib
import threading
from unittest import mock

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from placement.storage.database.compiled import Compiled
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.database.engine_setup import count_statements

TABLE = sa.Table("numbers", sa.MetaData(), sa.Column("n", sa.Integer))
ONE = Compiled(sa.select(sa.literal_column("1", sa.Integer)))


@pytest.fixture
def engine():
    options = {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
    made = sa.create_engine("sqlite://", **options)
    TABLE.create(made)
    yield made
    made.dispose()


def test_each_statement_counts_and_many_rows_are_one(engine):
    statements = count_statements(engine)
    with engine.connect() as connection:
        connection.execute(sa.select(TABLE))
        connection.execute(sa.insert(TABLE), [{"n": 1}, {"n": 2}])
        connection.exec_driver_sql("SELECT 1")
    assert statements.count == 3


def test_the_beginning_of_a_transaction_does_not_count(engine):
    statements = count_statements(engine)
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    assert statements.count == 0


def test_each_thread_has_its_own_count(engine):
    statements, of_other = count_statements(engine), []

    def other():
        with engine.connect() as connection:
            connection.execute(sa.select(TABLE))
        of_other.append(statements.count)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert (of_other, statements.count) == ([1], 0)


def test_the_meter_is_told_of_a_transaction_at_its_end_and_of_no_request(tmp_path):
    told = []
    tally = mock.Mock(statements=told.append)
    database = Database(DatabaseSettings(f"sqlite:///{tmp_path}/n.db"), tally=tally)

    def ask_twice():
        database.read(lambda connection: [connection.execute(ONE) for _ in range(2)])

    def ask_and_fail(connection):
        connection.execute(ONE)
        raise KeyError("x")

    with contextlib.closing(database):
        # the first connection asks the database about itself
        ask_twice()
        told.clear()
        ask_twice()
        database.ask(ONE)
        with database.transaction() as connection:
            connection.execute(ONE)
        database.answers(True)
        ask_twice()
        database.answers(False)
        with pytest.raises(KeyError):
            database.write(ask_and_fail)
        before = database.statements
        other = threading.Thread(target=ask_twice)
        other.start()
        other.join()
    assert (told[:4], sum(told[4:]), database.statements) == ([2, 1, 1, 1], 2, before)
