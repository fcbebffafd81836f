"""How many guests' memory a machine can encrypt at once."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from virt.node.host_files import parsed_if_there, whole_number

_T = TypeVar("_T")

#: Intel's technology; libvirt doesn't say for how many guests
TDX = "intel_tdx"

#: AMD's second technology; the third, SEV-SNP, takes its slots
SEV_ES = "amd_sev_es"

_KINDS = {"sev": "amd_sev", "sev_es": SEV_ES, "tdx": TDX}


def read_encryption_slots(sysfs_root: str | os.PathLike[str]) -> dict[str, int]:
    """Return technology (`amd_sev`) → how many guests can use it, as the kernel counts them.

    Raises HostFactsError if a file is unreadable.
    """
    path = Path(sysfs_root, "fs", "cgroup", "misc.capacity")
    slots = parsed_if_there(path, _slots) or {}
    if SEV_ES in slots and _is_on(sysfs_root, "sev_snp"):
        # The kernel counts both as one kind; where there is SNP, nobody should get less.
        slots["amd_sev_snp"] = slots.pop(SEV_ES)
    return slots


def switched_on(slots: Mapping[str, _T], sysfs_root: str | os.PathLike[str]) -> dict[str, _T]:
    """Return `slots` without the technologies of AMD that the kernel's module has switched off.

    SEV-ES counts as off while SEV-SNP is on, because both use the same slots. Raises HostFactsError
    if a file is unreadable.
    """
    sev, es, snp = (_is_on(sysfs_root, name) for name in ("sev", "sev_es", "sev_snp"))
    is_on = {"amd_sev": sev, SEV_ES: sev and es and not snp, "amd_sev_snp": sev and snp}
    return {name: amount for name, amount in slots.items() if is_on.get(name, True)}


def of_tdx(counted: int | None, configured: int | None) -> int:
    """Return how many guests can use TDX: the lower of what the kernel and an option say.

    Where neither says anything, none can.
    """
    return min((one for one in (counted, configured) if one is not None), default=0)


def _is_on(sysfs_root: str | os.PathLike[str], parameter: str) -> bool:
    path = Path(sysfs_root, "module", "kvm_amd", "parameters", parameter)
    return parsed_if_there(path, str.strip) in ("Y", "1")


def _slots(text: str) -> dict[str, int]:
    slots = {}
    for line in text.splitlines():
        kind, _, amount = line.partition(" ")
        if kind in _KINDS and amount.strip() != "max":
            slots[_KINDS[kind]] = whole_number(amount)
    return slots
