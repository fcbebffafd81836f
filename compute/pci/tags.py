"""What the tags of a PCI device mean in placement: its class and its traits (compute.md §6.11)."""

from collections.abc import Mapping
from typing import Any

from compute.requests.reading.device_names import class_name, class_of_product, trait_names
from compute.requests.reading.values import is_true

MANAGED = "COMPUTE_MANAGED_PCI_DEVICE"
NETWORK = "physical_network"
ONE_TIME_USE = "one_time_use"
ONE_TIME_USE_TRAIT = "HW_PCI_ONE_TIME_USE"

_FALSE = frozenset({"0", "f", "false", "off", "n", "no"})
_MARK_OF_TAG = {ONE_TIME_USE: ONE_TIME_USE_TRAIT, "live_migratable": "HW_PCI_LIVE_MIGRATABLE"}
#: the traits that tags decide on alone
MARKS = frozenset(_MARK_OF_TAG.values())


def class_of(device: Mapping[str, Any]) -> str:
    """Return the resource class of a device: that of its tag, else that of its product."""
    if tag := device.get("resource_class"):
        return class_name(tag)
    return class_of_product(str(device.get("vendor_id")), str(device.get("product_id")))


def traits_of(device: Mapping[str, Any]) -> frozenset[str]:
    """Return the traits of a device's provider."""
    marks = [trait for tag, trait in _MARK_OF_TAG.items() if is_true(device.get(tag))]
    return frozenset([MANAGED, *marks]) | trait_names(device.get("traits") or "")


def boolean(tag: object) -> bool | None:
    """Read a tag as nova does; None if it is neither true nor false."""
    return True if is_true(tag) else False if str(tag).strip().lower() in _FALSE else None
