"""The operator's file of names, which is read again when it changes."""

import json
import logging
import os
import stat
import threading
from pathlib import Path
from typing import Any

from placement.domain.uuids import is_uuid_like, normalised

LOG = logging.getLogger(__name__)

KINDS = ("aggregates", "projects", "users")
#: bytes of the file, and characters of a name
LARGEST, LONGEST = 8 * 2**20, 255
#: characters of a file's own text that a message shows
_SHOWN = 80


class NamesFile:
    """Knows the names of a file; a file that can't be used has none.

    :param path: None: there is no file
    """

    def __init__(self, path: str | None) -> None:
        self._path = None if not path else Path(path)
        self._lock = threading.Lock()
        #: which state of the file was read: when content or rights changed, its length and number,
        #: or why it has none
        self._state: object = None
        self._text = _written({}, None)

    def text(self) -> str:
        """Return the names of now as JSON, with what is wrong with the file as `problem`."""
        if self._path is None:
            return self._text
        with self._lock:
            state = self._state_of(self._path)
            if state != self._state:
                self._state, self._text = state, self._read(self._path)
            return self._text

    def _state_of(self, path: Path) -> object:
        try:
            found = path.stat()
        except OSError as error:
            return error.errno
        return found.st_ctime_ns, found.st_size, found.st_ino

    def _read(self, path: Path) -> str:
        """Return the names as JSON; the log says once what is wrong with this state of the file."""
        try:
            return _written(_parsed(_content(path)), None)
        except OSError as error:
            problem = f"The file of names can't be read: {error.strerror}."
        except (ValueError, RecursionError) as error:
            problem = f"The file of names can't be used: {error}."
        LOG.warning("[berth]names_file %s: %s The page shows uuids.", path, problem)
        return _written({}, problem)


def _content(path: Path) -> bytes:
    with open(path, "rb", opener=_without_waiting) as opened:
        # a pipe or a device would never end
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise ValueError("it is no regular file")
        content = opened.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"it is longer than {LARGEST} bytes")
    return content


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _parsed(content: bytes) -> dict[str, dict[str, str]]:
    """Return the names by kind and id. Raises ValueError, which says what is wrong."""
    value = json.loads(content)
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    for kind in value:
        if kind not in KINDS:
            raise ValueError(f"{kind[:_SHOWN]!r} is none of {', '.join(KINDS)}")
    return {kind: dict(_named(kind, one) for one in _object(kind, value)) for kind in value}


def _object(kind: str, value: dict[str, Any]) -> Any:
    if not isinstance(value[kind], dict):
        raise ValueError(f"{kind} is no JSON object")
    return value[kind].items()


def _named(kind: str, entry: tuple[str, Any]) -> tuple[str, str]:
    key, name = entry
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST:
        raise ValueError(
            f"the name of {key[:_SHOWN]!r} in {kind} is no text of 1 to {LONGEST} characters"
        )
    # the service shows aggregates in one spelling, whichever the file has
    return (normalised(key) if kind == "aggregates" and is_uuid_like(key) else key), name


def _written(names: dict[str, dict[str, str]], problem: str | None) -> str:
    return json.dumps({kind: names.get(kind, {}) for kind in KINDS} | {"problem": problem})
