"""Bring a database to the current schema, or say why it can't be taken over (DESIGN D2)."""

import pathlib
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext

from placement.storage import resource_classes, traits
from placement.storage.dialects import DatabaseUnusable, schema_lock
from placement.storage.engine import Connection, Database
from placement.storage.tables import (
    REFERENCE_HEAD,
    REFERENCE_REVISIONS,
    REFERENCE_TABLES,
    metadata,
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
        command.upgrade(alembic_config(connection), "head")


def version(database: Database) -> str | None:
    """The revision of our own schema history, or None for a database it hasn't touched."""
    with database.engine.connect() as connection:
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
    """How the reference's tables in the database differ from what we expect, a line each.

    Tables that aren't there yet are no difference.
    """
    inspector = sa.inspect(connection)
    there = set(inspector.get_table_names())
    found = []
    for table in REFERENCE_TABLES:
        if table.name not in there:
            continue
        columns = {column["name"]: column for column in inspector.get_columns(table.name)}
        found += _column_differences(table, columns)
        unique = {key["name"]: key["column_names"] for key in _unique_keys(inspector, table)}
        for constraint in table.constraints:
            if not isinstance(constraint, sa.UniqueConstraint):
                continue
            wanted = [column.name for column in constraint.columns]
            if wanted not in unique.values():
                found.append(f"{table.name}: no unique key on {', '.join(wanted)}")
    return found


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


def _unique_keys(inspector: sa.Inspector, table: sa.Table) -> list[dict]:
    indexes = [index for index in inspector.get_indexes(table.name) if index["unique"]]
    return [*inspector.get_unique_constraints(table.name), *indexes]  # type: ignore[list-item]


def _same_kind(wanted: sa.types.TypeEngine, there: sa.types.TypeEngine) -> bool:
    if isinstance(wanted, sa.String):
        # 0 stands for "no length given", which some databases report
        return isinstance(there, sa.String) and (there.length or 0) in (0, wanted.length)
    if isinstance(wanted, sa.Float):
        return isinstance(there, (sa.Float, sa.Numeric))
    for kind in (sa.Integer, sa.DateTime):
        if isinstance(wanted, kind):
            return isinstance(there, kind)
    return False


def create_missing(connection: Connection) -> None:
    """Create every table that isn't there. Raises SchemaDiffers if one that is looks wrong."""
    found = differences(connection)
    if found:
        raise SchemaDiffers(found)
    metadata.create_all(connection)
