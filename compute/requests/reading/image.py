"""The properties of an image, read as nova reads them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from compute.requests.reading import image_values, masks
from compute.requests.reading.refusal import Refused, one_of
from compute.requests.reading.values import is_true, whole_number

_TRAIT = "trait:"
#: the most cells that a property is read for
MOST_CELLS = 128
_PREDICATE = re.compile(
    r"\s*(?:<=|>=|==|!=|<|>)\s*v?\d+(?:\.\d+)*(?:[-._]?(?:[a-z]+[-._]?)?\d+)*\s*", re.IGNORECASE
)


@dataclass(frozen=True)
class GuestImage:
    """An image as the image service shows it. `disk_format` None: it isn't known."""

    properties: Mapping[str, Any] = field(default_factory=dict)
    disk_format: str | None = None


@dataclass(frozen=True)
class ImageProperties:
    """What an image asks for.

    :param values: property, by today's name → value: text, number or boolean
    :param required: traits
    :param cells: "numa_cpus" and "numa_mem" → the value for each NUMA node, as far as it's given
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    cells: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def get(self, name: str) -> Any:
        """Return the value of a property, None if the image doesn't have it."""
        return self.values.get(name)


def read_image(image: GuestImage) -> ImageProperties:
    """Read the properties; others than nova's are ignored. Raises Refused for values of no use."""
    given, values = image.properties, dict[str, Any]()
    adapter = given.get("vmware_adaptertype")
    if adapter == "ide":
        values["hw_disk_bus"] = "ide"
    elif adapter:
        values["hw_disk_bus"] = "scsi"
        values["hw_scsi_model"] = _value("hw_scsi_model", "vmware_adaptertype", adapter)
    for old, name in image_values.OLD_NAMES.items():
        if old in given:
            values[name] = _value(name, old, given[old])
    for name, value in given.items():
        if name in _KNOWN:
            values[name] = _value(name, name, value)
    required = frozenset(
        name.removeprefix(_TRAIT)
        for name, value in given.items()
        if name.startswith(_TRAIT) and value == "required"
    )
    return ImageProperties(values, required, _cells(given))


_KNOWN = frozenset(
    {
        *image_values.EXACT,
        *image_values.ANY_CASE,
        *image_values.BOOLEANS,
        *image_values.NUMBERS,
        *image_values.TEXTS,
        *image_values.LISTS,
        *image_values.VERSIONS,
    }
)


def _value(name: str, given_as: str, value: object) -> object:
    """Read one property.

    :param name: today's name
    :param given_as: the name that the image has
    """
    if value is None:
        raise Refused(f"{given_as} of the image has no value.")
    if name in image_values.EXACT:
        one_of(given_as, value, image_values.EXACT[name])
        return value
    if name in image_values.ANY_CASE:
        if isinstance(value, str):
            lower = value.lower()
            value = image_values.ALIASES.get(name, {}).get(lower, lower)
        one_of(given_as, value, image_values.ANY_CASE[name])
        return value
    if name in image_values.BOOLEANS:
        return is_true(value)
    if name in image_values.NUMBERS:
        if (number := whole_number(value)) is None:
            raise Refused(f"{given_as}={value} of the image must be a whole number.")
        return number
    if name in image_values.LISTS:
        if not (isinstance(value, list) and all(isinstance(one, Mapping) for one in value)):
            raise Refused(f"{given_as} of the image must be a list of objects.")
        return value
    if isinstance(value, (list, Mapping)):
        raise Refused(f"{given_as} of the image must be text.")
    if name in image_values.VERSIONS and not all(map(_PREDICATE.fullmatch, str(value).split(","))):
        raise Refused(f"{given_as}={value} of the image must be versions such as >=1.0,<2.0.")
    return str(value)


def _cells(given: Mapping[str, object]) -> dict[str, tuple[object, ...]]:
    found = dict[str, tuple[Any, ...]]()
    for name in ("numa_cpus", "numa_mem"):
        values = []
        for cell in range(MOST_CELLS):
            key = f"hw_{name}.{cell}"
            if key not in given:
                break
            values.append(cell_value(name, key, given[key]))
        if values:
            found[name] = tuple(values)
    return found


def cell_value(name: str, key: str, value: object) -> object:
    """Read the processors or the memory of one NUMA node of the guest; raise Refused."""
    if name == "numa_cpus" and isinstance(value, str):
        return masks.chosen(key, value)
    number = whole_number(value) if name == "numa_mem" else None
    if number is None:
        raise Refused(f"{key}={value} says nothing about the NUMA node.")
    return number
