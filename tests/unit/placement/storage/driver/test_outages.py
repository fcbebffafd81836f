"""Failures that only the database's operator can mend, by the words of the drivers."""

import logging
import sqlite3

import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from placement.errors import DatabaseReadOnly, DatabaseUnavailable, StorageFull
from placement.storage.driver.outages import refusal_of
from tests.unit.placement.storage.driver.test_dialects import Origin


def failed(origin, kind=OperationalError, statement="INSERT", lost=False):
    return kind(statement, {"password": "s3cr3t"}, origin, connection_invalidated=lost)


@pytest.mark.parametrize(
    "origin",
    [
        Origin("database or disk is full", sqlite_errorname="SQLITE_FULL"),
        Origin("could not extend file: No space left on device", sqlstate="53100"),
        Origin(1021, "Disk full (/tmp); waiting for someone to free some space..."),
        Origin(1114, "The table 'allocations' is full"),
        Origin(1030, 'Got error 28 "No space left on device" from storage engine InnoDB'),
    ],
)
def test_a_full_disk_has_a_status_of_its_own(origin):
    assert type(refusal_of(failed(origin))) is StorageFull


@pytest.mark.parametrize(
    "error",
    [
        failed(Origin("gone"), lost=True),
        failed(Origin("gone"), InterfaceError, lost=True),
        failed(Origin(2003, "Can't connect to MySQL server"), statement=None),
        failed(Origin(1045, "Access denied for user"), statement=None),
        failed(Origin("password authentication failed"), statement=None),
        failed(Origin(1047, "WSREP has not yet prepared node for application use")),
        failed(Origin(1053, "Server shutdown in progress")),
        failed(Origin(1203, "User has already more than 'max_user_connections'")),
        failed(Origin(1226, "User has exceeded the 'max_updates_per_hour' resource")),
        failed(Origin("terminating connection", sqlstate="57P01")),
        failed(Origin("crash of another server process", sqlstate="57P02")),
        failed(Origin("out of memory", sqlstate="53200")),
        failed(Origin("could not read block", sqlstate="58030")),
        failed(Origin("disk I/O error", sqlite_errorname="SQLITE_IOERR_WRITE")),
        failed(Origin("unable to open database file", sqlite_errorname="SQLITE_CANTOPEN")),
        PoolExhausted("QueuePool limit of size 5 overflow 10 reached"),
    ],
)
def test_a_database_that_can_not_be_asked_is_unavailable(error):
    assert type(refusal_of(error)) is DatabaseUnavailable


@pytest.mark.parametrize(
    "origin",
    [
        Origin(1290, "The server is running with the --read-only option"),
        Origin(1792, "Cannot execute statement in a READ ONLY transaction"),
        Origin("cannot execute INSERT in a read-only transaction", sqlstate="25006"),
        Origin("attempt to write a readonly database", sqlite_errorname="SQLITE_READONLY"),
        Origin("attempt to write", sqlite_errorname="SQLITE_READONLY_DIRECTORY"),
    ],
)
def test_a_database_that_takes_no_changes_is_read_only(origin):
    assert type(refusal_of(failed(origin))) is DatabaseReadOnly


@pytest.mark.parametrize(
    "error",
    [
        failed(sqlite3.OperationalError("no such table: traits")),
        failed(Origin("syntax error", sqlstate="42601"), DBAPIError),
        failed(Origin(1146, "Table 'traits' doesn't exist"), DBAPIError),
        failed(Origin("NOT NULL", sqlite_errorname="SQLITE_CONSTRAINT_NOTNULL"), IntegrityError),
    ],
)
def test_our_own_mistakes_are_nothing_of_the_kind(error):
    assert refusal_of(error) is None


def test_the_operator_is_told_in_one_line_without_values(caplog):
    with caplog.at_level(logging.ERROR):
        refusal_of(failed(Origin("connection to server\n\tlost"), lost=True))
    assert [record.getMessage() for record in caplog.records] == [
        "Answers 503: connection to server lost"
    ]
