"""A database with an older or altered schema is rejected, with a list of the differences.

See architecture.rst D2.
"""

import contextlib

import pytest
import sqlalchemy as sa

from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.tables import REFERENCE_TABLES, reference_version
from tests.adoption import cloud
from tests.adoption.rows import execute, rows

REFUSED = "placement-manage: The database can't be taken over, its schema differs:\n"
#: the revision before consumer types, and what that revision lacks (rest-api.md 6.2)
BEFORE_TYPES = "b5c396305c25"
#: the revision before the head, which also has these indexes
BEFORE_HEAD = "422ece571366"
REDUNDANT = {
    "inventories_resource_provider_id_idx": "inventories (resource_provider_id)",
    "inventories_resource_provider_resource_class_idx": (
        "inventories (resource_provider_id, resource_class_id)"
    ),
    "ix_placement_aggregates_uuid": "placement_aggregates (uuid)",
    "resource_providers_name_idx": "resource_providers (name)",
    "resource_providers_uuid_idx": "resource_providers (uuid)",
}
ADD_REDUNDANT = [f"CREATE INDEX {name} ON {columns}" for name, columns in REDUNDANT.items()]
OLDER = (
    "  alembic_version: the schema is at {}, not at a082b8bb98d0: bring it there with OpenStack "
    "Placement's own placement-manage db sync\n"
)


@pytest.fixture
def theirs(reference, empty_url):
    """Return the URL of a database that the reference created."""
    reference.sync(empty_url)
    return empty_url


def refusal(ours, url):
    """Return the output of `placement-manage db sync`, which must fail and change nothing."""
    before = names(url)
    done = ours.manage(url, "sync")
    assert (done.returncode, done.stdout, names(url)) == (1, "", before)
    return done.stderr[done.stderr.index(REFUSED) + len(REFUSED) :]


def names(url):
    """Return the names of all tables."""
    with contextlib.closing(Database(DatabaseSettings(url))) as database:
        return set(sa.inspect(database.engine).get_table_names())


def without_types(url):
    """Create the tables of the revision before consumer types."""
    metadata = sa.MetaData()
    tables = [
        table.to_metadata(metadata)
        for table in (*REFERENCE_TABLES, reference_version)
        if table.name not in ("consumer_types", "consumers")
    ]
    consumers = next(table for table in REFERENCE_TABLES if table.name == "consumers")
    kept = [column for column in consumers.columns if column.name != "consumer_type_id"]
    indexes = [index for index in consumers.indexes if "consumer_type_id" not in index.columns]
    tables.append(
        sa.Table(
            "consumers",
            metadata,
            *(column.copy() for column in kept),
            sa.UniqueConstraint("uuid", name="uniq_consumers0uuid"),
            *(sa.Index(index.name, *index.columns.keys()) for index in indexes),
            mysql_engine="InnoDB",
        )
    )
    with contextlib.closing(Database(DatabaseSettings(url))) as database:
        metadata.create_all(database.engine, tables)
    stamp = f"INSERT INTO alembic_version (version_num) VALUES ('{BEFORE_TYPES}')"
    execute(url, *ADD_REDUNDANT, stamp)


def test_a_schema_before_consumer_types_is_rejected(empty_url, ours):
    without_types(empty_url)
    assert refusal(ours, empty_url) == OLDER.format(BEFORE_TYPES) + (
        "  consumers: column consumer_type_id is missing\n"
        "  consumers: no foreign key on consumer_type_id\n"
        "  consumers: no index on consumer_type_id\n"
        "  consumer_types: the table is missing\n"
    )


def test_a_schema_before_the_head_is_rejected(theirs, reference, ours):
    execute(theirs, *ADD_REDUNDANT)
    reference.manage(theirs, "stamp", BEFORE_HEAD)
    assert refusal(ours, theirs) == OLDER.format(BEFORE_HEAD)


@pytest.mark.parametrize("revision", ["before types", "before head"])
def test_an_older_schema_is_taken_over_once_the_reference_has_upgraded_it(
    revision, empty_url, reference, ours
):
    if revision == "before types":
        without_types(empty_url)
    else:
        reference.sync(empty_url)
        execute(empty_url, *ADD_REDUNDANT)
        reference.manage(empty_url, "stamp", BEFORE_HEAD)
    reference.sync(empty_url)
    ours.sync(empty_url)
    with ours.serving(empty_url) as service:
        cloud.build(service)


def test_a_schema_newer_than_known_is_rejected(theirs, ours):
    execute(theirs, "UPDATE alembic_version SET version_num = '0123456789ab'")
    assert refusal(ours, theirs) == (
        "  alembic_version: the schema is at 0123456789ab, which is not known here; known is "
        "a082b8bb98d0\n"
    )


def drop_index(name, table):
    return {"mariadb": [f"DROP INDEX {name} ON {table}"]}, [f"DROP INDEX {name}"]


@pytest.mark.parametrize(
    ("per_kind", "statements", "lines"),
    [
        (
            {},
            ["ALTER TABLE inventories DROP COLUMN step_size"],
            ["inventories: column step_size is missing"],
        ),
        (
            *drop_index("allocations_consumer_id_idx", "allocations"),
            ["allocations: no index on consumer_id"],
        ),
        (
            {},
            [
                "ALTER TABLE inventories RENAME COLUMN reserved TO was_reserved",
                "ALTER TABLE inventories ADD COLUMN reserved VARCHAR(9)",
                "ALTER TABLE inventories DROP COLUMN was_reserved",
            ],
            ["inventories: column reserved is VARCHAR(9), not INTEGER"],
        ),
        (
            {},
            [
                "ALTER TABLE allocations ADD COLUMN colour SMALLINT",
                "ALTER TABLE inventories RENAME COLUMN reserved TO was_reserved",
                "ALTER TABLE inventories ADD COLUMN reserved SMALLINT",
                "ALTER TABLE inventories DROP COLUMN was_reserved",
                "DROP TABLE resource_provider_traits",
            ],
            [
                "inventories: column reserved is SMALLINT, not INTEGER",
                "allocations: column colour is not known",
                "resource_provider_traits: the table is missing",
            ],
        ),
    ],
    ids=["dropped column", "dropped index", "changed type", "several"],
)
def test_an_altered_schema_is_rejected(database_kind, per_kind, statements, lines, theirs, ours):
    execute(theirs, *per_kind.get(database_kind, statements))
    said = refusal(ours, theirs).replace("SMALLINT(6)", "SMALLINT")
    assert said.splitlines() == [f"  {line}" for line in lines]


def test_the_reference_still_works_on_a_rejected_database(theirs, reference, ours):
    execute(theirs, "ALTER TABLE allocations ADD COLUMN colour INTEGER")
    with reference.serving(theirs) as service:
        cloud.build(service)
    before = rows(theirs)
    refusal(ours, theirs)
    with reference.serving(theirs):
        assert rows(theirs) == before


def test_a_rejected_database_is_not_served(theirs, ours):
    execute(theirs, "ALTER TABLE allocations ADD COLUMN colour INTEGER")
    with pytest.raises(OSError), ours.serving(theirs, sync=True):  # noqa: PT011
        pass
