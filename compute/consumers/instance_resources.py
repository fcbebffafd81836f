"""How much of each resource class an instance takes (compute.md §4.9, §4.10)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from compute.records.instance import Flavor

OVERRIDE = "resources:"
PCI_DEVICE = "PCI_DEVICE"


@dataclass(frozen=True)
class InstanceUsage:
    """What an instance takes of its node's record. Memory in MiB, disk in GiB."""

    vcpus: int
    memory_mb: int
    disk_gb: int


def usage_of(flavor: Flavor, booted_from_volume: bool) -> InstanceUsage:
    """Return what an instance of the flavor takes; a root disk on a volume takes no disk."""
    return InstanceUsage(flavor.vcpus, flavor.memory_mb, disk_gb(flavor, booted_from_volume))


def disk_gb(flavor: Flavor, booted_from_volume: bool) -> int:
    """Return root, ephemeral and swap disk together. Swap is in MiB and rounded up."""
    root = 0 if booted_from_volume else flavor.root_gb
    return root + flavor.ephemeral_gb + math.ceil(flavor.swap / 1024)


def resources_from_flavor(flavor: Flavor, booted_from_volume: bool = False) -> dict[str, int]:
    """Return class → amount for an allocation.

    Extra specs `resources:<class>=<amount>` add classes and replace amounts. Amounts of 0 are left
    out, because placement refuses them. Raises ValueError for an amount that isn't a number.
    """
    resources = {
        "VCPU": flavor.vcpus,
        "MEMORY_MB": flavor.memory_mb,
        "DISK_GB": disk_gb(flavor, booted_from_volume),
    }
    resources.update(_overrides(flavor.extra_specs))
    return {name: amount for name, amount in resources.items() if amount}


def generic_pci_devices(devices: Iterable[Mapping[str, Any]], instance_uuid: str) -> int:
    """Return how many are whole PCI devices of the instance; SR-IOV functions don't count."""
    return sum(
        device.get("instance_uuid") == instance_uuid
        and device.get("status") == "allocated"
        and device.get("dev_type") == "type-PCI"
        for device in devices
    )


def _overrides(extra_specs: Mapping[str, str]) -> dict[str, int]:
    return {
        name.removeprefix(OVERRIDE): int(amount)
        for name, amount in extra_specs.items()
        if name.startswith(OVERRIDE)
    }
