"""Options of group [pci]: PCI devices in placement."""

from oslo_config import cfg

GROUP = "pci"

OPTIONS = [
    cfg.BoolOpt(
        "report_in_placement",
        default=False,
        help="Report PCI devices as resource providers below their node.",
    ),
    cfg.MultiStrOpt(
        "device_spec",
        default=[],
        help="A JSON object that names PCI devices guests may use; may be given several times.",
    ),
    cfg.MultiStrOpt(
        "alias",
        default=[],
        help="A JSON object that defines a name by which flavors ask for PCI devices; may be given "
        "several times. Give what nova's scheduler has: commands translate flavors as it does. "
        "Without any, they leave PCI devices out.",
    ),
]
