"""The root's inventory for drivers that don't edit provider trees (compute.md §4.6)."""

from collections.abc import Mapping

from oslo_config import cfg

from compute.provider_tree.inventory_record import Inventory, sized
from compute.records.compute_node import ComputeNode
from compute.resource_tracker.node.configured_amounts import reserved_amounts


def completed(
    inventory: Mapping[str, Mapping[str, object]], node: ComputeNode, conf: cfg.ConfigOpts
) -> Inventory:
    """Return a driver's inventory, with the ratios and reserved amounts that it lacks.

    What the driver says is never changed.
    """
    missing = _ratio_and_reserved(node, conf)
    return {name: {**missing.get(name, {}), **record} for name, record in inventory.items()}


def from_record(node: ComputeNode, conf: cfg.ConfigOpts) -> Inventory:
    """Return the inventory that follows from the node's totals, without totals of 0."""
    totals = {"VCPU": node.vcpus, "MEMORY_MB": node.memory_mb, "DISK_GB": node.local_gb}
    inventory = {name: sized(total) for name, total in totals.items() if total > 0}
    return completed(inventory, node, conf)


def _ratio_and_reserved(node: ComputeNode, conf: cfg.ConfigOpts) -> Inventory:
    reserved = reserved_amounts(conf)
    ratios_and_reserved = {
        "VCPU": (conf.cpu_allocation_ratio or node.cpu_allocation_ratio, reserved.vcpus),
        "MEMORY_MB": (conf.ram_allocation_ratio or node.ram_allocation_ratio, reserved.memory_mb),
        "DISK_GB": (conf.disk_allocation_ratio or node.disk_allocation_ratio, reserved.disk_gb),
    }
    return {
        # 1.0 is placement's own default, for a record from before ratios were kept.
        name: {"allocation_ratio": ratio or 1.0, "reserved": amount}
        for name, (ratio, amount) in ratios_and_reserved.items()
    }
