"""A service that only reads writes nothing, whatever it is asked and whoever wrote the database."""

import contextlib
import os
import re
import sqlite3

import pytest
import sqlalchemy as sa
from werkzeug.test import Client

from placement import app, config
from placement.errors import PlacementError
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.driver.dialects import DatabaseUnusable, prepare, read_url
from placement.storage.schema.schema_upgrade import SchemaDiffers
from placement.storage.tables import REFERENCE_TABLES, metadata, traits
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import HOLDER, ROOT, fill

CALLER = {
    "x-auth-token": "admin",
    "x-roles": "admin,service",
    "openstack-api-version": "placement 1.39",
}
PATHS = (
    *("/", "/resource_providers", "/resource_classes", "/traits"),
    *(f"/resource_providers/{ROOT}{part}" for part in ("", "/inventories", "/usages", "/traits")),
    *(f"/allocations/{HOLDER}", "/usages?project_id=p"),
    "/allocation_candidates?resources=VCPU:1",
)


def reading(url):
    overrides = {("placement_database", "connection"): url, ("api", "auth_strategy"): "noauth2"}
    conf = config.load(files=[], environ=False, overrides=overrides)
    return contextlib.closing(app.start_reading(conf))


def asked(running, path):
    path, _, query = path.partition("?")
    return Client(running.application).get(path, query_string=query, headers=CALLER)


@pytest.fixture
def service(database_url):
    service = Service(database_url)
    fill(service)
    return service


def without_our_tables(url):
    """Leave the tables of the reference only, without some standard names."""
    engine = sa.create_engine(prepare(read_url(url), DatabaseSettings(url))[0])
    with engine.begin() as connection:
        names = [name for name in sa.inspect(connection).get_table_names() if "berth" in name]
        metadata.drop_all(connection, [metadata.tables[n] for n in names if n in metadata.tables])
        for name in set(names) - metadata.tables.keys():
            connection.execute(sa.text(f"DROP TABLE {name}"))
        connection.execute(sa.delete(traits).where(traits.c.name.like("COMPUTE%")))
    engine.dispose()


def test_all_requests_are_answered_and_no_row_changes(service, database_url):
    before = service.tables()
    with reading(database_url) as running:
        statuses = {path: asked(running, path).status_code for path in PATHS}
    assert statuses == dict.fromkeys(PATHS, 200)
    assert service.tables() == before


def test_a_database_that_was_never_taken_over_stays_as_it_is(service, database_url):
    service.database.close()
    without_our_tables(database_url)
    before = service.tables()
    assert before.keys() == {table.name for table in REFERENCE_TABLES} | {"alembic_version"}
    with reading(database_url) as running:
        assert {asked(running, path).status_code for path in PATHS} == {200}
        assert len(asked(running, PATHS[-1]).json["allocation_requests"]) == 1
    assert service.tables() == before


def test_writes_are_refused(service, database_url):
    before = service.tables()
    with reading(database_url) as running, pytest.raises(RuntimeError, match="reading only"):
        running.database.write(lambda connection: connection.execute(sa.delete(traits)))
    with reading(database_url) as running, pytest.raises(RuntimeError, match="reading only"):
        running.database.transaction().__enter__()
    assert service.tables() == before


def test_the_database_itself_refuses_to_write(service, database_url):
    before = service.tables()
    refused = (sa.exc.DBAPIError, PlacementError)
    with reading(database_url) as running, pytest.raises(refused) as raised:
        running.database.read(lambda connection: connection.execute(sa.delete(traits)))
    assert re.search("read.?only", f"{raised.value} {raised.value.__cause__}", re.I)
    assert service.tables() == before


def test_searches_see_what_is_written_after_the_cloud_is_forgotten(service, database_url):
    with reading(database_url) as running:
        query = "/allocation_candidates?resources=VCPU:5"
        assert asked(running, query).json["allocation_requests"] == []
        service.delete(f"/allocations/{HOLDER}")
        assert asked(running, query).json["allocation_requests"] == []
        running.snapshot.forget()
        assert len(asked(running, query).json["allocation_requests"]) == 1


def test_a_database_without_tables_is_refused(new_database):
    url = new_database(empty=True)
    if url.startswith("sqlite"):
        Database(DatabaseSettings(url)).engine.connect().close()
    with pytest.raises(DatabaseUnusable, match="no tables of a placement service"):
        reading(url)


def test_a_database_with_another_schema_is_refused(service, database_url):
    service.database.close()
    engine = sa.create_engine(prepare(read_url(database_url), DatabaseSettings(database_url))[0])
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE traits ADD COLUMN colour INTEGER"))
    engine.dispose()
    with pytest.raises(SchemaDiffers, match="colour"):
        reading(database_url)


class TestFiles:
    @pytest.fixture
    def database_kind(self):
        return "sqlite"

    def test_a_file_that_is_not_there_is_not_created(self, tmp_path):
        with pytest.raises(sa.exc.OperationalError):
            reading(f"sqlite:///{tmp_path}/none.db")
        assert os.listdir(tmp_path) == []

    def test_a_file_keeps_its_journal_mode_and_every_byte(self, tmp_path, service, database_url):
        service.database.close()
        path = tmp_path / "of the reference #1.db"
        with contextlib.closing(sqlite3.connect(database_url.partition("///")[2])) as source:
            source.execute(f"VACUUM INTO '{path}'")
        before = path.read_bytes()
        with reading(f"sqlite:///{path}") as running:
            assert asked(running, PATHS[-1]).status_code == 200
        assert path.read_bytes() == before
        assert [name for name in os.listdir(tmp_path) if "reference" in name] == [path.name]
