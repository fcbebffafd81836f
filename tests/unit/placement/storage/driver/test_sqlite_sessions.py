"""What each connection to SQLite is set to."""

import contextlib

import pytest

from placement.storage.database.engine import Database, DatabaseSettings


@pytest.mark.parametrize(("synchronous", "level"), [(True, 2), (False, 0)])
def test_sqlite_waits_for_the_disk_unless_told_otherwise(tmp_path, synchronous, level):
    settings = DatabaseSettings(f"sqlite:///{tmp_path}/n.db", sqlite_synchronous=synchronous)
    pragmas = ("journal_mode", "synchronous")

    def ask(connection):
        return [connection.plain.exec_driver_sql(f"PRAGMA {pragma}").scalar() for pragma in pragmas]

    with contextlib.closing(Database(settings)) as database:
        assert database.read(ask) == ["wal", level]
