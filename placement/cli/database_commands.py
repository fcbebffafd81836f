"""The commands of `placement-manage db`, on an open database (rest-api.md 7.3)."""

import logging
from collections.abc import Callable
from typing import Any

import prettytable
from oslo_config import cfg

from placement import config
from placement.cli import online_migrations
from placement.config import logs
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.schema import schema_upgrade

LOG = logging.getLogger(__name__)

BATCH = 50
# longer numbers exceed what databases accept as a LIMIT
_MOST_DIGITS = 18
BAD_COUNT = 127
SOMETHING_LEFT = 1
SOMETHING_FAILED = 2


def run(conf: cfg.ConfigOpts) -> int:
    """Run the command of the command line and return its exit code."""
    # standard output has only the command's result
    logs.set_up(conf, config.PROJECT, always_stderr=True)
    database = Database(DatabaseSettings.of(conf.placement_database))
    incomplete = online_migrations.IncompleteOwner(
        conf.placement.incomplete_consumer_project_id,
        conf.placement.incomplete_consumer_user_id,
    )
    try:
        return COMMANDS[conf.command.run](conf.command, database, incomplete)
    finally:
        database.close()


Incomplete = online_migrations.IncompleteOwner


def _version(arguments: object, database: Database, incomplete: Incomplete) -> int:
    print(schema_upgrade.reference_revision(database))
    return 0


def _sync(arguments: object, database: Database, incomplete: Incomplete) -> int:
    # standard output stays empty, as that of OpenStack Placement's command
    LOG.info("%s", schema_upgrade.sync(database))
    return 0


def _stamp(arguments: Any, database: Database, incomplete: Incomplete) -> int:
    schema_upgrade.stamp(database, arguments.version)
    return 0


def _online_data_migrations(arguments: Any, database: Database, incomplete: Incomplete) -> int:
    limit = None
    if arguments.max_count is not None:
        given = arguments.max_count
        limit = int(given) if given.isdecimal() and len(given) <= _MOST_DIGITS else 0
        if limit < 1:
            print("Must supply a positive value for max_count")
            return BAD_COUNT
    else:
        print(f"Running batches of {BATCH} until complete")
    outcome = online_migrations.run(database, incomplete, limit, BATCH)
    table = prettytable.PrettyTable(["Migration", "Total Found", "Completed"])
    for name, count in outcome.counts.items():
        table.add_row([name, count.found, count.done])
    print(table)
    if limit is not None and outcome.done:
        return SOMETHING_LEFT
    if outcome.failed:
        print("Some migrations failed unexpectedly. Check log for details.")
        return SOMETHING_FAILED
    return 0


COMMANDS: dict[str, Callable[[Any, Database, Incomplete], int]] = {
    "sync": _sync,
    "version": _version,
    "stamp": _stamp,
    "online_data_migrations": _online_data_migrations,
}
