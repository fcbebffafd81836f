"""Reading the files that describe a machine."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from virt.node.facts import HostFactsError

_T = TypeVar("_T")

# The errors of reading a file of a device that was taken away.
_GONE = (errno.ENOENT, errno.ENODEV, errno.ENXIO)


def parsed(path: Path, parse: Callable[[str], _T]) -> _T:
    """Read `path` and return what `parse` makes of its text.

    Raises HostFactsError, naming the file, if it is unreadable or `parse` raises ValueError.
    """
    try:
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:  # UnicodeDecodeError is one
        raise HostFactsError(path, str(error)) from error


def parsed_if_there(path: Path, parse: Callable[[str], _T]) -> _T | None:
    """Return as `parsed`; None if there is no such file, or what it describes is gone."""
    try:
        return parsed(path, parse)
    except HostFactsError as error:
        if is_gone(error.__cause__):
            return None
        raise


def entries(directory: Path) -> list[Path]:
    """Return what is in a directory, sorted by name; nothing if there is no such directory.

    Raises HostFactsError if it is unreadable.
    """
    try:
        return sorted(directory.iterdir())
    except OSError as error:
        if is_gone(error):
            return []
        raise unreadable(directory, error) from error


def is_gone(error: BaseException | None) -> bool:
    """Say whether the error means that there is no such thing, or no more."""
    return isinstance(error, OSError) and error.errno in _GONE


def unreadable(path: Path, error: OSError) -> HostFactsError:
    """Return what to raise for a path that can't be read."""
    return HostFactsError(path, error.strerror or str(error))


def whole_number(text: str, lowest: int = 0) -> int:
    """Read a number of `lowest` or more. Raises ValueError for any other text."""
    number = int(text)
    if number < lowest:
        raise ValueError(f"{number} is less than {lowest}")
    return number
