"""`nova-manage`: commands an operator runs by hand, in categories.

A category lists what it has; what it hasn't is answered with exit code 127, as a shell does.
"""

import argparse
import importlib.metadata
import sys
from collections.abc import Callable, Mapping, Sequence

from compute.cli.console import say

PROGRAM = "nova-manage"

OK = 0
UNKNOWN_COMMAND = 127

#: A command takes the arguments after its name and returns the exit code. The first line of its
#: docstring is its line in the listing.
Command = Callable[[Sequence[str]], int]

CATEGORIES: Mapping[str, Mapping[str, Command]] = {"placement": {}}


def main(
    argv: Sequence[str] | None = None,
    categories: Mapping[str, Mapping[str, Command]] = CATEGORIES,
) -> int:
    """Run one command. Returns its exit code, or 127 if there is none of that name."""
    arguments = _parser(categories).parse_args(argv)
    if arguments.category is None:
        _parser(categories).print_help()
        return OK
    if arguments.category not in categories:
        say(PROGRAM, f"unknown category {arguments.category!r}: {_listed(categories)}")
        return UNKNOWN_COMMAND
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
        return UNKNOWN_COMMAND
    return commands[arguments.command](arguments.arguments)


def _parser(categories: Mapping[str, Mapping[str, Command]]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Commands for operators. Without a command, a category lists its own.",
        allow_abbrev=False,
    )
    version = importlib.metadata.version("berth")
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {version}")
    parser.add_argument("category", nargs="?", help=_listed(categories))
    parser.add_argument("command", nargs="?")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="options of the command")
    return parser


def _listed(names: Mapping[str, object]) -> str:
    return f"there is {', '.join(sorted(names))}" if names else "this version has none"


def _listing(category: str, commands: Mapping[str, Command]) -> str:
    if not commands:
        return f"{PROGRAM} {category}: this version has no commands in this category"
    lines = [
        f"  {name:<28} {(command.__doc__ or '').partition(chr(10))[0]}"
        for name, command in sorted(commands.items())
    ]
    return "\n".join([f"{PROGRAM} {category}:", *lines])


if __name__ == "__main__":
    sys.exit(main())
