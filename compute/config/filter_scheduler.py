"""Options of group [filter_scheduler]: what nova's scheduler asks placement for."""

from oslo_config import cfg

GROUP = "filter_scheduler"

OPTIONS = [
    cfg.BoolOpt(
        "pci_in_placement",
        default=False,
        help="The scheduler asks placement for the PCI devices of flavors. Give what nova's "
        "scheduler has: commands translate flavors as it does.",
    ),
]
