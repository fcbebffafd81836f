"""The mutants that change no behaviour, each with the reason: `equivalent.yaml`."""

from pathlib import Path
from typing import Any

import yaml

from tests.mutants.mutant import Mutant

PATH = Path(__file__).with_name("equivalent.yaml")

Key = tuple[str, str, str, str]


def listed(path: Path = PATH) -> dict[Key, str]:
    """Return the reasons, by the mutants' keys."""
    entries: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    return {_key(entry): entry["reason"] for entry in entries}


def _key(entry: dict[str, Any]) -> Key:
    before, after = (str(entry[name]).strip() for name in ("before", "after"))
    return entry["path"], entry["function"], before, after


def without(mutants: list[Mutant], reasons: dict[Key, str]) -> list[Mutant]:
    """Return the mutants that aren't listed."""
    return [mutant for mutant in mutants if mutant.key not in reasons]
