"""Make a database ready for a service: at its start, or as soon as it is there."""

import logging

from sqlalchemy.exc import DBAPIError

from placement.errors import DatabaseUnavailable
from placement.storage import schema_upgrade
from placement.storage.dialects import DatabaseUnusable
from placement.storage.engine import Database
from placement.storage.outages import refusal_of

LOG = logging.getLogger(__name__)


def make_ready(database: Database, sync: bool, store_standard_names: bool) -> None:
    """Wait for the database as long as its settings say, and make it ready.

    Raises SchemaDiffers, DatabaseUnusable or OperationalError when it can't be used.

    :param sync: whether the schema is brought up to date
    :param store_standard_names: whether missing standard resource classes and traits are stored
    """
    database.wait_until_reachable()
    _prepare(database, sync, store_standard_names)


def make_ready_when_there(database: Database, sync: bool, store_standard_names: bool) -> None:
    """As `make_ready`, but without waiting: whoever first uses a database that is away now makes
    it ready, and is told DatabaseUnavailable until that can be done."""
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
    if sync:
        schema_upgrade.sync(database)
    elif schema_upgrade.version(database) is None:
        # Of a database of OpenStack Placement all could be read, and nothing written.
        raise DatabaseUnusable(
            "The database hasn't the schema of this service: run placement-manage db sync."
        )
    elif schema_upgrade.is_behind(database):
        raise DatabaseUnusable(
            "The database has the schema of an earlier version: run placement-manage db sync."
        )
    if store_standard_names:
        schema_upgrade.sync_standard_names(database)


def _prepare_late(database: Database, sync: bool, store_standard_names: bool) -> None:
    """It can turn out to be another one's: a request can't be told more than that it is away."""
    try:
        _prepare(database, sync, store_standard_names)
    except (DatabaseUnusable, schema_upgrade.SchemaDiffers) as error:
        LOG.error("%s", error)
        raise DatabaseUnavailable() from error
