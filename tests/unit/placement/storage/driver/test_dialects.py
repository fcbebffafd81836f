"""Database URLs, missing drivers, and which failures may pass (architecture.rst D2, D3)."""

import sqlite3

import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from placement.storage.database.engine import DatabaseSettings
from placement.storage.driver import dialects, postgresql_sessions
from placement.storage.driver.dialects import DatabaseUnusable, DriverMissing, prepare, read_url
from placement.storage.driver.failures import failure_of

SECRET = "s3cr3t"


def prepared(connection):
    return prepare(read_url(connection), DatabaseSettings(connection))[0]


def refusal(kind, connection):
    with pytest.raises(kind) as refused:
        prepared(connection)
    assert SECRET not in str(refused.value)
    return str(refused.value)


def test_parameters_are_appended_to_the_url():
    assert str(read_url("sqlite:///x", "a=1&b=2")) == "sqlite:///x?a=1&b=2"


def test_parameters_join_those_the_url_has():
    assert str(read_url("sqlite:///x?a=1", "b=2")) == "sqlite:///x?a=1&b=2"


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f"postgresql//user:{SECRET}@host/db",
        f"postgresql://user:{SECRET}@host:port/db",
        f"postgresql://user:{SECRET}@host:{SECRET}/db",
        "",
    ],
)
def test_what_is_no_url_is_refused_without_quoting_it(text):
    assert "is not a database URL" in refusal(DatabaseUnusable, text)


@pytest.mark.parametrize("scheme", ["nosuchdb", "postgresql+nosuchdriver", "postgres"])
def test_an_unknown_kind_of_database_is_refused_by_name(scheme):
    words = refusal(DatabaseUnusable, f"{scheme}://user:{SECRET}@host/db")
    assert words.startswith(f"The database URL {scheme}://… names no kind of database")


@pytest.mark.parametrize(
    ("scheme", "named"),
    [
        ("postgresql", "postgresql+psycopg"),
        ("mysql", "mysql+pymysql"),
        ("mariadb", "mariadb+pymysql"),
        ("mysql+pymysql", "mysql+pymysql"),
    ],
)
def test_a_url_without_a_driver_has_ours(monkeypatch, scheme, named):
    no_drivers(monkeypatch, [])
    assert prepared(f"{scheme}://u@host/db").drivername == named


def no_drivers(monkeypatch, missing):
    """Pretend that of all drivers just these can't be imported."""

    def load(dialect):
        if dialect.driver in missing:
            raise ModuleNotFoundError(f"No module named {dialect.driver!r}", name=dialect.driver)

    for scheme in ("postgresql+psycopg", "postgresql+psycopg2", "mysql+pymysql", "mysql+mysqldb"):
        dialect = read_url(f"{scheme}://").get_dialect()
        monkeypatch.setattr(dialect, "import_dbapi", classmethod(load))


@pytest.mark.parametrize(
    ("connection", "missing", "hint"),
    [
        ("postgresql://", "psycopg", "install 'openstack-berth[postgresql]'."),
        ("postgresql+psycopg://", "psycopg", "install 'openstack-berth[postgresql]'."),
        (
            "postgresql+psycopg2://",
            "psycopg2",
            "install 'psycopg2', or install 'openstack-berth[postgresql]' and write the URL as "
            "postgresql+psycopg://….",
        ),
        ("mysql://", "pymysql", "install 'openstack-berth[mysql]'."),
        (
            "mysql+mysqldb://",
            "mysqldb",
            "install 'openstack-berth[mysqlclient]', or install 'openstack-berth[mysql]' and write "
            "the URL as mysql+pymysql://….",
        ),
    ],
)
def test_a_missing_driver_says_what_to_install_or_to_write(monkeypatch, connection, missing, hint):
    no_drivers(monkeypatch, [missing])
    words = refusal(DriverMissing, f"{connection}user:{SECRET}@host/db")
    assert words.endswith(f"needs the driver {missing!r}, which is not installed: {hint}")


class Origin(Exception):
    """A driver's error, with the attributes drivers give theirs."""

    def __init__(self, *arguments, **attributes):
        super().__init__(*arguments)
        vars(self).update(attributes)


