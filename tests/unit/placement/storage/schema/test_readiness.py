"""What a start finds and stores in a database that has its schema."""

import contextlib

import pytest
import sqlalchemy as sa

from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.schema import schema_upgrade
from placement.storage.schema.readiness import make_ready
from placement.storage.tables import resource_classes, traits
from tests.databases.fresh import SQLiteFiles


@pytest.fixture
def database(tmp_path):
    url = SQLiteFiles.filled(tmp_path / "placement.db")
    with contextlib.closing(Database(DatabaseSettings(url))) as opened:
        yield opened


def names(database, table):
    with database.engine.connect() as connection:
        return set(connection.execute(sa.select(table.c.name)).scalars())


@pytest.mark.parametrize(
    ("table", "name"), [(traits, "HW_CPU_X86_AVX"), (resource_classes, "VCPU")], ids=str
)
def test_a_start_stores_the_standard_names_that_are_missing(database, table, name):
    before = names(database, table)
    with database.engine.begin() as connection:
        connection.execute(sa.delete(table).where(table.c.name == name))
    make_ready(database, sync=False, store_standard_names=False)
    assert names(database, table) == before - {name}
    make_ready(database, sync=False, store_standard_names=True)
    assert names(database, table) == before


def test_a_start_that_finds_all_writes_nothing(database, monkeypatch):
    monkeypatch.setattr(schema_upgrade, "sync", None)
    monkeypatch.setattr(Database, "write", None)
    make_ready(database, sync=True, store_standard_names=True)
