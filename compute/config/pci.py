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
]
