"""The values of [pci]alias."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from compute.requests.reading.device_names import class_name, class_of_product, trait_names
from compute.requests.settings import PciAlias

_FIELDS = frozenset(
    {
        *("name", "vendor_id", "product_id", "device_type", "capability_type"),
        *("numa_policy", "resource_class", "traits", "live_migratable"),
    }
)
_TYPES = ("type-PCI", "type-PF", "type-VF", "vdpa")
_NUMBER = re.compile(r"[0-9A-Fa-f]{4}")


class BadAlias(Exception):
    """A value of [pci]alias is none; the text says why."""


def aliases_of(values: Iterable[str], in_placement: bool) -> dict[str, PciAlias]:
    """Return name → what flavors ask placement for by it. Raises BadAlias.

    :param in_placement: [filter_scheduler]pci_in_placement. Without it, a name may come several
        times for devices of one type, and needs no class.
    """
    found = dict[str, PciAlias]()
    types = dict[str, Any]()
    for text in values:
        value = _read(text)
        name, kind = value["name"], value.get("device_type", "type-PCI")
        if types.setdefault(name, kind) != kind:
            raise BadAlias(f"[pci]alias {name} has two device types, {types[name]} and {kind}.")
        if in_placement and name in found:
            raise BadAlias(f"[pci]alias {name} comes twice: placement can be asked for one only.")
        found[name] = PciAlias(_class(value), trait_names(value.get("traits", "")))
        if in_placement and not found[name].resource_class:
            raise BadAlias(f"[pci]alias needs vendor_id and product_id, or resource_class: {text}.")
    return found


def _read(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise BadAlias(f"[pci]alias is no JSON: {text}: {error}.") from error
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise BadAlias(f"[pci]alias must be a JSON object of texts: {text}.")
    if unknown := value.keys() - _FIELDS:
        raise BadAlias(f"[pci]alias has no {', '.join(sorted(unknown))}: {text}.")
    if not value.get("name"):
        raise BadAlias(f"[pci]alias has no name: {text}.")
    if value.get("device_type", _TYPES[0]) not in _TYPES:
        raise BadAlias(f"The device_type of [pci]alias must be one of {', '.join(_TYPES)}: {text}.")
    numbers = [value[key] for key in ("vendor_id", "product_id") if key in value]
    if not all(map(_NUMBER.fullmatch, numbers)):
        raise BadAlias(f"[pci]alias needs four hexadecimal digits of vendor and product: {text}.")
    return value


def _class(value: Mapping[str, Any]) -> str:
    if given := value.get("resource_class"):
        return class_name(given)
    numbers = [value[key] for key in ("vendor_id", "product_id") if key in value]
    return class_of_product(*numbers) if len(numbers) == 2 else ""
