"""`nova-manage`: commands that an operator runs by hand, in categories.

A category without a command lists its commands. An unknown command ends with exit code 127, as in a
shell.
"""

import argparse
import os
import pkgutil
import sys
import traceback
from collections.abc import Mapping, Sequence

from compute.cli.command_line import (
    INTERRUPTED,
    INVALID,
    OK,
    PROGRAM,
    UNCAUGHT,
    UNREAD,
    Command,
    CommandParser,
    UnusableInput,
)
from compute.cli.common_options import add_common_options, config_arguments
from compute.cli.console import in_any_encoding, say
from compute.cli.help_text import fitted
from compute.cli.installation import UnusableEnvironment, check_installation, keep_metrics_apart
from compute.cli.output.json_errors import wants_json, with_errors
from compute.exceptions import InvalidConfiguration
from compute.service.signals import termination_interrupts

#: category → name → command, or where the command is. Its module is imported when it is needed:
#: --help and --version need none
Categories = Mapping[str, Mapping[str, Command | str]]
CATEGORIES: Categories = {
    "placement": {
        "adopt_provider": "compute.cli.commands.adopt_provider:adopt_provider",
        "audit": "compute.cli.commands.audit:audit",
        "capacity": "compute.cli.commands.capacity:capacity",
        "consumers": "compute.cli.commands.consumers:consumers",
        "devices": "compute.cli.commands.devices:devices",
        "drain": "compute.cli.commands.drain:drain",
        "evacuable": "compute.cli.commands.evacuable:evacuable",
        "explain": "compute.cli.commands.explain:explain",
        "heal_allocations": "compute.cli.commands.heal_allocations:heal_allocations",
        "make_room": "compute.cli.commands.plans.make_room:make_room",
        "migrate_compute_inventory": (
            "compute.cli.commands.migrate_compute_inventory:migrate_compute_inventory"
        ),
        "request": "compute.cli.commands.request:request",
        "survives": "compute.cli.commands.plans.survives:survives",
        "sync_aggregates": "compute.cli.commands.sync_aggregates:sync_aggregates",
        "tree": "compute.cli.commands.tree:tree",
    }
}


def main(
    argv: Sequence[str] | None = None,
    categories: Categories = CATEGORIES,
) -> int:
    """Run one command and return its exit code, or 127 for an unknown command.

    Ctrl-C and SIGTERM end with 130, a closed reader of the output with 141, an unexpected exception
    with 255 and its traceback. Bad options raise SystemExit(127).
    """
    keep_metrics_apart()
    for stream in (sys.stdout, sys.stderr):
        in_any_encoding(stream)
    arguments = _parser(categories).parse_args(argv)
    try:
        check_installation(PROGRAM, other="nova")
    except UnusableEnvironment as error:
        say(PROGRAM, error)
        return INVALID
    if arguments.category is None:
        _parser(categories).print_help()
        return OK
    if arguments.category not in categories:
        say(PROGRAM, f"unknown category {arguments.category!r}: {_listed(categories)}")
        return INVALID
    commands = categories[arguments.category]
    if arguments.command is None:
        print(_listing(arguments.category, commands))
        return OK
    if arguments.command not in commands:
        say(
            PROGRAM,
            f"unknown command {arguments.command!r} of category {arguments.category}: "
            f"{_listed(commands)}",
        )
        return INVALID
    command = _found(commands[arguments.command])
    if wants_json(arguments.command, arguments.arguments):
        return with_errors(lambda: _run(command, arguments))
    return _run(command, arguments)


def _found(command: Command | str) -> Command:
    if not isinstance(command, str):
        return command
    found: Command = pkgutil.resolve_name(command)
    return found


def _run(command: Command, arguments: argparse.Namespace) -> int:
    try:
        with termination_interrupts():
            exit_code = command(arguments.arguments, config_arguments(arguments))
            sys.stdout.flush()
            return exit_code
    except (UnusableInput, InvalidConfiguration) as error:
        say(PROGRAM, error)
        return INVALID
    except KeyboardInterrupt:
        say(PROGRAM, "interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout at its end: the rest of the output goes to /dev/null.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except Exception as error:
        traceback.print_exc()
        say(PROGRAM, f"a defect of this program: {type(error).__name__}: {error}")
        return UNCAUGHT


def _parser(categories: Categories) -> argparse.ArgumentParser:
    parser = CommandParser(
        prog=PROGRAM,
        description="Commands for operators. Without a command, a category lists its own.",
        allow_abbrev=False,
    )
    add_common_options(parser, debug="log everything to stderr")
    parser.add_argument("category", nargs="?", help=_listed(categories))
    parser.add_argument("command", nargs="?", help="a command of the category")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="options of the command")
    return parser


def _listed(names: Mapping[str, object]) -> str:
    return f"there is {', '.join(sorted(names))}" if names else "this version has none"


def _listing(category: str, commands: Mapping[str, Command | str]) -> str:
    if not commands:
        return f"{PROGRAM} {category}: this version has no commands in this category"
    lines = [
        f"  {name:<27} {(_found(command).__doc__ or '').partition(chr(10))[0]}"
        for name, command in sorted(commands.items())
    ]
    return fitted("\n".join([f"{PROGRAM} {category}:", *lines]))


if __name__ == "__main__":
    sys.exit(main())
