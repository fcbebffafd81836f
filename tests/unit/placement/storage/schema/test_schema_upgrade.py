"""Taking over a database of OpenStack Placement (architecture.rst D2, rest-api.md 6.1)."""

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.schema import schema_upgrade
from placement.storage.tables import (
    REFERENCE_HEAD,
    REFERENCE_TABLES,
    change_lanes,
    metadata,
    provider_changes,
    reference_version,
)


@pytest.fixture
def database(tmp_path):
    opened = Database(DatabaseSettings(f"sqlite:///{tmp_path}/placement.db"))
    yield opened
    opened.close()


def made_by_the_reference(database, change=lambda table: None):
    """Create its tables, each as `change` leaves it, its version, and nothing of ours."""
    copies = sa.MetaData()
    for table in REFERENCE_TABLES:
        table.to_metadata(copies)
    for table in copies.tables.values():
        change(table)
    with database.engine.begin() as connection:
        copies.create_all(connection)
        reference_version.create(connection)
        connection.execute(sa.insert(reference_version).values(version_num=REFERENCE_HEAD))


def differences(database):
    with database.engine.connect() as connection:
        return schema_upgrade.differences(connection)


def tables(database):
    return set(sa.inspect(database.engine).get_table_names())


OURS = {
    change_lanes.name,
    provider_changes.name,
    schema_upgrade.VERSION_TABLE,
    schema_upgrade.FIRST_VERSION_TABLE,
}


def test_an_empty_database_has_no_differences(database):
    assert differences(database) == []


def test_an_empty_database_gets_all_tables(database):
    schema_upgrade.sync(database)
    assert tables(database) == set(metadata.tables) | OURS


def test_a_new_database_is_at_the_reference_s_head(database):
    schema_upgrade.sync(database)
    assert schema_upgrade.reference_revision(database) == REFERENCE_HEAD


def test_a_synced_database_has_no_differences(database):
    schema_upgrade.sync(database)
    assert differences(database) == []


def test_syncing_again_changes_nothing(database):
    schema_upgrade.sync(database)
    before = sa.inspect(database.engine).get_columns("consumers")
    schema_upgrade.sync(database)
    assert str(sa.inspect(database.engine).get_columns("consumers")) == str(before)


def test_an_untouched_database_has_no_revision(database):
    assert (schema_upgrade.version(database), schema_upgrade.reference_revision(database)) == (
        None,
        None,
    )


def test_our_own_history_has_its_own_revision(database):
    schema_upgrade.sync(database)
    assert schema_upgrade.version(database) == "0003"


def test_the_reference_s_database_has_no_differences(database):
    made_by_the_reference(database)
    assert differences(database) == []


def test_the_reference_s_database_is_taken_over_with_its_tables_as_they_are(database):
    made_by_the_reference(database)
    with database.engine.connect() as connection:
        before = master(connection)
    schema_upgrade.sync(database)
    with database.engine.connect() as connection:
        after = master(connection)
    assert {name: after[name] for name in before} == before
    assert {row for row in after if not row.startswith(("sqlite_", "ix_"))} - set(before) == {
        *OURS,
        "berth_provider_changes_lane_position_idx",
    }


def master(connection):
    return dict(connection.exec_driver_sql("SELECT name, sql FROM sqlite_master").tuples().all())


def test_rows_of_a_database_that_is_taken_over_stay(database):
    made_by_the_reference(database)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO traits (name) VALUES ('CUSTOM_KEPT')")
    schema_upgrade.sync(database)
    schema_upgrade.sync_standard_names(database)
    with database.engine.connect() as connection:
        kept = connection.exec_driver_sql("SELECT name FROM traits WHERE id = 1").scalar()
    assert kept == "CUSTOM_KEPT"


@pytest.mark.parametrize(
    ("revision", "line"),
    [
        (
            "422ece571366",
            "the schema is at 422ece571366, not at a082b8bb98d0: bring it there with OpenStack "
            "Placement's own placement-manage db sync",
        ),
        (
            "0123456789ab",
            "the schema is at 0123456789ab, which is not known here; known is a082b8bb98d0",
        ),
    ],
)
def test_a_database_at_another_revision_is_refused(database, revision, line):
    made_by_the_reference(database)
    at = sa.update(reference_version).values(version_num=revision)
    with database.engine.begin() as connection:
        connection.execute(at)
    assert differences(database) == [f"alembic_version: {line}"]


def test_a_table_that_is_missing_is_a_difference(database):
    made_by_the_reference(database)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE resource_provider_aggregates")
    assert differences(database) == ["resource_provider_aggregates: the table is missing"]


def test_a_schema_whose_creation_was_interrupted_is_completed(database):
    made_by_the_reference(database)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE resource_provider_aggregates")
        connection.exec_driver_sql("DROP INDEX allocations_consumer_id_idx")
        connection.exec_driver_sql("DELETE FROM alembic_version")
    schema_upgrade.sync(database)
    assert tables(database) == set(metadata.tables) | OURS
    indexes = sa.inspect(database.engine).get_indexes("allocations")
    assert "allocations_consumer_id_idx" in {index["name"] for index in indexes}
    assert schema_upgrade.reference_revision(database) == REFERENCE_HEAD


