"""Works out the numbers of a node's record from what is held of it (compute.md §4.9)."""

from oslo_config import cfg

from compute.consumers.instance_resources import usage_of
from compute.pci import devices as pci
from compute.resource_tracker.node.configured_amounts import reserved_amounts
from compute.resource_tracker.node.node import TrackedNode


def count(node: TrackedNode, conf: cfg.ConfigOpts) -> None:
    """Bring the used and free amounts, the stats and the PCI pools of the record up to date."""
    record, reserved = node.record, reserved_amounts(conf)
    record.reset_usage(
        vcpus=reserved.vcpus, memory_mb=reserved.memory_mb, local_gb=reserved.disk_gb
    )
    for held in node.holdings.values():
        for share in held.shares:
            usage = usage_of(share.flavor, held.instance.booted_from_volume)
            record.vcpus_used += usage.vcpus
            record.memory_mb_used += usage.memory_mb
            record.local_gb_used += usage.disk_gb
    record.free_ram_mb = record.memory_mb - record.memory_mb_used
    record.free_disk_gb = record.local_gb - record.local_gb_used
    record.stats = dict(node.stats)
    record.pci_device_pools = pci.pools(node.pci_devices, node.device_owners())
