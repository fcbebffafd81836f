"""Which mediated devices guests may use, as VGPU inventory (compute.md §6.5.1)."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from oslo_config import cfg

from virt.inventory import record
from virt.node.facts import HostFacts
from virt.node.mdev_types import MdevType, configured_types, types_of


@dataclass
class Gpus:
    """Device (`pci_0000_84_00_0`) → its inventory record, and → its resource class."""

    inventories: dict[str, dict[str, Any]] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)


def gpus(facts: HostFacts, conf: cfg.ConfigOpts, reported: Collection[str] = ()) -> Gpus:
    """Return the devices that have, or can make, mediated devices of an enabled type.

    A device makes one type at a time. Of those that no type names, that is the first type without
    addresses. If `[berth]mdev_classes` tells types apart, it is the one the device has already,
    else the first that it can make.

    :param reported: the devices that have providers. If a type may not be made as often as devices
        can make it, those with such devices come first, and then these
    """
    types = configured_types(conf)
    existing: dict[str, Counter[str]] = {}
    for one in facts.mediated_devices:
        if one.is_active:
            existing.setdefault(one.parent, Counter())[one.type] += 1
    found = Gpus()
    left = {kind.name: kind.most for kind in types}
    ordered = sorted(
        {*facts.creatable, *existing},
        key=lambda device: (device not in existing, device not in reported, device),
    )
    for device in ordered:
        here, creatable = existing.get(device, Counter()), facts.creatable.get(device, {})
        kind = _kind(types_of(device, types, not conf.berth.mdev_classes), here, creatable)
        if kind is None:
            continue
        total = here[kind.name] + creatable.get(kind.name, 0)
        room = left[kind.name]
        if room is not None:
            # What exists has users: without its provider, every update would fail.
            total = max(here[kind.name], min(total, room))
            left[kind.name] = max(0, room - total)
        if total:
            found.inventories[device] = record(total)
            found.classes[device] = kind.resource_class
    return found


def _kind(
    types: Collection[MdevType], here: Collection[str], creatable: Collection[str]
) -> MdevType | None:
    able = [kind for kind in types if kind.name in creatable]
    return next(iter([*(kind for kind in types if kind.name in here), *able]), None)
