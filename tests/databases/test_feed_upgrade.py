"""Upgrade the change feed of a database of an earlier version (architecture.rst D2, D4)."""

import contextlib

import pytest
import sqlalchemy as sa
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext

from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.storage import tables
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.driver.dialects import DatabaseUnusable
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import ChangeKind
from placement.storage.schema import readiness, schema_upgrade

FEED = tables.provider_changes
NEW_COLUMNS = ("lane", "position", "before", "resource_provider_uuid")
INDEX = "berth_provider_changes_lane_position_idx"


@pytest.fixture
def database(database_url):
    """Return a database with the schema of the earlier version and two rows in its feed."""
    with contextlib.closing(Database(DatabaseSettings(database_url))) as opened:
        schema_upgrade.sync(opened)
        with opened.engine.begin() as connection:
            go_back(connection)
            append_as_before(connection)
            append_as_before(connection)
        yield opened


def go_back(connection):
    operations = Operations(MigrationContext.configure(connection))
    operations.drop_index(INDEX, FEED.name)
    for name in NEW_COLUMNS:
        operations.drop_column(FEED.name, name)
    operations.drop_table(tables.change_lanes.name)
    connection.exec_driver_sql(f"DROP TABLE {schema_upgrade.VERSION_TABLE}")
    assert version_as_before(connection) == "0001"


def version_as_before(connection):
    """Return the revision as the earlier version reads it; it doesn't start with an unknown one."""
    options = {"version_table": "berth_alembic_version"}
    return MigrationContext.configure(connection, opts=options).get_current_revision()


def append_as_before(connection):
    connection.exec_driver_sql(
        f"INSERT INTO {FEED.name} (created_at, resource_provider_id, kind)"
        " VALUES ('2026-01-01 00:00:00', 1, 4)"
    )


def lanes_of_rows(database):
    return database.read(
        lambda c: list(c.execute(sa.select(FEED.c.lane).order_by(FEED.c.id)).scalars())
    )


def provider(database, uuid="00000000-0000-4000-8000-00000000000a"):
    def write(connection):
        row = {"uuid": uuid, "name": uuid, "generation": 0}
        connection.execute(sa.insert(tables.resource_providers), row)
        ids = sa.select(tables.resource_providers.c.id)
        change_feed.record(connection, connection.execute(ids).scalars().all(), ChangeKind.ROW)

    database.write(write)


def test_old_rows_stay_in_the_feed_and_are_not_changes(database):
    schema_upgrade.sync(database)
    assert schema_upgrade.version(database) == "0003"
    live = LiveSnapshot(database)
    first = live.current()

    assert live.current() is first
    assert set(lanes_of_rows(database)) == {-1}


def test_after_the_upgrade_each_write_is_seen(database):
    schema_upgrade.sync(database)
    live = LiveSnapshot(database)
    assert live.current().size == 0
    provider(database)

    assert live.current().size == 1
    assert live.loads == {"first use": 1}


def test_changes_by_workers_of_the_earlier_version_are_seen(database):
    schema_upgrade.sync(database)
    live = LiveSnapshot(database)
    live.current()
    with database.engine.begin() as connection:
        row = {"uuid": "00000000-0000-4000-8000-00000000000b", "name": "b", "generation": 0}
        connection.execute(sa.insert(tables.resource_providers), row)
        append_as_before(connection)

    assert live.current().size == 1
    assert live.loads == {"first use": 1}
    assert 0 not in lanes_of_rows(database)


def test_workers_of_the_earlier_version_can_be_started_again(database):
    schema_upgrade.sync(database)
    assert schema_upgrade.version(database) == "0003"
    assert database.read(lambda opened: version_as_before(opened.plain)) == "0001"


@pytest.mark.parametrize("sync", [True, False])
def test_a_service_works_with_a_later_schema_and_does_not_change_it(database, sync):
    schema_upgrade.sync(database)
    with database.engine.begin() as connection:
        connection.exec_driver_sql(
            f"UPDATE {schema_upgrade.VERSION_TABLE} SET version_num = '9999'"
        )
    before = shape(database)

    readiness.make_ready(database, sync=sync, store_standard_names=True)
    assert (schema_upgrade.version(database), shape(database)) == ("9999", before)


def test_an_interrupted_upgrade_is_completed(database):
    with database.engine.begin() as connection:
        operations = Operations(MigrationContext.configure(connection))
        column = sa.Column("lane", sa.BigInteger, nullable=False, server_default=sa.text("0"))
        operations.add_column(FEED.name, column)
    schema_upgrade.sync(database)

    provider(database)
    assert LiveSnapshot(database).current().size == 1
    with database.engine.connect() as connection:
        found = sa.inspect(connection)
        assert {column["name"] for column in found.get_columns(FEED.name)} >= set(NEW_COLUMNS)
        assert INDEX in {index["name"] for index in found.get_indexes(FEED.name)}


def test_a_service_without_sync_on_startup_says_what_to_do(database):
    with pytest.raises(DatabaseUnusable, match="earlier version: run placement-manage db sync"):
        readiness.make_ready(database, sync=False, store_standard_names=True)


def test_a_schema_with_lanes_is_upgraded(database):
    schema_upgrade.sync(database)
    with database.engine.begin() as connection:
        operations = Operations(MigrationContext.configure(connection))
        operations.drop_column(FEED.name, "resource_provider_uuid")
        connection.exec_driver_sql(
            f"UPDATE {schema_upgrade.VERSION_TABLE} SET version_num = '0002'"
        )
        append_as_before(connection)
    assert schema_upgrade.is_behind(schema_upgrade.version(database))
    schema_upgrade.sync(database)

    provider(database)
    assert LiveSnapshot(database).current().size == 1
    assert schema_upgrade.version(database) == "0003"


def test_an_upgraded_schema_equals_a_new_one(database, new_database):
    schema_upgrade.sync(database)
    with contextlib.closing(Database(DatabaseSettings(new_database()))) as fresh:
        schema_upgrade.sync(fresh)
        assert shape(database) == shape(fresh)


def shape(database):
    """Return our tables' columns and indexes, whatever their order."""
    with database.engine.connect() as connection:
        found = sa.inspect(connection)
        return {
            table.name: (
                {
                    (column["name"], str(column["type"]), column["nullable"])
                    for column in found.get_columns(table.name)
                },
                {
                    (index["name"], *index["column_names"])
                    for index in found.get_indexes(table.name)
                },
            )
            for table in (FEED, tables.change_lanes)
        }
