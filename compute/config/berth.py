"""Options of group [berth]: what exists in this project only."""

from oslo_config import cfg

GROUP = "berth"

OPTIONS = [
    cfg.BoolOpt(
        "numa_in_placement",
        default=False,
        help="Report VCPU and MEMORY_MB on one child provider for each NUMA node instead of on the "
        "host's root provider. Changing it moves inventory and allocations in one reshape at the "
        "next start.",
    ),
    cfg.StrOpt(
        "numa_classes",
        default="standard",
        choices=[
            ("standard", "cells have VCPU, PCPU and MEMORY_MB, and the root has none"),
            ("numa", "the root keeps these; cells have NUMA_CORE, NUMA_THREAD, NUMA_MEMORY_MB"),
        ],
        help="What NUMA cells have with numa_in_placement. Changing it is a reshape as well.",
    ),
    cfg.BoolOpt(
        "report_disk_on_root_when_shared",
        default=True,
        help="Report DISK_GB on the host's root provider even if a provider shares DISK_GB with "
        "it. Switched off, the disk of instances moves to the sharing provider in a reshape at the "
        "next start.",
    ),
    cfg.DictOpt(
        "mdev_classes",
        default={},
        help="Resource class of mediated devices by their type, like `nvidia-35:CUSTOM_SMALL_GPU`. "
        "Types that aren't listed are VGPU.",
    ),
    cfg.DictOpt(
        "renamed_resource_classes",
        default={},
        help="Resource classes of the host's providers that get another name, like "
        "`CUSTOM_FPGA:FPGA`. Inventory and allocations change in one reshape at the next start.",
    ),
    cfg.BoolOpt(
        "instances_on_shared_storage",
        default=False,
        help="The disks of instances that don't boot from a volume are on storage that a sharing "
        "provider stands for. Matters where the resource tracker writes allocations.",
    ),
    cfg.IntOpt(
        "parallel_node_updates",
        default=8,
        min=1,
        help="How many nodes of this host are updated at the same time. The driver is then asked "
        "for several nodes at once.",
    ),
    cfg.IntOpt(
        "conflict_retry_time",
        default=60,
        min=0,
        help="For how many seconds the update of a node, or its reshape, is tried again while "
        "others keep changing the same resource providers. Tries after the fourth come after "
        "pauses of random length. 0: four tries, without any pause. By default as long as it takes "
        "until the next regular update.",
    ),
    cfg.BoolOpt(
        "whole_trees",
        default=True,
        help="Read and write a host's whole tree of providers in one request, if the placement "
        "service offers that. If not, or with another placement service, providers are read and "
        "written one by one.",
    ),
    cfg.BoolOpt(
        "owner_trait",
        default=True,
        help="All nova-compute services are of release 34 or newer, so that the scheduler asks for "
        "nodes that have the trait OWNER_NOVA. Commands translate flavors as it does.",
    ),
    cfg.PortOpt(
        "metrics_port",
        min=1,
        help="The port of 127.0.0.1 where berth-compute serves its metrics for Prometheus at "
        "/metrics. By default it serves none.",
    ),
    cfg.StrOpt(
        "sysfs_root",
        default="/sys",
        help="Directory the host driver reads as sysfs (processors, NUMA nodes, devices); the "
        "libvirt driver reads there what libvirt doesn't tell.",
    ),
    cfg.StrOpt(
        "procfs_root",
        default="/proc",
        help="Directory the host driver reads as procfs (memory, processor features).",
    ),
    cfg.IntOpt(
        "fake_nodes",
        default=2000,
        min=1,
        help="How many nodes the driver fake.FakeLargeScaleDriver has.",
    ),
    cfg.IntOpt(
        "fake_seed",
        default=0,
        help="What the nodes of fake.FakeLargeScaleDriver are like: the same number gives the "
        "same nodes.",
    ),
]
