"""The number of SQL statements of each thread."""

import threading

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from placement.storage.database.engine_setup import StatementCount, count_statements

TABLE = sa.Table("numbers", sa.MetaData(), sa.Column("n", sa.Integer))


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


def test_statements_of_requests_are_not_told_one_by_one(engine):
    told = []
    statements = StatementCount(lambda: told.append(1))
    statements.sent()
    statements.of_request = True
    statements.sent()
    other = threading.Thread(target=statements.sent)
    other.start()
    other.join()
    assert (statements.count, len(told)) == (2, 2)
