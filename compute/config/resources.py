"""Options of group [DEFAULT] for inventories: allocation ratios, reserved amounts, timing."""

from oslo_config import cfg, types

GROUP = None

_RATIO_HELP = (
    "Overcommit of {what}. Set: wins over everything, even over a ratio changed by hand in "
    "placement. Unset or 0.0: `initial_{name}_allocation_ratio` at first, afterwards whatever "
    "placement has."
)
_INITIAL_HELP = "Overcommit of {what} for an inventory that does not exist yet."

_RATIOS = [
    ("cpu", "VCPU", 4.0),
    ("ram", "MEMORY_MB", 1.0),
    ("disk", "DISK_GB", 1.0),
]

OPTIONS = [
    *(
        cfg.FloatOpt(
            f"{name}_allocation_ratio", min=0.0, help=_RATIO_HELP.format(what=what, name=name)
        )
        for name, what, _ in _RATIOS
    ),
    *(
        cfg.FloatOpt(
            f"initial_{name}_allocation_ratio",
            default=initial,
            min=0.0,
            help=_INITIAL_HELP.format(what=what),
        )
        for name, what, initial in _RATIOS
    ),
    cfg.IntOpt("reserved_host_cpus", default=0, min=0, help="VCPU kept for the host itself."),
    cfg.IntOpt(
        "reserved_host_memory_mb", default=512, min=0, help="MEMORY_MB kept for the host itself."
    ),
    cfg.MultiOpt(
        "reserved_huge_pages",
        item_type=types.Dict(),
        help="Huge pages kept for the host itself, of a NUMA cell: `node:0,size:2048,count:64`. "
        "The size is in KiB, or has a unit, like 1GB.",
    ),
    cfg.IntOpt(
        "reserved_host_disk_mb",
        default=0,
        min=0,
        help="Disk in MB kept for the host itself; reported as DISK_GB, rounded up.",
    ),
    cfg.StrOpt(
        "instances_path",
        default="$state_path/instances",
        help="Directory of the guests' disks, and of the image cache below it. The libvirt "
        "and host drivers report the size of its file system as DISK_GB.",
    ),
    cfg.BoolOpt(
        "force_raw_images",
        default=True,
        help="Images become raw ones on the host. [libvirt]images_type = rbd needs that; without "
        "it, lvm takes no qcow2 images.",
    ),
    cfg.IntOpt(
        "update_resources_interval",
        default=0,
        help="Seconds between two updates of the resources. 0: the default of 60. "
        "Negative: no periodic update.",
    ),
    cfg.StrOpt(
        "vcpu_pin_set",
        deprecated_for_removal=True,
        deprecated_reason="[compute]cpu_shared_set and cpu_dedicated_set replace it.",
        help="Host processors that guests may use, like `4-12,^8,15`.",
    ),
]
