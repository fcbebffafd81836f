"""Ratios and reserved amounts of a node, from the configuration (compute.md §4.4)."""

import math

from oslo_config import cfg

from compute.consumers.instance_resources import InstanceUsage
from compute.records.compute_node import ComputeNode

RATIOS = ("cpu_allocation_ratio", "ram_allocation_ratio", "disk_allocation_ratio")


def apply_ratios(node: ComputeNode, conf: cfg.ConfigOpts, initial: bool = False) -> None:
    """Set the record's ratios from `initial_*` for a new record, else from the configured ratios.

    None and 0.0 leave a ratio as it is. The ratios in inventories are the driver's; see
    `ComputeDriver._get_allocation_ratios`.
    """
    for name in RATIOS:
        ratio = conf[f"initial_{name}" if initial else name]
        if ratio:
            setattr(node, name, ratio)


def reserved_amounts(conf: cfg.ConfigOpts) -> InstanceUsage:
    """Return what `reserved_host_*` reserve for the host; disk in whole GiB, rounded up."""
    return InstanceUsage(
        vcpus=conf.reserved_host_cpus,
        memory_mb=conf.reserved_host_memory_mb,
        disk_gb=math.ceil(conf.reserved_host_disk_mb / 1024),
    )
