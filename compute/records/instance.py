"""The record of an instance, which the tracker counts and claims resources for (compute.md §4.1).

Topologies and devices are plain dicts and lists, as in JSON. A NUMA topology is
`{"cells": [{"id", "vcpus", "memory_mb"}]}`; a PCI device `{"address", "dev_type", "status",
"instance_uuid", …}`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from compute.provider_tree import Resource

DELETED = "deleted"
BUILDING = "building"
RESIZED = "resized"
SHELVED_OFFLOADED = "shelved_offloaded"

SPAWNING = "spawning"
RESIZE_PREP = "resize_prep"
RESIZE_MIGRATING = "resize_migrating"
RESIZE_MIGRATED = "resize_migrated"
RESIZE_FINISH = "resize_finish"
RESIZE_REVERTING = "resize_reverting"
REBUILDING = "rebuilding"
MIGRATING = "migrating"

#: the task states between the start of a resize and its finish
RESIZING = frozenset({RESIZE_PREP, RESIZE_MIGRATING, RESIZE_MIGRATED, RESIZE_FINISH})
REBUILDING_STATES = frozenset({REBUILDING, "rebuild_block_device_mapping", "rebuild_spawning"})


@dataclass
class Flavor:
    """The size of an instance. Memory and swap in MiB, disks in GiB."""

    vcpus: int = 0
    memory_mb: int = 0
    root_gb: int = 0
    ephemeral_gb: int = 0
    swap: int = 0
    extra_specs: dict[str, str] = field(default_factory=dict)
    name: str = ""


@dataclass
class MigrationContext:
    """What a move changes of an instance: `old_` for its source, `new_` for its destination."""

    migration_id: int | None = None
    old_numa_topology: dict[str, Any] | None = None
    new_numa_topology: dict[str, Any] | None = None
    old_pci_devices: list[dict[str, Any]] = field(default_factory=list)
    new_pci_devices: list[dict[str, Any]] = field(default_factory=list)
    old_resources: list[Resource] = field(default_factory=list)
    new_resources: list[Resource] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.old_resources = _resources(self.old_resources)
        self.new_resources = _resources(self.new_resources)


@dataclass
class Instance:
    """A guest. The store gives the `id`; nested records may be dicts when it is made.

    With `booted_from_volume` the root disk takes no disk space of the host. A `hidden` record is
    that of an instance which another cell shows.
    """

    uuid: str = field(default_factory=lambda: str(uuid4()))
    project_id: str = ""
    user_id: str = ""
    host: str | None = None
    node: str | None = None
    id: int | None = None
    compute_id: int | None = None
    launched_on: str | None = None
    vm_state: str = BUILDING
    task_state: str | None = None
    deleted: bool = False
    hidden: bool = False
    flavor: Flavor = field(default_factory=Flavor)
    old_flavor: Flavor | None = None
    new_flavor: Flavor | None = None
    numa_topology: dict[str, Any] | None = None
    pci_devices: list[dict[str, Any]] = field(default_factory=list)
    pci_requests: list[dict[str, Any]] = field(default_factory=list)
    resources: list[Resource] = field(default_factory=list)
    migration_context: MigrationContext | None = None
    image_ref: str = ""
    booted_from_volume: bool = False
    os_type: str | None = None
    created_at: float = field(default_factory=time.time)
    updated_at: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.flavor, dict):
            self.flavor = Flavor(**self.flavor)
        if isinstance(self.old_flavor, dict):
            self.old_flavor = Flavor(**self.old_flavor)
        if isinstance(self.new_flavor, dict):
            self.new_flavor = Flavor(**self.new_flavor)
        if isinstance(self.migration_context, dict):
            self.migration_context = MigrationContext(**self.migration_context)
        self.resources = _resources(self.resources)

    def apply_migration_context(self) -> None:
        """Give the instance what the move claimed at the destination."""
        if self.migration_context is not None:
            self.numa_topology = self.migration_context.new_numa_topology
            self.pci_devices = list(self.migration_context.new_pci_devices)
            self.resources = list(self.migration_context.new_resources)

    def revert_migration_context(self) -> None:
        """Give the instance back what it had at the source."""
        if self.migration_context is not None:
            self.numa_topology = self.migration_context.old_numa_topology
            self.pci_devices = list(self.migration_context.old_pci_devices)
            self.resources = list(self.migration_context.old_resources)


def allows_resource_removal(vm_state: str, task_state: str | None = None) -> bool:
    """Say whether an instance in this state holds no resources of its host any more."""
    return vm_state == DELETED or (vm_state == SHELVED_OFFLOADED and task_state != SPAWNING)


def _resources(found: list[Any]) -> list[Resource]:
    return [Resource(**item) if isinstance(item, dict) else item for item in found]
