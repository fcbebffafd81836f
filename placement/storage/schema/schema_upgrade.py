"""Bring a database to the current schema, or say why it can't be taken over.

See architecture.rst D2.
"""

import dataclasses
import logging
import pathlib
import random
import time
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import DBAPIError

from placement.storage import resource_classes, traits
from placement.storage.database.engine import Connection, Database
from placement.storage.driver.dialects import DatabaseUnusable, schema_lock
from placement.storage.feed import change_feed
from placement.storage.tables import (
    REFERENCE_HEAD,
    REFERENCE_REVISIONS,
    REFERENCE_TABLES,
    metadata,
    provider_changes,
    reference_version,
)

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

LOG = logging.getLogger(__name__)
MIGRATIONS = pathlib.Path(__file__).parent / "migrations"
#: the table with the current revision of Berth's own schema history
VERSION_TABLE = "berth_schema_version"
#: Berth's own schema history, the earliest first. It is written down because alembic, which reads
#: the folder of migrations, is imported for a change of the schema only: most starts need none
REVISIONS = ("0001", "0002", "0003")
#: the table of revision 0001. It keeps that revision: workers of that version refuse a database at
#: any other revision, and may be started again in the middle of an upgrade
FIRST_VERSION_TABLE = "berth_alembic_version"
#: how often a concurrent change of the schema is tried, and the longest pause between, in seconds
_TRIES = 20
_LONGEST_PAUSE = 1.0
#: MySQL's errors when another process concurrently makes the same table, column, index or row. They
#: occur in Galera clusters, where locks are valid on their own node only
_RACES = frozenset({1050, 1060, 1061, 1062, 1205, 1213, 1684})


class SchemaDiffers(Exception):
    """The database has tables of this service, and they differ from the schema."""

    def __init__(self, differences: list[str]) -> None:
        self.differences = differences
        lines = "".join(f"\n  {difference}" for difference in differences)
        super().__init__(f"The database can't be taken over, its schema differs:{lines}")


def alembic_config(connection: sa.Connection | None = None) -> "Config":
    """Return Alembic's configuration for our migrations, to run on an open connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


@dataclasses.dataclass(frozen=True)
class Upgrade:
    """What a synchronisation of the schema did; as a text, a sentence for the operator.

    :param before: the revision before; None if the database had none of ours
    :param after: the revision now
    :param tables: names of the tables that were added
    """

    before: str | None
    after: str | None
    tables: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.before == self.after:
            return f"The schema is current: revision {self.after}."
        origin = "no revision" if self.before is None else f"revision {self.before}"
        tables = ", ".join(self.tables) or "none"
        return (
            f"The schema was at {origin} and is at revision {self.after}. Tables added: {tables}."
        )


def sync(database: Database) -> Upgrade:
    """Create or upgrade the schema, and return what was done. Raises SchemaDiffers.

    Workers that start at the same time may all call it: they run one after the other. The schema of
    a later version stays as it is, because this version can use it, too.
    """
    for attempt in range(1, _TRIES + 1):
        try:
            return _sync(database)
        except DBAPIError as error:
            if attempt == _TRIES or not _is_race(error):
                raise
            time.sleep(random.uniform(0, _LONGEST_PAUSE))
    raise AssertionError("unreachable: the last try returns or raises")


def _is_race(error: DBAPIError) -> bool:
    arguments: tuple[Any, ...] = getattr(error.orig, "args", ())
    return arguments[:1] != () and arguments[0] in _RACES


def _sync(database: Database) -> Upgrade:
    with database.transaction() as opened, schema_lock(opened.plain):
        connection = opened.plain
        # before alembic creates its table: MySQL would keep that table in a refused database
        current = _version(connection)
        if current is None and (found := differences(connection)):
            raise SchemaDiffers(found)
        if current is not None and current not in REVISIONS:
            LOG.info("The schema is one of a later version (%s), and stays as it is.", current)
            return Upgrade(current, current)
        recorded = _recorded(connection, VERSION_TABLE)
        if recorded == REVISIONS[-1]:
            return Upgrade(current, current)
        from alembic import command

        tables = set(sa.inspect(connection).get_table_names())
        if current is not None and recorded is None:
            _context(connection, VERSION_TABLE).stamp(_history(), current)
        command.upgrade(alembic_config(connection), "head")
        added = sorted(set(sa.inspect(connection).get_table_names()) - tables)
        return Upgrade(current, _version(connection), tuple(added))


def version(database: Database) -> str | None:
    """Return the revision of our own schema history; None for a database without one."""
    with database.engine.connect() as connection:
        return _version(connection)


def answering_version(database: Database) -> str | None:
    """Return the same, within the time limits of a request. Raises what `Database.read` raises."""
    return database.read(lambda connection: _version(connection.plain))


def is_behind(revision: str | None) -> bool:
    """Return whether a revision is that of an earlier version of this service."""
    return revision in REVISIONS[:-1]


def _version(connection: sa.Connection) -> str | None:
    tables = (VERSION_TABLE, FIRST_VERSION_TABLE)
    found = (_recorded(connection, table) for table in tables)
    return next((revision for revision in found if revision is not None), None)


def _recorded(connection: sa.Connection, table: str) -> str | None:
    """Return the revision in one of alembic's tables; None without the table or without a row."""
    if not sa.inspect(connection).has_table(table):
        return None
    number = sa.column("version_num", sa.String)
    return connection.execute(sa.select(number).select_from(sa.table(table))).scalars().first()