def failed(kind, origin, lost=False):
    return kind("SELECT 1", {}, origin, connection_invalidated=lost)


@pytest.mark.parametrize(
    ("origin", "cause"),
    [
        (sqlite3.OperationalError("database is locked"), "locked"),
        (sqlite3.OperationalError("database table is locked: x"), "locked"),
        (Origin("deadlock detected", sqlstate="40P01"), "deadlock"),
        (Origin("could not serialize", pgcode="40001"), "serialization"),
        (Origin("canceling statement", sqlstate="55P03"), "lock_timeout"),
        (Origin("terminating connection", sqlstate="57P01"), "disconnect"),
        (Origin(1213, "Deadlock found"), "deadlock"),
        (Origin(1213, "Deadlock found", sqlstate="40001"), "deadlock"),
        (Origin(1205, "Lock wait timeout exceeded"), "lock_timeout"),
        (Origin(1020, "Record has changed"), "serialization"),
        (Origin(1047, "WSREP has not yet prepared node"), "cluster_not_ready"),
    ],
)
def test_what_another_writer_caused_may_pass(origin, cause):
    assert failure_of(failed(OperationalError, origin)) == cause


def test_a_lost_connection_may_come_back():
    assert failure_of(failed(DBAPIError, Origin("gone"), lost=True)) == "disconnect"


@pytest.mark.parametrize(
    ("origin", "cause"),
    [
        (Origin("unique", sqlite_errorname="SQLITE_CONSTRAINT_UNIQUE"), "duplicate"),
        (Origin("unique", sqlite_errorname="SQLITE_CONSTRAINT_PRIMARYKEY"), "duplicate"),
        (Origin("reference", sqlite_errorname="SQLITE_CONSTRAINT_FOREIGNKEY"), "reference"),
        (Origin("unique", sqlstate="23505"), "duplicate"),
        (Origin("reference", pgcode="23503"), "reference"),
        (Origin(1062, "Duplicate entry"), "duplicate"),
        (Origin(1062, "Duplicate entry", sqlstate="23000"), "duplicate"),
        (Origin(1451, "Cannot delete a parent row"), "reference"),
        (Origin(1452, "Cannot add a child row"), "reference"),
    ],
)
def test_keys_that_another_writer_took_may_be_found_at_the_next_try(origin, cause):
    assert failure_of(failed(IntegrityError, origin)) == cause


@pytest.mark.parametrize(
    ("kind", "origin"),
    [
        (IntegrityError, Origin("no null", sqlite_errorname="SQLITE_CONSTRAINT_NOTNULL")),
        (IntegrityError, Origin("no null", sqlstate="23502")),
        (IntegrityError, Origin(1048, "Column cannot be null")),
        (OperationalError, sqlite3.OperationalError("no such table: x")),
        (OperationalError, Origin("syntax error", sqlstate="42601")),
        (OperationalError, Origin(1146, "Table doesn't exist")),
        (OperationalError, Origin()),
    ],
)
def test_what_the_statement_itself_got_wrong_does_not_pass(kind, origin):
    assert failure_of(failed(kind, origin)) is None


def test_a_real_broken_key_of_sqlite_is_told_from_a_missing_value():
    causes = []
    for values in ("(1)", "(NULL)"):
        with sqlite3.connect(":memory:") as connection:
            connection.execute("CREATE TABLE t (a INTEGER NOT NULL UNIQUE)")
            connection.execute("INSERT INTO t VALUES (1)")
            with pytest.raises(sqlite3.IntegrityError) as broken:
                connection.execute(f"INSERT INTO t VALUES {values}")
        causes.append(failure_of(failed(IntegrityError, broken.value)))
    assert causes == ["duplicate", None]


def test_no_wait_for_a_lock_takes_the_server_for_silent():
    # a transaction of PostgreSQL that isn't the first to wait for a row waits twice
    assert 2 * postgresql_sessions.LONG_WAIT < dialects._LONGEST_SILENCE
    assert dialects.LONGEST_LOCK < dialects._LONGEST_SILENCE
