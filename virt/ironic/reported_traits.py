"""The traits that this driver has put on providers, and so may remove (compute.md §6.10)."""

import logging
import os
import threading
from collections.abc import Collection
from pathlib import Path

LOG = logging.getLogger(__name__)


class ReportedTraits:
    """Remembers traits by machine, across restarts: a small file for each below `directory`.

    If a file can't be read or written, that is logged, and its traits are forgotten at the next
    start. The provider may then keep a trait that its machine no longer has.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._traits: dict[str, frozenset[str]] = {}

    def of(self, node_uuid: str) -> frozenset[str]:
        """Return the traits that a machine's provider has because of this driver."""
        with self._lock:
            if node_uuid not in self._traits:
                self._traits[node_uuid] = self._read(node_uuid)
            return self._traits[node_uuid]

    def set(self, node_uuid: str, traits: Collection[str]) -> None:
        """Remember other traits for a machine."""
        wanted = frozenset(traits)
        if wanted == self.of(node_uuid):
            return
        with self._lock:
            self._traits[node_uuid] = wanted
            self._write(node_uuid, wanted)

    def _read(self, node_uuid: str) -> frozenset[str]:
        path = self._directory / node_uuid
        try:
            return frozenset(path.read_text(encoding="utf-8").split())
        except FileNotFoundError:
            return frozenset()
        except (OSError, ValueError) as error:
            LOG.warning("Can't tell which traits machine %s had: %s: %s", node_uuid, path, error)
            return frozenset()

    def _write(self, node_uuid: str, traits: frozenset[str]) -> None:
        path = self._directory / node_uuid
        try:
            if not traits:
                path.unlink(missing_ok=True)
                return
            self._directory.mkdir(parents=True, exist_ok=True)
            new = path.with_suffix(".new")
            new.write_text("\n".join(sorted(traits)) + "\n", encoding="utf-8")
            os.replace(new, path)
        except OSError as error:
            LOG.warning("Can't remember the traits of machine %s: %s", node_uuid, error)