def _context(connection: sa.Connection, table: str) -> "MigrationContext":
    from alembic.runtime.migration import MigrationContext

    return MigrationContext.configure(connection, opts={"version_table": table})


def _history() -> "ScriptDirectory":
    from alembic.script import ScriptDirectory

    return ScriptDirectory.from_config(alembic_config())


def keep_first_version(connection: sa.Connection) -> None:
    """Store revision 0001 in the table where workers of that version look for it."""
    if _recorded(connection, FIRST_VERSION_TABLE) is None:
        _context(connection, FIRST_VERSION_TABLE).stamp(_history(), "0001")


def reference_revision(database: Database) -> str | None:
    """Return the revision in OpenStack Placement's history; None for an empty database."""
    with database.engine.connect() as connection:
        return _recorded(connection, reference_version.name)


def stamp(database: Database, revision: str) -> None:
    """Store which of the reference's revisions the schema has, without changing the schema.

    Raises DatabaseUnusable for a revision that the reference doesn't know.
    """
    chosen = REFERENCE_HEAD if revision == "head" else revision
    if chosen not in REFERENCE_REVISIONS:
        raise DatabaseUnusable(f"There is no revision {revision!r}.")
    with database.transaction() as connection:
        reference_version.create(connection.plain, checkfirst=True)
        connection.execute(sa.delete(reference_version))
        connection.execute(sa.insert(reference_version).values(version_num=chosen))


def sync_standard_names(database: Database) -> None:
    """Store the standard resource classes and traits that are missing (rest-api.md 6.3)."""
    database.write(_sync_names)


def _sync_names(connection: Connection) -> None:
    found = [resource_classes.sync(connection), traits.sync(connection)]
    if any(found):
        change_feed.record_names(connection)


def is_there(connection: sa.Connection) -> bool:
    """Return whether the database has the reference's tables; only that, whatever is in them."""
    there = set(sa.inspect(connection).get_table_names())
    return {table.name for table in REFERENCE_TABLES} <= there


def differences(connection: sa.Connection) -> list[str]:
    """How the reference's schema in the database differs from its head, a line each.

    Tables and indexes that aren't there are no difference where no revision is recorded either:
    the database is empty, or whoever made the others hadn't finished; see `create_missing`.
    """
    inspector = sa.inspect(connection)
    there = set(inspector.get_table_names())
    revision = _recorded(connection, reference_version.name)
    found = [] if revision is None else _revision_differences(revision)
    for table in REFERENCE_TABLES:
        if table.name in there:
            columns = {column["name"]: column for column in inspector.get_columns(table.name)}
            found += _column_differences(table, columns)
            found += _key_differences(table, inspector)
            if revision is not None:
                found += [
                    f"{table.name}: no index on {', '.join(index.columns.keys())}"
                    for index in _missing_indexes(table, inspector)
                ]
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
    """Keys that are missing, whatever they are called; more of them do no harm."""
    unique = _unique_keys(table, inspector)
    foreign = [key["constrained_columns"] for key in inspector.get_foreign_keys(table.name)]
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
    return sorted(found)


def _unique_keys(table: sa.Table, inspector: sa.Inspector) -> list[list[Any]]:
    indexes = inspector.get_indexes(table.name)
    return [
        *(key["column_names"] for key in inspector.get_unique_constraints(table.name)),
        *(index["column_names"] for index in indexes if index["unique"]),
    ]


def _missing_indexes(table: sa.Table, inspector: sa.Inspector) -> list[sa.Index]:
    """Indexes for which there is none that begins with the same columns."""
    there = [
        *_unique_keys(table, inspector),
        inspector.get_pk_constraint(table.name)["constrained_columns"],
        *(index["column_names"] for index in inspector.get_indexes(table.name)),
    ]
    found = []
    for index in table.indexes:
        columns = list(index.columns.keys())
        if columns not in [known[: len(columns)] for known in there]:
            found.append(index)
    return sorted(found, key=lambda index: str(index.name))


def create_missing(connection: sa.Connection) -> None:
    """Create what isn't there of tables that have no `differences`.

    MySQL commits each table and each index for itself: whoever began may have got anywhere.
    """
    inspector = sa.inspect(connection)
    there = set(inspector.get_table_names())
    for table in metadata.sorted_tables:
        # the change feed's own history sees to its columns and their index
        if table.name in there and table is not provider_changes:
            for index in _missing_indexes(table, inspector):
                index.create(connection)
    metadata.create_all(connection)


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
