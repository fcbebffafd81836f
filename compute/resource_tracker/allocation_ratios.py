"""Allocation ratios of the compute node record (compute.md §4.4, part i).

Drivers set the ratios in inventories; see `ComputeDriver._get_allocation_ratios`.
"""

from oslo_config import cfg

from compute.records.compute_node import ComputeNode

NAMES = ("cpu_allocation_ratio", "ram_allocation_ratio", "disk_allocation_ratio")


def apply_ratios(node: ComputeNode, conf: cfg.ConfigOpts, initial: bool = False) -> None:
    """Set the record's ratios from `initial_*` for a new record, else from the configured ones.

    None and 0.0 leave a ratio as it is.
    """
    for name in NAMES:
        ratio = conf[f"initial_{name}" if initial else name]
        if ratio:
            setattr(node, name, ratio)
