"""Counts of a node's instances by state, task, system and project (compute.md §4.9)."""

from collections.abc import Mapping
from typing import Any

from compute.records.instance import BUILDING, Instance

# Task states that keep a host's disks busy.
IO_TASKS = frozenset(
    {
        "resize_migrating",
        "rebuilding",
        "resize_prep",
        "image_snapshot",
        "image_backup",
        "rescuing",
        "unshelving",
    }
)
FAILED_BUILDS = "failed_builds"


class Stats(dict[str, Any]):
    """Counts of one node, and what its driver adds.

    The keys are `num_instances`, `num_vm_<state>`, `num_task_<state>`, `num_os_type_<type>`,
    `num_proj_<project>`, `io_workload` and `failed_builds`. A count of 0 has no key, except
    `failed_builds`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._counted: dict[str, list[str]] = {}

    def start_over(self) -> None:
        """Forget everything but the failed builds."""
        failed = self.get(FAILED_BUILDS)
        self.clear()
        self._counted.clear()
        if failed is not None:
            self[FAILED_BUILDS] = failed

    def digest(self, told: Mapping[str, object] | None) -> None:
        """Add the driver's own stats. Raises ValueError if they aren't a dict."""
        if told is not None and not isinstance(told, Mapping):
            raise ValueError(f"The driver's stats are not a dict: {told!r}")
        self.update(told or {})
        self.setdefault("uptime", None)

    def update_for_instance(self, instance: Instance, is_removed: bool = False) -> None:
        """Count the instance as it is now; with `is_removed`, count it no longer."""
        for name in self._counted.pop(instance.uuid, ()):
            self._add(name, -1)
        if is_removed:
            return
        names = self._counted[instance.uuid] = _counts_of(instance)
        for name in names:
            self._add(name, 1)

    def build_failed(self) -> None:
        """Count one more failed build since the last build that succeeded."""
        self[FAILED_BUILDS] = self.get(FAILED_BUILDS, 0) + 1

    def build_succeeded(self) -> None:
        """Start the count of failed builds again at 0."""
        self[FAILED_BUILDS] = 0

    def _add(self, name: str, amount: int) -> None:
        self[name] = self.get(name, 0) + amount
        if not self[name]:
            del self[name]


def _counts_of(instance: Instance) -> list[str]:
    names = [
        "num_instances",
        f"num_vm_{instance.vm_state}",
        f"num_task_{instance.task_state}",
        f"num_os_type_{instance.os_type}",
        f"num_proj_{instance.project_id}",
    ]
    if instance.vm_state == BUILDING:
        names.append("io_workload")
    if instance.task_state in IO_TASKS:
        names.append("io_workload")
    return names
