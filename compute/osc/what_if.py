"""The option `--if`: a question as if the cloud were changed (extensions.rst)."""

import argparse
import json
from pathlib import Path
from typing import Any


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the option to a command."""
    parser.add_argument(
        "--if",
        dest="change",
        metavar="<file>",
        type=_read,
        default={},
        help="As if the cloud were changed as this JSON file says: inventories, traits, "
        "aggregates, all, add, without, freed. Nothing is changed.",
    )


def _read(path: str) -> dict[str, Any]:
    try:
        found = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{path} can't be read as JSON: {error}") from error
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"{path} has no JSON object")
    return {"if": found.get("if", found)}
