"""`placement-manage`: the database from the command line (rest-api.md 7.3)."""

import argparse
import sys
from collections.abc import Sequence

import prettytable
from oslo_log import log as oslo_log

from placement import config
from placement.cli import online_migrations
from placement.cli.failure import told
from placement.cli.version import VERSION
from placement.storage import schema
from placement.storage.engine import Database, DatabaseSettings

BATCH = 50
BAD_COUNT = 127
SOMETHING_LEFT = 1
SOMETHING_FAILED = 2


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="placement-manage")
    options.add_argument("--version", action="version", version=VERSION)
    options.add_argument("--config-file", action="append", default=[], metavar="PATH")
    options.add_argument("--config-dir", action="append", default=[], metavar="DIR")
    options.add_argument("--debug", "-d", action="store_true", help="log at DEBUG")
    categories = options.add_subparsers(dest="category", title="commands")
    db = categories.add_parser("db", help="manage the database")
    db.set_defaults(help=db.print_help)
    commands = db.add_subparsers(dest="command", title="database commands")
    commands.add_parser("version", help="show the schema's revision").set_defaults(run=_version)
    commands.add_parser("sync", help="bring the schema up to date").set_defaults(run=_sync)
    stamp = commands.add_parser("stamp", help="set the revision without changing the schema")
    stamp.add_argument("revision", help="a revision of the schema, or head")
    stamp.set_defaults(run=_stamp)
    online = commands.add_parser("online_data_migrations", help="fill in what old data lacks")
    online.add_argument("--max-count", metavar="N", help="rows to look at, at most")
    online.set_defaults(run=_online_data_migrations)
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and answer its exit code."""
    options = parser()
    arguments = options.parse_args(argv)
    if arguments.category is None:
        options.print_help()
        return 1
    if arguments.command is None:
        arguments.help()
        return 0
    argv = [f"--config-file={path}" for path in arguments.config_file]
    argv += [f"--config-dir={path}" for path in arguments.config_dir]
    argv += ["--debug"] if arguments.debug else []
    with told("placement-manage"):
        conf = config.load(argv)
        # standard output is for what was asked for
        conf.set_default("use_stderr", True)
        oslo_log.setup(conf, config.PROJECT)
        database = Database(DatabaseSettings.of(conf.placement_database))
        incomplete = online_migrations.IncompleteOwner(
            conf.placement.incomplete_consumer_project_id,
            conf.placement.incomplete_consumer_user_id,
        )
        try:
            return arguments.run(arguments, database, incomplete)
        finally:
            database.close()


Incomplete = online_migrations.IncompleteOwner


def _version(arguments: argparse.Namespace, database: Database, incomplete: Incomplete) -> int:
    print(schema.reference_revision(database))
    return 0


def _sync(arguments: argparse.Namespace, database: Database, incomplete: Incomplete) -> int:
    schema.sync(database)
    return 0


def _stamp(arguments: argparse.Namespace, database: Database, incomplete: Incomplete) -> int:
    schema.stamp(database, arguments.revision)
    return 0


def _online_data_migrations(
    arguments: argparse.Namespace, database: Database, incomplete: Incomplete
) -> int:
    limit = None
    if arguments.max_count is not None:
        limit = int(arguments.max_count) if arguments.max_count.isdecimal() else 0
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
