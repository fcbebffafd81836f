"""Only one process at a time changes the schema; a process that can't wait any longer says so.

See architecture.rst D2.
"""

import contextlib

import pytest
import sqlalchemy as sa

from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.driver import dialects
from placement.storage.schema import schema_upgrade
from tests.databases.fixtures import only
from tests.databases.questions import connected
from tests.patience import PATIENCE

#: its lock has a timeout; PostgreSQL's has none, SQLite has one writer
database_kind = only("mariadb")


def test_a_lock_that_another_process_holds_is_reported(new_database, monkeypatch):
    url = new_database(empty=True)
    with connected(url) as other, contextlib.closing(Database(DatabaseSettings(url))) as database:
        # the server has one such lock for all databases, including those of other tests
        lock = sa.text(f"SELECT GET_LOCK('berth_schema', {PATIENCE})")
        assert other.execute(lock).scalar() == 1
        with monkeypatch.context() as patched:
            patched.setattr(dialects, "_LONGEST_CHANGE", 0)
            with pytest.raises(dialects.DatabaseUnusable, match="Another process is changing"):
                schema_upgrade.sync(database)
        assert sa.inspect(other).get_table_names() == []
        other.execute(sa.text("SELECT RELEASE_LOCK('berth_schema')"))
        schema_upgrade.sync(database)
        assert "inventories" in sa.inspect(database.engine).get_table_names()
