"""What tells a database that nobody has used from others."""

import contextlib

import pytest
import sqlalchemy as sa

from placement.storage.database.engine import Database, DatabaseSettings
from tests.databases.fresh import SQLiteFiles


@pytest.mark.parametrize("statement", ["SELECT 1", "INSERT INTO projects (external_id) VALUES (1)"])
def test_a_file_is_as_filled_until_somebody_opens_it_and_again_if_nothing_was_written(
    tmp_path, statement
):
    file = tmp_path / "placement.db"
    with contextlib.closing(Database(DatabaseSettings(SQLiteFiles.filled(file)))) as database:
        assert SQLiteFiles.is_as_filled(file)
        with database.engine.begin() as connection:
            connection.execute(sa.text(statement))
        assert not SQLiteFiles.is_as_filled(file)
    assert SQLiteFiles.is_as_filled(file) == (statement == "SELECT 1")
