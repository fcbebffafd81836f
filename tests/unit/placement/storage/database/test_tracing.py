"""What the log and the database's own log show of statements."""

import logging

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from placement.storage.database import engine_setup
from placement.storage.database.engine import Database, DatabaseSettings


@pytest.mark.parametrize(
    ("level", "verbosity"),
    [(1, logging.WARNING), (49, logging.WARNING), (50, logging.INFO), (100, logging.DEBUG)],
)
def test_the_level_says_how_much_is_logged(level, verbosity):
    name = engine_setup.logging_name(level)
    assert logging.getLogger(f"sqlalchemy.engine.Engine.{name}").level == verbosity


def test_a_statement_names_the_functions_that_sent_it():
    database, seen = Database(DatabaseSettings("sqlite://", connection_trace=True)), []

    @event.listens_for(database.engine, "after_cursor_execute")
    def note(connection, cursor, statement, *_):
        seen.append(statement)

    database.read(lambda connection: connection.execute(sa.text("SELECT 1")))
    database.close()

    (statement,) = [one for one in seen if one.startswith("SELECT 1")]
    comment = statement.removeprefix("SELECT 1 ")
    assert comment.startswith("/* /storage/database/engine.py:")
    assert comment.endswith(" read */")
    assert "%" not in comment
