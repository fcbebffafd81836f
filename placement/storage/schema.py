"""Bring a database to the current schema, or say why it can't be taken over (DESIGN D2)."""

import pathlib
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy.dialects import mysql

from placement.storage import resource_classes, traits
from placement.storage.dialects import DatabaseUnusable, schema_lock
from placement.storage.engine import Connection, Database
from placement.storage.tables import (
    REFERENCE_HEAD,
    REFERENCE_REVISIONS,
    REFERENCE_TABLES,
    reference_version,
)

MIGRATIONS = pathlib.Path(__file__).parent / "migrations"
VERSION_TABLE = "berth_alembic_version"


class SchemaDiffers(Exception):
    """The database holds tables of this service that don't look as they should."""

    def __init__(self, differences: list[str]) -> None:
        self.differences = differences
        lines = "".join(f"\n  {difference}" for difference in differences)
        super().__init__(f"The database can't be taken over, its schema differs:{lines}")


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic's configuration for our migrations, to run on an open connection."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


def sync(database: Database) -> None:
    """Create or upgrade the schema. Raises SchemaDiffers.

    Workers that start at the same time may all call it: one after the other they find it done.
    """
    with database.transaction() as connection, schema_lock(connection):
        # before alembic makes its table, which MySQL would leave in a database that is refused
        if _version(connection) is None and (found := differences(connection)):
            raise SchemaDiffers(found)
        command.upgrade(alembic_config(connection), "head")


def version(database: Database) -> str | None:
    """The revision of our own schema history, or None for a database it hasn't touched."""
    with database.engine.connect() as connection:
        return _version(connection)


def _version(connection: Connection) -> str | None:
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision()


def reference_revision(database: Database) -> str | None:
    """The schema's revision in OpenStack Placement's own history; None for an empty database."""
    with database.engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def stamp(database: Database, revision: str) -> None:
    """Say which of the reference's revisions the schema has, without changing it.

    Raises DatabaseUnusable for a revision that the reference doesn't know.
    """
    chosen = REFERENCE_HEAD if revision == "head" else revision
    if chosen not in REFERENCE_REVISIONS:
        raise DatabaseUnusable(f"There is no revision {revision!r}.")
    with database.transaction() as connection:
        reference_version.create(connection, checkfirst=True)
        connection.execute(sa.delete(reference_version))
        connection.execute(sa.insert(reference_version).values(version_num=chosen))


def sync_standard_names(database: Database) -> None:
    """Store the standard resource classes and traits that are missing (rest-api.md 6.3)."""
    database.write(resource_classes.sync)
    database.write(traits.sync)


def differences(connection: Connection) -> list[str]:
    """How the reference's schema in the database differs from its head, a line each.

    Tables that aren't there are no difference where no revision is recorded either: the database
    is empty, or whoever made the others hadn't finished.
    """
    inspector = sa.inspect(connection)
    there = set(inspector.get_table_names())
    revision = MigrationContext.configure(connection).get_current_revision()
    found = [] if revision is None else _revision_differences(revision)
    for table in REFERENCE_TABLES:
        if table.name in there:
            columns = {column["name"]: column for column in inspector.get_columns(table.name)}
            found += _column_differences(table, columns)
            found += _key_differences(table, inspector)
        elif revision is not None:
            found.append(f"{table.name}: the table is missing")
    return found


def _revision_differences(revision: str) -> list[str]:
    at = f"alembic_version: the schema is at {revision}"
    if revision == REFERENCE_HEAD:
        return []
    if revision in REFERENCE_REVISIONS:
        return [
            f"{at}, not at {REFERENCE_HEAD}: bring it there with OpenStack Placement's own "
            "placement-manage db sync"
        ]
    return [f"{at}, which is not known here; known is {REFERENCE_HEAD}"]


def _column_differences(table: sa.Table, columns: dict[str, Any]) -> list[str]:
    found = []
    for column in table.columns:
        there = columns.pop(column.name, None)
        if there is None:
            found.append(f"{table.name}: column {column.name} is missing")
        elif not _same_kind(column.type, there["type"]):
            found.append(
                f"{table.name}: column {column.name} is {there['type']}, not {column.type}"
            )
    found += [f"{table.name}: column {name} is not known" for name in columns]
    return found


def _key_differences(table: sa.Table, inspector: sa.Inspector) -> list[str]:
    """Keys and indexes that are missing, whatever they are called; more of them do no harm."""
    indexes = inspector.get_indexes(table.name)
    unique = [
        *(key["column_names"] for key in inspector.get_unique_constraints(table.name)),
        *(index["column_names"] for index in indexes if index["unique"]),
    ]
    foreign = [key["constrained_columns"] for key in inspector.get_foreign_keys(table.name)]
    primary = inspector.get_pk_constraint(table.name)["constrained_columns"]
    sorting: list[Any] = [*unique, primary, *(index["column_names"] for index in indexes)]
    found = []
    for constraint in table.constraints:
        if isinstance(constraint, sa.UniqueConstraint):
            columns = list(constraint.columns.keys())
            if columns not in unique:
                found.append(f"{table.name}: no unique key on {', '.join(columns)}")
        elif isinstance(constraint, sa.ForeignKeyConstraint):
            columns = list(constraint.column_keys)
            if columns not in foreign:
                found.append(f"{table.name}: no foreign key on {', '.join(columns)}")
    for index in table.indexes:
        columns = list(index.columns.keys())
        # an index on more columns serves, if it begins with these
        if columns not in [known[: len(columns)] for known in sorting]:
            found.append(f"{table.name}: no index on {', '.join(columns)}")
    return sorted(found)


#: integers that don't hold what an integer does
_NARROW = (sa.SmallInteger, mysql.TINYINT, mysql.SMALLINT, mysql.MEDIUMINT)


def _same_kind(wanted: sa.types.TypeEngine, there: sa.types.TypeEngine) -> bool:
    if isinstance(wanted, sa.String):
        # 0 stands for "no length given", which some databases report
        return isinstance(there, sa.String) and (there.length or 0) in (0, wanted.length)
    if isinstance(wanted, sa.Float):
        return isinstance(there, (sa.Float, sa.Numeric))
    if isinstance(wanted, sa.Integer):
        return isinstance(there, sa.Integer) and not isinstance(there, _NARROW)
    return isinstance(wanted, sa.DateTime) and isinstance(there, sa.DateTime)
