"""Which mediated devices guests may use, as VGPU inventory (compute.md §6.5.1)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oslo_config import cfg

from compute import exceptions
from virt.inventory import CUSTOM_NAME, record
from virt.node.facts import HostFacts
from virt.reshape.vgpu import VGPU


@dataclass
class Gpus:
    """Device (`pci_0000_84_00_0`) → its inventory record, and → its resource class."""

    inventories: dict[str, dict[str, Any]] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)


def checked_classes(conf: cfg.ConfigOpts) -> Mapping[str, str]:
    """Return type → resource class, as configured.

    Raises InvalidConfiguration if a type isn't enabled or a class is neither VGPU nor custom.
    """
    for name, resource_class in conf.berth.mdev_classes.items():
        if name not in conf.devices.enabled_mdev_types:
            raise exceptions.InvalidConfiguration(
                f"[berth]mdev_classes names {name}, which [devices]enabled_mdev_types doesn't."
            )
        if resource_class != VGPU and not CUSTOM_NAME.fullmatch(resource_class):
            raise exceptions.InvalidConfiguration(
                f"[berth]mdev_classes: {resource_class} for {name} is neither {VGPU} nor the name "
                "of a custom resource class."
            )
    return conf.berth.mdev_classes


def gpus(facts: HostFacts, conf: cfg.ConfigOpts) -> Gpus:
    """Return the devices that have, or can make, mediated devices of an enabled type.

    A device makes one type at a time: the one it has already, else the first that is enabled.
    """
    classes = checked_classes(conf)
    found = Gpus()
    existing: dict[str, list[str]] = {}
    for one in facts.mediated_devices:
        if one.is_active and one.type in conf.devices.enabled_mdev_types:
            existing.setdefault(one.parent, []).append(one.type)
    for device in sorted({*facts.creatable, *existing}):
        creatable = facts.creatable.get(device, {})
        here = existing.get(device, [])
        able = [kind for kind in conf.devices.enabled_mdev_types if kind in creatable]
        kinds = [*here, *able]
        total = len(here) + (creatable.get(kinds[0], 0) if kinds else 0)
        if total:
            found.inventories[device] = record(total)
            found.classes[device] = classes.get(kinds[0], VGPU)
    return found
