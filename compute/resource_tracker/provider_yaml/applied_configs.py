"""What the operator's provider configuration files added to providers, remembered on the host.

There is one file for each node, `applied_provider_config/<uuid of the node>.json` in the state
path. It is replaced as a whole, so a process that is killed leaves the old file or the new one.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOG = logging.getLogger(__name__)

FOLDER = "applied_provider_config"
#: of the files' format; a file of a newer version is neither used nor replaced
VERSION = 1


@dataclass(frozen=True)
class Added:
    """The traits that files added to a provider, and the resource classes."""

    traits: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()

    def __or__(self, other: Added) -> Added:
        return Added(self.traits | other.traits, self.classes | other.classes)

    def __and__(self, other: Added) -> Added:
        return Added(self.traits & other.traits, self.classes & other.classes)

    def __sub__(self, other: Added) -> Added:
        return Added(self.traits - other.traits, self.classes - other.classes)

    def __bool__(self) -> bool:
        return bool(self.traits or self.classes)


#: provider uuid → what files added to it
Applied = Mapping[str, Added]


class Unusable(Exception):
    """There is a file, which can't be used and must stay; the text says why."""


#: what differs after each write of a file, because a write makes a new file; None: there is none
_State = tuple[int, int, int] | None


class AppliedConfigs:
    """Reads and writes the files. What can't be written is kept for this process's life.

    A file that hasn't changed is not read again: each update of each node asks for it.
    """

    def __init__(self, state_path: str) -> None:
        self._folder = Path(state_path) / FOLDER
        self._lock = threading.Lock()
        self._read_before: dict[str, tuple[_State, dict[str, Added] | None]] = {}
        self._unwritten: dict[str, Applied] = {}
        self._told: dict[str, str] = {}

    def of(self, node_uuid: str) -> Applied | None:
        """Return what files added to the node's providers; None if nothing was ever noted.

        A file with other content than `note` writes counts as none. Raises Unusable if there is a
        file that must stay and can't be used.
        """
        with self._lock:
            if node_uuid in self._unwritten:
                return self._unwritten[node_uuid]
            try:
                return self._read(node_uuid)
            except Unusable as error:
                self._tell(node_uuid, f"{error}: nothing is removed from its providers")
                raise

    def note(self, node_uuid: str, applied: Applied, anew: bool = False) -> bool:
        """Remember what files added to the node's providers; say whether that succeeded.

        :param anew: write it even if the file says so already, to see that it can be written
        """
        wanted = {uuid: added for uuid, added in applied.items() if added}
        with self._lock:
            try:
                if anew or self._read(node_uuid) != wanted:
                    self._write(node_uuid, wanted)
            except (OSError, Unusable) as error:
                self._unwritten[node_uuid] = wanted
                if wanted:
                    self._tell(
                        node_uuid,
                        f"What files add to its providers can't be remembered ({error}): what they "
                        "no longer add is not removed",
                    )
                return False
            self._unwritten.pop(node_uuid, None)
            self._told.pop(node_uuid, None)
            return True

    def forget(self, node_uuid: str) -> None:
        """Remove what is remembered of a node that is gone."""
        with self._lock:
            self._unwritten.pop(node_uuid, None)
            self._read_before.pop(node_uuid, None)
            with contextlib.suppress(OSError):
                self._path(node_uuid).unlink(missing_ok=True)

    def _path(self, node_uuid: str) -> Path:
        return self._folder / f"{node_uuid}.json"

    def _tell(self, node_uuid: str, text: str) -> None:
        """Warn, but of the same thing only once."""
        if self._told.get(node_uuid) != text:
            self._told[node_uuid] = text
            LOG.warning("Node %s: %s", node_uuid, text)

    def _read(self, node_uuid: str) -> dict[str, Added] | None:
        try:
            state = _state(f"{self._folder}/{node_uuid}.json")
        except OSError:
            # reading it raises the exception that says what is wrong
            return self._read_anew(node_uuid)
        known = self._read_before.get(node_uuid)
        if known is None or known[0] != state:
            # a file that replaces this one from here on has another state, and is read then
            known = self._read_before[node_uuid] = state, self._read_anew(node_uuid)
        return known[1]

    def _read_anew(self, node_uuid: str) -> dict[str, Added] | None:
        path = self._path(node_uuid)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unusable(f"{path} can't be read: {error.strerror}") from error
        except ValueError:
            text = ""
        try:
            return _parsed(json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            self._tell(
                node_uuid,
                f"{path} is damaged ({type(error).__name__}): what an earlier file added and the "
                "present one doesn't stays on its providers",
            )
            return None
        except _Newer as error:
            raise Unusable(f"{path} is of a newer version, {error}") from error

    def _write(self, node_uuid: str, applied: Applied) -> None:
        content = {
            "version": VERSION,
            "providers": {
                uuid: {"traits": sorted(added.traits), "inventories": sorted(added.classes)}
                for uuid, added in sorted(applied.items())
            },
        }
        path = self._path(node_uuid)
        self._read_before.pop(node_uuid, None)
        # The state path itself isn't made: a tracker whose records are elsewhere has none.
        self._folder.mkdir(exist_ok=True)
        with _alone(self._folder) as folder:
            draft = path.with_suffix(".new")
            with draft.open("w", encoding="utf-8") as file:
                file.write(json.dumps(content, indent=1) + "\n")
                file.flush()
                if applied:
                    os.fsync(file.fileno())
            os.replace(draft, path)
            if applied:
                os.fsync(folder)


def _state(path: str) -> _State:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


class _Newer(Exception):
    """The file has a newer version of the format than this one."""


def _parsed(content: Any) -> dict[str, Added]:
    version = content["version"]
    if not isinstance(version, int) or version < 1:
        raise ValueError(version)
    if version > VERSION:
        raise _Newer(version)
    return {
        uuid: Added(_names(provider["traits"]), _names(provider["inventories"]))
        for uuid, provider in content["providers"].items()
    }


def _names(listed: object) -> frozenset[str]:
    # Files add no other names, so others must never be removed.
    if not isinstance(listed, list) or not all(name.startswith("CUSTOM_") for name in listed):
        raise ValueError(listed)
    return frozenset(listed)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[int]:
    """Give a descriptor of the folder while no other process writes there."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)
