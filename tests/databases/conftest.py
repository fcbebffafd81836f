import importlib

import pytest

from tests.extras import needed_library
from tests.functional.placement.service import Service


@pytest.fixture
def service(database_url):
    """Return a service with an empty database."""
    return Service(database_url)


@pytest.fixture
def messages(monkeypatch, database_kind):
    """Return the texts of each message that the server gets.

    PostgreSQL's are lists, and the test fails if one is an error: that would stand in the server's
    log, with a statement of thousands of letters.
    """
    if database_kind == "mariadb":
        yield messages_of_pymysql(monkeypatch)
        return
    needed_library("psycopg", "postgresql")
    batches = importlib.import_module("placement.storage.driver.postgresql_driver")
    sent, failed, send = [], [], batches.run

    def run(*given):
        sent.append([text for text, _ in given[1]])
        try:
            return send(*given)
        except batches.psycopg.Error as error:
            failed.append(error)
            raise

    monkeypatch.setattr(batches, "run", run)
    yield sent
    assert failed == []


def messages_of_pymysql(monkeypatch):
    """Return the texts of the messages that PyMySQL sends from now on."""
    needed_library("pymysql", "mysql")
    connections = importlib.import_module("pymysql.connections")
    sent, send = [], connections.Connection._execute_command

    def note(connection, command, text):
        sent.append(text.decode() if isinstance(text, bytes) else text)
        return send(connection, command, text)

    monkeypatch.setattr(connections.Connection, "_execute_command", note)
    return sent
