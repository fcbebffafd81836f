"""The compute node record: what the compute service remembers of a node (compute.md §1.1).

Its `uuid` is the uuid of the node's root provider, its `hypervisor_hostname` is the name of the
root provider.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from compute import exceptions

# Keys a driver's resource dict must have (compute.md §4.2).
REQUIRED_RESOURCES = (
    "vcpus",
    "memory_mb",
    "local_gb",
    "cpu_info",
    "vcpus_used",
    "memory_mb_used",
    "local_gb_used",
    "numa_topology",
)

# Keys copied unchanged. The uuid is checked, and supported_instances are converted.
_COPIED = (
    *REQUIRED_RESOURCES,
    "hypervisor_type",
    "hypervisor_version",
    "hypervisor_hostname",
    "disk_available_least",
    "host_ip",
)


@dataclass
class ComputeNode:
    """One node of one compute service. Memory in MiB, disk in GiB; `free_*` may be negative.

    The store gives the `id`. `deleted` records stay in the store, so that a node that comes back
    keeps its uuid.
    """

    uuid: str
    host: str
    hypervisor_hostname: str
    id: int | None = None
    service_id: int | None = None
    vcpus: int = 0
    memory_mb: int = 0
    local_gb: int = 0
    vcpus_used: int = 0
    memory_mb_used: int = 0
    local_gb_used: int = 0
    free_ram_mb: int = 0
    free_disk_gb: int = 0
    disk_available_least: int | None = None
    cpu_allocation_ratio: float | None = None
    ram_allocation_ratio: float | None = None
    disk_allocation_ratio: float | None = None
    hypervisor_type: str | None = None
    hypervisor_version: int | None = None
    host_ip: str | None = None
    cpu_info: str = ""
    numa_topology: str | None = None
    supported_hv_specs: list[Any] = field(default_factory=list)
    pci_device_pools: list[dict[str, Any]] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    deleted: bool = False
    updated_at: float | None = field(default=None, compare=False)

    def update_from_virt_driver(self, resources: Mapping[str, Any]) -> None:
        """Copy what the driver reports of the node; keys that it leaves out keep their values.

        Raises InvalidNodeConfiguration if the driver reports another uuid: the uuid is that of the
        node's resource provider and never changes.
        """
        uuid = resources.get("uuid")
        if uuid is not None and uuid != self.uuid:
            raise exceptions.InvalidNodeConfiguration(
                reason=f"node {self.hypervisor_hostname} has uuid {self.uuid} but its driver "
                f"reports {uuid}"
            )
        for key in _COPIED:
            if key in resources:
                setattr(self, key, resources[key])
        if "supported_instances" in resources:
            self.supported_hv_specs = [list(spec) for spec in resources["supported_instances"]]

    def reset_usage(self, vcpus: int, memory_mb: int, local_gb: int) -> None:
        """Set the usage to what the host reserves for itself."""
        self.vcpus_used = vcpus
        self.memory_mb_used = memory_mb
        self.local_gb_used = local_gb
        self.free_ram_mb = self.memory_mb - memory_mb
        self.free_disk_gb = self.local_gb - local_gb


def missing_resources(resources: Mapping[str, object]) -> list[str]:
    """Return the required keys a driver's resource dict lacks, in the order of the contract."""
    return [key for key in REQUIRED_RESOURCES if key not in resources]
