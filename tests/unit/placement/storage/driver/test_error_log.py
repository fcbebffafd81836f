"""The log names unexpected errors of a database without their statements."""

import logging
import sqlite3

import pytest
from sqlalchemy.exc import OperationalError

from placement.storage.driver.error_log import log_unexpected, quotes_database

LOG = logging.getLogger(__name__)
SECRET = "SELECT secret FROM vault"
OF_DATABASE = OperationalError(SECRET, {}, sqlite3.OperationalError(f"near {SECRET}"))


def raised_from(cause):
    """Return an error that was raised from another."""
    try:
        try:
            raise cause
        except Exception as error:
            raise RuntimeError("went wrong") from error
    except RuntimeError as error:
        return error


@pytest.mark.parametrize(
    ("error", "quotes"),
    [
        (OF_DATABASE, True),
        (sqlite3.IntegrityError("x"), True),
        (KeyError("x"), False),
        (raised_from(OF_DATABASE), True),
        (raised_from(KeyError("x")), False),
        (ExceptionGroup("several", [KeyError("x"), OF_DATABASE]), True),
    ],
)
def test_an_error_may_quote_a_statement_if_any_error_behind_it_may(error, quotes):
    assert quotes_database(error) is quotes


def test_an_error_of_the_database_is_logged_without_its_statement(caplog):
    with caplog.at_level(logging.INFO):
        log_unexpected(LOG, "Failed", raised_from(OF_DATABASE))
    assert "Failed:" in caplog.text
    assert "OperationalError" in caplog.text
    assert "test_error_log.py" in caplog.text
    assert "secret" not in caplog.text


def test_at_debug_all_of_it_is_logged(caplog):
    with caplog.at_level(logging.DEBUG):
        log_unexpected(LOG, "Failed", raised_from(OF_DATABASE))
    assert SECRET in caplog.text


def test_other_errors_are_logged_with_their_text(caplog):
    log_unexpected(LOG, "Failed", KeyError("a key"))
    assert "Failed: 'a key'" in caplog.text
