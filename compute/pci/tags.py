"""What the tags of a PCI device mean in placement: its class and its traits (compute.md §6.11)."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import os_resource_classes
import os_traits

MANAGED = "COMPUTE_MANAGED_PCI_DEVICE"
NETWORK = "physical_network"
ONE_TIME_USE = "one_time_use"
ONE_TIME_USE_TRAIT = "HW_PCI_ONE_TIME_USE"

_CUSTOM = "CUSTOM_"
_MARKS = {ONE_TIME_USE: ONE_TIME_USE_TRAIT, "live_migratable": "HW_PCI_LIVE_MIGRATABLE"}


def class_of(device: Mapping[str, Any]) -> str:
    """Return the resource class of a device: that of its tag, else that of its product."""
    tag = device.get("resource_class")
    return class_name(tag or f"{_CUSTOM}PCI_{device.get('vendor_id')}_{device.get('product_id')}")


def class_name(tag: str) -> str:
    """Return the resource class that a tag names."""
    name = _normalised(tag)
    return name if name in os_resource_classes.STANDARDS else _custom(name)


def traits_of(device: Mapping[str, Any]) -> frozenset[str]:
    """Return the traits of a device's provider."""
    marks = [trait for tag, trait in _MARKS.items() if is_true(device.get(tag))]
    return frozenset([MANAGED, *marks]) | trait_names(device.get("traits"))


def trait_names(tag: Any) -> frozenset[str]:
    """Return the traits that a tag names, separated by commas."""
    given: Iterable[str] = str(tag or "").split(",")
    names = [_normalised(name) for name in given if name]
    known, _ = os_traits.check_traits(names)
    return frozenset(name if name in known else _custom(name) for name in names)


def is_true(tag: Any) -> bool:
    """Say whether a tag is set."""
    return str(tag).lower() in ("true", "yes", "1", "on")


def _normalised(name: str) -> str:
    return re.sub(r"[^A-Z0-9_]", "_", name.strip().upper())


def _custom(name: str) -> str:
    return name if name.startswith(_CUSTOM) else _CUSTOM + name
