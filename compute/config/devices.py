"""Options of group [devices], and of a group for each type of mediated devices."""

from oslo_config import cfg

GROUP = "devices"

OPTIONS = [
    cfg.ListOpt(
        "enabled_mdev_types",
        default=[],
        deprecated_name="enabled_vgpu_types",
        help="Types of mediated devices that guests may use. Empty: no VGPU is reported. A group "
        "[mdev_<type>] may say more about a type: `device_addresses`, `mdev_class` and "
        "`max_instances`.",
    ),
]


def type_group(name: str) -> str:
    """Return the name of the group of a type of mediated devices."""
    return f"mdev_{name}"


def type_options(name: str) -> list[cfg.Opt]:
    """Return the options of the group of a type of mediated devices."""
    return [
        cfg.ListOpt(
            "device_addresses",
            default=[],
            deprecated_group=f"vgpu_{name}",
            help="PCI addresses of the devices that make this type. The first type without any is "
            "that of all devices that no other type names.",
        ),
        cfg.StrOpt(
            "mdev_class",
            regex=r"^(VGPU|CUSTOM_[A-Z0-9_]+)$",
            help="The resource class of devices of this type: VGPU, if this isn't set, or a custom "
            "one.",
        ),
        cfg.IntOpt(
            "max_instances",
            min=1,
            help="How many devices of this type there may be at once on the host; not set: as many "
            "as the hardware can make.",
        ),
    ]


def register_types(conf: cfg.ConfigOpts) -> None:
    """Register the group of each type that is enabled."""
    for name in conf.devices.enabled_mdev_types:
        conf.register_opts(type_options(name), group=type_group(name))
