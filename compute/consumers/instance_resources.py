"""How much of each resource class an instance takes (compute.md §4.9, §4.10)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from compute.records.instance import Flavor
from compute.requests.own_amounts import disk_gb

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


def generic_pci_devices(devices: Iterable[Mapping[str, object]], instance_uuid: str) -> int:
    """Return how many are whole PCI devices of the instance; SR-IOV functions don't count."""
    return sum(
        device.get("instance_uuid") == instance_uuid
        and device.get("status") == "allocated"
        and device.get("dev_type") == "type-PCI"
        for device in devices
    )
