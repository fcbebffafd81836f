"""How many guests' memory a machine can encrypt at once."""

import os
from pathlib import Path

from virt.node.host_files import parsed_if_there, whole_number

_KINDS = {"sev": "amd_sev", "sev_es": "amd_sev_es", "tdx": "intel_tdx"}


def read_encryption_slots(sysfs_root: str | os.PathLike[str]) -> dict[str, int]:
    """Return technology (`amd_sev`) → how many guests can use it, as the kernel counts them.

    Raises HostFactsError if a file is unreadable.
    """
    path = Path(sysfs_root, "fs", "cgroup", "misc.capacity")
    return parsed_if_there(path, _slots) or {}


def _slots(text: str) -> dict[str, int]:
    slots = {}
    for line in text.splitlines():
        kind, _, amount = line.partition(" ")
        if kind in _KINDS and amount.strip() != "max":
            slots[_KINDS[kind]] = whole_number(amount)
    return slots
