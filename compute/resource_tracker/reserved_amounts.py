"""What a host keeps for itself, as `reserved_host_*` says (compute.md §4.4)."""

import math

from oslo_config import cfg

from compute.consumers.instance_resources import Usage


def reserved_amounts(conf: cfg.ConfigOpts) -> Usage:
    """Return the processors, memory in MiB, and disk in whole GiB, rounded up."""
    return Usage(
        vcpus=conf.reserved_host_cpus,
        memory_mb=conf.reserved_host_memory_mb,
        disk_gb=math.ceil(conf.reserved_host_disk_mb / 1024),
    )
