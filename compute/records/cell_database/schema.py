"""Brings the cell database to the current schema; its history is in `migrations`."""

import pathlib
import threading
from typing import TYPE_CHECKING

import sqlalchemy as sa

from compute.exceptions import InvalidConfiguration
from compute.records.cell_database.tables import metadata

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = pathlib.Path(__file__).parent / "migrations"
VERSION_TABLE = "berth_compute_alembic_version"
#: the newest revision. It is written down because alembic, which reads the folder of migrations, is
#: imported for a change of the schema only: most starts need none
HEAD = "0002"
KNOWN = frozenset({None, "0001", HEAD})

_NEWER = (
    "The compute node records in {} were written by a newer version of Berth: their schema is {}, "
    "and this version knows {}. Run that version, or restore the file as it was before the upgrade."
)

# alembic keeps the migration it runs in a module's variable.
_one_at_a_time = threading.Lock()


def sync(engine: sa.Engine) -> None:
    """Create or upgrade the schema; a file that is up to date is only read.

    Raises InvalidConfiguration if a newer version made the file.
    """
    with _one_at_a_time, engine.begin() as connection:
        # Take the write lock before reading the version: two services may start on one file.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        if not sa.inspect(connection).get_table_names():
            _build(connection)
        elif (known := version(connection)) != HEAD:
            if known not in KNOWN:
                raise InvalidConfiguration(_NEWER.format(engine.url.database, known, HEAD))
            from alembic import command

            command.upgrade(alembic_config(connection), "head")


def is_readable(engine: sa.Engine) -> bool:
    """Say whether the tables can be read as they are; if not, an upgrade of a copy helps.

    Raises InvalidConfiguration if a newer version made the file, and took a column away.
    """
    with engine.connect() as connection:
        known = version(connection)
        if known in KNOWN:
            return known == HEAD
        inspector = sa.inspect(connection)
        tables = {*inspector.get_table_names()}
        for table in metadata.sorted_tables:
            has = (
                {column["name"] for column in inspector.get_columns(table.name)}
                if (table.name in tables)
                else set()
            )
            if not {column.name for column in table.columns} <= has:
                raise InvalidConfiguration(_NEWER.format(engine.url.database, known, HEAD))
    return True


def _build(connection: sa.Connection) -> None:
    """Create in an empty file what the migrations would; alembic takes much longer."""
    metadata.create_all(connection, checkfirst=False)
    connection.exec_driver_sql(
        f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, "
        f"CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
    )
    connection.exec_driver_sql(f"INSERT INTO {VERSION_TABLE} VALUES ('{HEAD}')")  # noqa: S608


def alembic_config(connection: sa.Connection) -> "Config":
    """alembic's configuration for our migrations, to run on an open connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


def version(connection: sa.Connection) -> str | None:
    """Return the revision of the schema; None for a file without a history."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").scalar()  # noqa: S608


def create_missing(connection: sa.Connection) -> None:
    """Create the tables and indexes that aren't there."""
    metadata.create_all(connection, checkfirst=True)
