"""`placement-manage`: the database from the command line (rest-api.md 7.3)."""

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

from placement import config
from placement.cli import (
    candidates_command,
    capacity_command,
    compare_options,
    openapi_command,
)
from placement.cli.failure import FAILED, say, told
from placement.compare import exit_codes
from placement.config import misspelt, sources
from placement.installation import our_version, refuse_shared_environment

PROGRAM = "placement-manage"


def add_commands(categories: Any) -> None:
    """Add our commands to a command line that has the options of oslo.config and oslo.log."""
    db = categories.add_parser("db", help="manage the database")
    db.set_defaults(run=None, help=db.print_help, opens_database=True)
    commands = db.add_subparsers(description="database commands")
    sync = commands.add_parser("sync", help="Sync the database to the current version.")
    sync.set_defaults(run="sync")
    version = commands.add_parser("version", help="Report the current database version.")
    version.set_defaults(run="version")
    stamp = commands.add_parser("stamp", help="Stamp the revision table with the given version.")
    stamp.add_argument("version", help="a revision of the schema, or head")
    stamp.set_defaults(run="stamp")
    online = commands.add_parser(
        "online_data_migrations",
        help="Run the online data migrations.",
        description="Run the online data migrations.",
    )
    online.add_argument(
        "--max-count", metavar="<number>", help="Maximum number of objects to consider"
    )
    online.set_defaults(run="online_data_migrations")
    compare_options.add_command(categories)
    candidates_command.add_command(categories)
    capacity_command.add_command(categories)
    openapi_command.add_command(categories)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf.register_cli_opt(cfg.SubCommandOpt("command", title="commands", handler=add_commands))
    with told(PROGRAM, exit_codes.INCOMPLETE if compare_options.COMMAND in given else FAILED):
        if not _read(conf, given):
            return 1 if not given else 0
        refuse_shared_environment()
        if not conf.command.opens_database:
            return conf.command.run(conf)
        # imported here because --help and --version need no database
        from placement.cli import database_commands

        return database_commands.run(conf)


def _read(conf: cfg.ConfigOpts, argv: list[str]) -> bool:
    """Read command line and files; without a command, show help and return False."""
    if not argv:
        with contextlib.suppress(SystemExit):
            sources.read(conf, ["--help"], PROGRAM, version=our_version())
        return False
    try:
        sources.read(conf, argv, PROGRAM, version=our_version())
    except cfg.RequiredOptError:
        # help needs no database, and some commands need none
        if conf.command.run is not None and conf.command.opens_database:
            raise
    if conf.command.run is None:
        conf.command.help()
        return False
    for sentence in misspelt.told(conf):
        say(PROGRAM, sentence, as_json=False)
    return True


if __name__ == "__main__":
    sys.exit(main())
