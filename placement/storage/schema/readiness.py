"""Make a database ready for a service: at the start, or as soon as it can be reached."""

import logging

from sqlalchemy.exc import DBAPIError

from placement.errors import DatabaseUnavailable
from placement.storage.database.engine import Database
from placement.storage.driver.dialects import DatabaseUnusable
from placement.storage.driver.mysql_sessions import LOGS_STATEMENTS
from placement.storage.driver.outages import refusal_of
from placement.storage.schema import schema_upgrade

LOG = logging.getLogger(__name__)


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
    # This read has the time limits of a request. A change of the schema has none: it would wait for
    # as long as a database is frozen.
    version = schema_upgrade.version(database)
    if database.read(lambda connection: connection.info.get(LOGS_STATEMENTS)):
        raise DatabaseUnusable(
            "The server of the database refuses writes that are READ COMMITTED, because it writes "
            "a binary log with binlog_format = STATEMENT: set it to MIXED or ROW."
        )
    # most starts find the newest schema, and need no connection without time limits
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


def _prepare_late(database: Database, sync: bool, store_standard_names: bool) -> None:
    """Prepare during a request: log the reason of a failure and raise DatabaseUnavailable."""
    try:
        _prepare(database, sync, store_standard_names)
    except (DatabaseUnusable, schema_upgrade.SchemaDiffers) as error:
        LOG.error("%s", error)
        raise DatabaseUnavailable() from error