def without_index(table, name):
    def change(copy):
        if copy.name == table:
            copy.indexes.difference_update({i for i in copy.indexes if i.name == name})

    return change


def without_foreign_keys(name):
    def change(table):
        if table.name == name:
            keys = [key for key in table.constraints if isinstance(key, sa.ForeignKeyConstraint)]
            table.constraints.difference_update(keys)

    return change


def test_an_index_by_another_name_or_on_more_columns_serves(database):
    made_by_the_reference(database, without_index("allocations", "allocations_consumer_id_idx"))
    with database.engine.begin() as connection:
        connection.exec_driver_sql("CREATE INDEX other ON allocations (consumer_id, used)")
    assert differences(database) == []


def with_type(name, column, kind):
    def change(table):
        if table.name == name:
            table.c[column].type = kind

    return change


def without_keys(name):
    def change(table):
        if table.name == name:
            keys = [key for key in table.constraints if isinstance(key, sa.UniqueConstraint)]
            table.constraints.difference_update(keys)

    return change


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            with_type("allocations", "used", sa.String(9)),
            "allocations: column used is VARCHAR(9), not INTEGER",
        ),
        (
            with_type("resource_providers", "uuid", sa.String(32)),
            "resource_providers: column uuid is VARCHAR(32), not VARCHAR(36)",
        ),
        (
            with_type("allocations", "used", sa.SmallInteger()),
            "allocations: column used is SMALLINT, not INTEGER",
        ),
        (
            without_index("allocations", "allocations_consumer_id_idx"),
            "allocations: no index on consumer_id",
        ),
        (
            without_foreign_keys("consumers"),
            "consumers: no foreign key on consumer_type_id",
        ),
        (
            with_type("traits", "created_at", sa.Integer()),
            "traits: column created_at is INTEGER, not DATETIME",
        ),
        (
            with_type("inventories", "allocation_ratio", sa.Text()),
            "inventories: column allocation_ratio is TEXT, not FLOAT",
        ),
        (
            without_keys("inventories"),
            "inventories: no unique key on resource_provider_id, resource_class_id",
        ),
        (without_keys("consumers"), "consumers: no unique key on uuid"),
    ],
)
def test_a_table_that_looks_different_is_named(database, change, line):
    made_by_the_reference(database, change)
    assert differences(database) == [line]


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        (
            "ALTER TABLE consumers DROP COLUMN generation",
            "consumers: column generation is missing",
        ),
        (
            "ALTER TABLE inventories ADD COLUMN colour INTEGER",
            "inventories: column colour is not known",
        ),
    ],
)
def test_a_column_too_few_or_too_many_is_named(database, statement, line):
    made_by_the_reference(database)
    with database.engine.begin() as connection:
        connection.exec_driver_sql(statement)
    assert differences(database) == [line]


def test_a_database_that_differs_is_not_taken_over(database):
    made_by_the_reference(database, without_keys("consumers"))
    with pytest.raises(schema_upgrade.SchemaDiffers):
        schema_upgrade.sync(database)
    assert tables(database) & OURS == set()


def test_all_differences_are_listed_a_line_each(database):
    def both(table):
        without_keys("consumers")(table)
        with_type("traits", "name", sa.Integer())(table)

    made_by_the_reference(database, both)
    with pytest.raises(schema_upgrade.SchemaDiffers) as refused:
        schema_upgrade.sync(database)
    assert str(refused.value).splitlines() == [
        "The database can't be taken over, its schema differs:",
        "  consumers: no unique key on uuid",
        "  traits: column name is INTEGER, not VARCHAR(255)",
    ]


def test_a_unique_index_is_as_good_as_a_unique_key(database):
    made_by_the_reference(database, without_keys("consumers"))
    with database.engine.begin() as connection:
        connection.exec_driver_sql("CREATE UNIQUE INDEX other_name ON consumers (uuid)")
    assert differences(database) == []


def test_a_column_without_a_length_is_as_good_as_one_with(database):
    made_by_the_reference(database, with_type("consumers", "uuid", sa.String()))
    assert differences(database) == []


def test_the_head_can_be_stamped(database):
    schema_upgrade.stamp(database, "head")
    assert schema_upgrade.reference_revision(database) == REFERENCE_HEAD


def test_standard_names_are_stored_once(database):
    schema_upgrade.sync(database)
    counts = []
    for _ in range(2):
        schema_upgrade.sync_standard_names(database)
        with database.engine.connect() as connection:
            counts.append(
                [
                    connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()
                    for table in ("traits", "resource_classes")
                ]
            )
    assert counts[0] == counts[1]


def test_standard_classes_have_their_index_as_id(database):
    schema_upgrade.sync(database)
    schema_upgrade.sync_standard_names(database)
    with database.engine.connect() as connection:
        found = connection.exec_driver_sql(
            "SELECT id, name FROM resource_classes WHERE id IN (0, 10) ORDER BY id"
        ).all()
    assert found == [(0, "VCPU"), (10, "VGPU")]


def test_the_written_revisions_are_alembic_s_history():
    history = ScriptDirectory.from_config(schema_upgrade.alembic_config()).walk_revisions()
    assert tuple(revision.revision for revision in history)[::-1] == schema_upgrade.REVISIONS
