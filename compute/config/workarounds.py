"""Options of group [workarounds]: behaviour that is off unless an operator needs it."""

from oslo_config import cfg

GROUP = "workarounds"

OPTIONS = [
    cfg.BoolOpt(
        "reshape_periodic_nonfatal",
        default=False,
        help="Log a reshape that is needed or failed in a periodic update and go on, instead of "
        "ending the service. A reshape that fails at start-up stays fatal.",
    ),
    cfg.BoolOpt(
        "skip_reserve_in_use_ironic_nodes",
        default=False,
        help="Do not report bare metal nodes that are in use as reserved.",
    ),
    cfg.BoolOpt(
        "reserve_disk_resource_for_image_cache",
        default=False,
        help="Count the image cache into the reserved DISK_GB.",
    ),
]
