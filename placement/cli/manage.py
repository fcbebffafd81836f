"""`placement-manage`: the database from the command line (rest-api.md 7.3)."""

import contextlib
import logging
import sys
from collections.abc import Sequence
from typing import Any

import prettytable
from oslo_config import cfg

from placement import config
from placement.cli import compare, online_migrations
from placement.cli.failure import FAILED, told
from placement.cli.version import VERSION
from placement.config import logs, sources
from placement.installation import refuse_shared_environment
from placement.storage import schema_upgrade
from placement.storage.engine import Database, DatabaseSettings

LOG = logging.getLogger(__name__)

PROGRAM = "placement-manage"
BATCH = 50
# longer numbers exceed what databases accept as a LIMIT
_MOST_DIGITS = 18
BAD_COUNT = 127
SOMETHING_LEFT = 1
SOMETHING_FAILED = 2


def add_commands(categories: Any) -> None:
    """Add our commands to a command line that has the options of oslo.config and oslo.log."""
    db = categories.add_parser("db", help="manage the database")
    db.set_defaults(run=None, help=db.print_help, opens_database=True)
    commands = db.add_subparsers(description="database commands")
    sync = commands.add_parser("sync", help="Sync the database to the current version.")
    sync.set_defaults(run=_sync)
    version = commands.add_parser("version", help="Report the current database version.")
    version.set_defaults(run=_version)
    stamp = commands.add_parser("stamp", help="Stamp the revision table with the given version.")
    stamp.add_argument("version", help="a revision of the schema, or head")
    stamp.set_defaults(run=_stamp)
    online = commands.add_parser(
        "online_data_migrations",
        help="Run the online data migrations.",
        description="Run the online data migrations.",
    )
    online.add_argument(
        "--max-count", metavar="<number>", help="Maximum number of objects to consider"
    )
    online.set_defaults(run=_online_data_migrations)
    compare.add_command(categories)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf.register_cli_opt(cfg.SubCommandOpt("command", title="commands", handler=add_commands))
    with told(PROGRAM, compare.INCOMPLETE_CODE if compare.COMMAND in given else FAILED):
        if not _read(conf, given):
            return 1 if not given else 0
        refuse_shared_environment()
        if not conf.command.opens_database:
            return conf.command.run(conf)
        # standard output has only the command's result
        conf.set_default("use_stderr", True)
        logs.set_up(conf, config.PROJECT)
        database = Database(DatabaseSettings.of(conf.placement_database))
        incomplete = online_migrations.IncompleteOwner(
            conf.placement.incomplete_consumer_project_id,
            conf.placement.incomplete_consumer_user_id,
        )
        try:
            return conf.command.run(conf.command, database, incomplete)
        finally:
            database.close()


def _read(conf: cfg.ConfigOpts, argv: list[str]) -> bool:
    """Read command line and files; without a command, show help and return False."""
    if not argv:
        with contextlib.suppress(SystemExit):
            sources.read(conf, ["--help"], PROGRAM, version=VERSION)
        return False
    try:
        sources.read(conf, argv, PROGRAM, version=VERSION)
    except cfg.RequiredOptError:
        # help needs no database, and some commands need none
        if conf.command.run is not None and conf.command.opens_database:
            raise
    if conf.command.run is None:
        conf.command.help()
        return False
    return True


Incomplete = online_migrations.IncompleteOwner


def _version(arguments: Any, database: Database, incomplete: Incomplete) -> int:
    print(schema_upgrade.reference_revision(database))
    return 0


def _sync(arguments: Any, database: Database, incomplete: Incomplete) -> int:
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


if __name__ == "__main__":
    sys.exit(main())
