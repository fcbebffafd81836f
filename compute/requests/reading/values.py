"""How nova reads numbers and booleans."""

import re
from typing import Any

_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})


def is_true(value: object) -> bool:
    """Read a boolean; what isn't one is false."""
    return str(value).strip().lower() in _TRUE


def whole_number(value: Any) -> int | None:
    """Read a whole number, with spaces and a sign around it; return None for anything else."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def custom_name(name: str) -> str:
    """Return the name of a custom class or trait: capitals, numbers and single underscores."""
    return "CUSTOM_" + re.sub("[^A-Za-z0-9]+", "_", name).upper()
