"""What the commands `make_room` and `survives` share: files with a part of the question."""

import argparse
import json
from pathlib import Path

from compute.cli.command_line import UnusableInput


def add_files(made: argparse.ArgumentParser) -> None:
    """Add the options for constraints, and for a cloud that is changed."""
    made.add_argument(
        "--constraints",
        metavar="FILE",
        type=Path,
        help="a JSON file: apart and together, lists of lists of instances, and not_on, lists of "
        "roots by instance",
    )
    made.add_argument(
        "--if",
        dest="change",
        metavar="FILE",
        type=Path,
        help="as if the cloud were changed as this JSON file says: inventories, traits, "
        "aggregates, all, add, without, freed",
    )


def read_files(asked: argparse.Namespace) -> dict[str, object]:
    """Return what the files say, by keys of the body; a file may have its key, too.

    Raises UnusableInput if one can't be read.
    """
    files = {"constraints": asked.constraints, "if": asked.change}
    return {key: _object(path, key) for key, path in files.items() if path is not None}


def _object(path: Path, key: str) -> object:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UnusableInput(f"{path} can't be read as JSON: {error}") from error
    if not isinstance(found, dict):
        raise UnusableInput(f"{path} has no JSON object.")
    return found.get(key, found)
