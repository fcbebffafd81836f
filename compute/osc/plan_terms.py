"""Options of commands that plan moves: who may move, and who may be where."""

import argparse
from typing import Any

from compute.osc.json_file import reader


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to a command."""
    parser.add_argument(
        "--constraints",
        metavar="<file>",
        type=reader("constraints"),
        default={},
        help="Take into account what this JSON file says: apart and together, lists of lists of "
        "consumers, and not_on, lists of roots by consumer. Nova's own filters aren't asked.",
    )
    parser.add_argument(
        "--except",
        dest="but",
        metavar="<uuid>",
        action="append",
        default=[],
        help="This consumer doesn't move. Repeatable.",
    )
    parser.add_argument(
        "--consumer-type",
        dest="types",
        metavar="<type>",
        action="append",
        default=[],
        help="Consumers of this type may move, in place of INSTANCE. Repeatable.",
    )


def terms_of(parsed_args: argparse.Namespace) -> dict[str, object]:
    """Return the keys of a body that the options say."""
    movable: dict[str, Any] = {}
    if parsed_args.but:
        movable["except"] = parsed_args.but
    if parsed_args.types:
        movable["consumer_types"] = parsed_args.types
    return parsed_args.constraints | ({"movable": movable} if movable else {})
