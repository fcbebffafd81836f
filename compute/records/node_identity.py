"""The persistent uuid of this host's node: the file `compute_id` (compute.md §5.5).

A host that loses the file becomes a new resource provider, and its allocations are orphaned. So a
deployment tool may place copies beside the configuration files, all copies must agree, and the
service makes a file only where there is none.
"""

import logging
import os
import tempfile
import uuid
from collections.abc import Iterable

from oslo_config import cfg

from compute.exceptions import InvalidNodeConfiguration

LOG = logging.getLogger(__name__)

FILE_NAME = "compute_id"


class NodeIdentity:
    """Reads and makes the identity file. The uuid, once known, stays for the process."""

    def __init__(self, state_path: str, config_directories: Iterable[str] = ()) -> None:
        self._state_path = state_path
        self._directories = list(dict.fromkeys([*config_directories, state_path]))
        self._uuid: str | None = None

    @classmethod
    def from_config(cls, conf: cfg.ConfigOpts) -> "NodeIdentity":
        """Look in `state_path` and in the directories of the configuration files."""
        return cls(
            conf.state_path,
            [os.path.dirname(os.path.abspath(path)) for path in conf.config_file or ()],
        )

    @classmethod
    def known(cls, node_uuid: str) -> "NodeIdentity":
        """Return an identity with a known uuid, which reads and writes no file."""
        identity = cls("")
        identity._uuid = node_uuid
        return identity

    def read(self) -> str | None:
        """Return the uuid, or None if there is no file.

        Raises InvalidNodeConfiguration if a file holds no uuid or two files disagree.
        """
        if self._uuid is None:
            found = {path: _uuid_in(path) for path in self._paths() if os.path.exists(path)}
            if len(set(found.values())) > 1:
                listed = ", ".join(f"{path}: {uuid}" for path, uuid in found.items())
                raise InvalidNodeConfiguration(reason=f"node identity files disagree ({listed})")
            self._uuid = next(iter(found.values()), None)
        return self._uuid

    def read_or_create(self) -> str:
        """Return the uuid, writing a new one to the state path if there is no file.

        Raises InvalidNodeConfiguration if the file can't be written, and what `read` raises.
        """
        known = self.read()
        if known is None:
            known = self._uuid = self._create()
        return known

    def _paths(self) -> list[str]:
        return [os.path.join(directory, FILE_NAME) for directory in self._directories]

    def _create(self) -> str:
        new = str(uuid.uuid4())
        path = os.path.join(self._state_path, FILE_NAME)
        try:
            os.makedirs(self._state_path, exist_ok=True)
            _write_new(path, new)
        except FileExistsError:
            # Another process of this host made the file first; there must be only one uuid.
            return _uuid_in(path)
        except OSError as error:
            raise InvalidNodeConfiguration(
                reason=f"can't write the node identity file {path}: {error.strerror}"
            ) from error
        LOG.info("Wrote node identity %s to %s", new, path)
        return new


def _uuid_in(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            content = file.read(1024).strip()
        identity = str(uuid.UUID(content))
    except OSError as error:
        raise InvalidNodeConfiguration(
            reason=f"can't read the node identity file {path}: {error.strerror}"
        ) from error
    except ValueError as error:
        raise InvalidNodeConfiguration(
            reason=f"the node identity file {path} does not hold a uuid"
        ) from error
    if len(content) != 36:
        raise InvalidNodeConfiguration(
            reason=f"the uuid in the node identity file {path} is not written with 36 characters"
        )
    return identity


def _write_new(path: str, content: str) -> None:
    """Write a new file, whole or not at all: a crash must not lose the uuid.

    Raises FileExistsError if the file exists.
    """
    handle, draft = tempfile.mkstemp(dir=os.path.dirname(path), prefix=f".{FILE_NAME}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o644)
        os.link(draft, path)
    finally:
        os.unlink(draft)
