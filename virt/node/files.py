"""Reading the files that describe a machine."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from virt.node.facts import HostFactsError

_T = TypeVar("_T")


def parsed(path: Path, parse: Callable[[str], _T]) -> _T:
    """Read `path` and make sense of it: `parse` raises ValueError if it makes none.

    Raises HostFactsError naming the file.
    """
    try:
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HostFactsError(path, error.strerror or str(error)) from error
    except ValueError as error:  # UnicodeDecodeError is one
        raise HostFactsError(path, str(error)) from error


def whole_number(text: str, lowest: int = 0) -> int:
    """Read a number of `lowest` or more. Raises ValueError."""
    number = int(text)
    if number < lowest:
        raise ValueError(f"{number} is less than {lowest}")
    return number
