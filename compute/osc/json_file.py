"""Options that name a file with a JSON object."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def read(path: str) -> dict[str, object]:
    """Return the object. Raises ArgumentTypeError if there is none."""
    try:
        found = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{path} can't be read as JSON: {error}") from error
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"{path} has no JSON object")
    return found


def reader(key: str) -> Callable[[str], dict[str, Any]]:
    """Return what reads a file as the value of a key of the body; the file may have the key."""

    def as_value(path: str) -> dict[str, object]:
        found = read(path)
        return {key: found.get(key, found)}

    return as_value
