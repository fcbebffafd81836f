"""What the commands `make_room` and `survives` share: constraints."""

import argparse
import json
from pathlib import Path
from typing import Any

from compute.cli.command_line import UnusableInput


def add_constraints(made: argparse.ArgumentParser) -> None:
    """Add the option for constraints."""
    made.add_argument(
        "--constraints",
        metavar="FILE",
        type=Path,
        help="a JSON file: apart and together, lists of lists of instances, and not_on, lists of "
        "roots by instance",
    )


def constraints_of(path: Path | None) -> dict[str, Any]:
    """Return the constraints of a file, which may have them under their key."""
    if path is None:
        return {}
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UnusableInput(f"{path} can't be read as JSON: {error}") from error
    if not isinstance(found, dict):
        raise UnusableInput(f"{path} has no JSON object.")
    constraints: dict[str, Any] = found.get("constraints", found)
    return constraints
