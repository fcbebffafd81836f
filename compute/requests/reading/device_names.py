"""The names that placement has for PCI devices: of aliases, of requests and of devices alike.

They are nova's wherever placement takes nova's.
"""

import re

import os_resource_classes
import os_traits

from compute.requests.reading.values import custom_name

_CUSTOM = "CUSTOM_"


def class_name(given: str) -> str:
    """Return the resource class that an alias, a request or a device's tag names."""
    name = given.upper()
    return name if name in os_resource_classes.STANDARDS else _custom(name)


def class_of_product(vendor_id: str, product_id: str) -> str:
    """Return the resource class of devices that have no other."""
    return f"{_CUSTOM}PCI_{vendor_id}_{product_id}".upper()


def trait_names(given: str) -> frozenset[str]:
    """Return the traits that a text names, separated by commas.

    Only in capitals is a name that of a standard trait.
    """
    names = given.split(",") if given else []
    standard, _ = os_traits.check_traits(names)
    return frozenset(name if name in standard else _custom(name.upper()) for name in names)


def _custom(name: str) -> str:
    if name.startswith(_CUSTOM):
        return re.sub("[^A-Z0-9_]", "_", name)
    return custom_name(name)
