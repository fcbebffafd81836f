"""Make a database ready for a service: at the start, or as soon as it can be reached."""

import logging

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from placement.errors import DatabaseUnavailable
from placement.storage import resource_classes, traits
from placement.storage.database.compiled import Compiled
from placement.storage.database.engine import Connection, Database
from placement.storage.driver.dialects import DatabaseUnusable
from placement.storage.driver.mysql_sessions import LOGS_STATEMENTS
from placement.storage.driver.outages import refusal_of
from placement.storage.schema import schema_upgrade

LOG = logging.getLogger(__name__)
_REVISION = sa.select(sa.column("version_num", sa.String)).select_from(
    sa.table(schema_upgrade.VERSION_TABLE)
)
#: asks for the revision, which fails without the newest schema's table, and for names
_WITH_NAMES = (Compiled(_REVISION), resource_classes.ALL_NAMES, traits.STANDARD_NAMES)


def make_ready(database: Database, sync: bool, store_standard_names: bool) -> None:
    """Wait for the database as long as its settings say, and make it ready.

    Raises SchemaDiffers, DatabaseUnusable or OperationalError if it can't be used.

    :param sync: whether the schema is brought up to date
    :param store_standard_names: whether missing standard resource classes and traits are stored
    """
    database.wait_until_reachable()
    _prepare(database, sync, store_standard_names)


def check_readable(database: Database) -> None:
    """Check that the tables can be read, whether this service or the reference made them.

    Writes nothing. Raises SchemaDiffers, DatabaseUnusable or OperationalError.
    """
    with database.engine.connect() as connection:
        if not schema_upgrade.is_there(connection):
            raise DatabaseUnusable("The database has no tables of a placement service.")
        found = schema_upgrade.differences(connection)
    if found:
        raise schema_upgrade.SchemaDiffers(found)


def make_ready_when_there(database: Database, sync: bool, store_standard_names: bool) -> None:
    """Make a database ready like `make_ready`, but don't wait if it can't be reached now.

    Then the first transaction makes it ready. Until the database can be reached, transactions raise
    DatabaseUnavailable.
    """
    try:
        _prepare(database, sync, store_standard_names)
    except DatabaseUnavailable:
        pass
    except DBAPIError as error:
        if refusal_of(error) is None:
            raise
    else:
        return
    LOG.warning("Starts without the database.")
    database.prepare_first(lambda: _prepare_late(database, sync, store_standard_names))


def _prepare(database: Database, sync: bool, store_standard_names: bool) -> None:
    # a read tries to connect again and again, and others wait for this one
    database.engine.connect().close()
    if _is_ready(database, store_standard_names):
        return
    # This read has the time limits of a request. A change of the schema has none: it would wait for
    # as long as a database is frozen.
    version = schema_upgrade.version(database)
    if database.read(lambda connection: connection.info.get(LOGS_STATEMENTS)):
        raise DatabaseUnusable(
            "The server of the database refuses writes that are READ COMMITTED, because it writes "
            "a binary log with binlog_format = STATEMENT: set it to MIXED or ROW."
        )
    # a schema that is there needs no connection without time limits
    if sync and version != schema_upgrade.REVISIONS[-1]:
        done = schema_upgrade.sync(database)
        if done.before != done.after:
            LOG.info("%s", done)
    elif version is None:
        # a database of OpenStack Placement could be read, but not written
        raise DatabaseUnusable(
            "The database hasn't the schema of this service: run placement-manage db sync."
        )
    elif schema_upgrade.is_behind(version):
        raise DatabaseUnusable(
            "The database has the schema of an earlier version: run placement-manage db sync."
        )
    if store_standard_names:
        schema_upgrade.sync_standard_names(database)


def _is_ready(database: Database, with_names: bool) -> bool:
    """Ask in one message for what most starts find: a database that needs nothing.

    :param with_names: whether it has to have the standard names
    """
    asked = _WITH_NAMES if with_names else _WITH_NAMES[:1]

    def is_ready(connection: Connection) -> bool:
        recorded, *names = connection.execute_all(*((each, {}) for each in asked))
        if (
            connection.info.get(LOGS_STATEMENTS)
            or recorded.scalar() != schema_upgrade.REVISIONS[-1]
        ):
            return False
        if not with_names:
            return True
        classes, of_traits = (each.scalars() for each in names)
        return not (resource_classes.missing_in(classes) or traits.missing_in(of_traits))

    try:
        return database.read(is_ready)
    except DBAPIError:
        # without a schema of ours. If there is another reason, the questions that follow tell it
        return False


def _prepare_late(database: Database, sync: bool, store_standard_names: bool) -> None:
    """Prepare during a request: log the reason of a failure and raise DatabaseUnavailable."""
    try:
        _prepare(database, sync, store_standard_names)
    except (DatabaseUnusable, schema_upgrade.SchemaDiffers) as error:
        LOG.error("%s", error)
        raise DatabaseUnavailable() from error
