"""The option `--if`: a question as if the cloud were changed (extensions.rst)."""

import argparse

from compute.osc.json_file import reader


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the option to a command."""
    parser.add_argument(
        "--if",
        dest="change",
        metavar="<file>",
        type=reader("if"),
        default={},
        help="As if the cloud were changed as this JSON file says: inventories, traits, "
        "aggregates, all, add, without, freed. Nothing is changed.",
    )
