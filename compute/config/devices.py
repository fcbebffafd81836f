"""Options of group [devices]: mediated devices."""

from oslo_config import cfg

GROUP = "devices"

OPTIONS = [
    cfg.ListOpt(
        "enabled_mdev_types",
        default=[],
        deprecated_name="enabled_vgpu_types",
        help="Types of mediated devices that guests may use. Empty: no VGPU is reported.",
    ),
]
