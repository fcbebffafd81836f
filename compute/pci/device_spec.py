"""Which PCI devices operators let guests have, and the tags they give them: `[pci]device_spec`."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compute import exceptions
from compute.pci.addresses import AddressPattern, pattern_of
from compute.pci.tags import NETWORK, ONE_TIME_USE, boolean

_OPTION = "[pci]device_spec"
_IDS = ("vendor_id", "product_id")
_ID = re.compile(r"(0x)?[0-9a-fA-F]+")
_NAMES = (NETWORK, "resource_class", "traits")
_BOOLEANS = (ONE_TIME_USE, "managed", "live_migratable")
_REMOTE = "remote_managed"

#: Returns the address of the device that has a network interface of a name; None: none has it.
AddressOf = Callable[[str], str | None]


@dataclass(frozen=True)
class DeviceSpec:
    """One entry of the option: which devices it matches, and the tags that it gives them."""

    devname: str | None = None
    address: AddressPattern | None = None
    vendor_id: str | None = None
    product_id: str | None = None
    tags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def physical_network(self) -> str | None:
        """Return the network its devices are plugged into; None if the entry names none."""
        return self.tags.get(NETWORK) or None

    @property
    def is_remote(self) -> bool:
        """Whether its devices are managed from elsewhere: by a card that is a computer itself."""
        return bool(boolean(self.tags.get(_REMOTE)))

    def matches(self, device: Mapping[str, Any], address_of: AddressOf) -> bool:
        """Say whether a device is as specified, or is a virtual function of the card it names.

        :param device: as drivers list it, see compute.pci.devices

        Vendor and product must match each device itself, because functions have other products than
        their card. What names no single device doesn't name a card's functions along with it.
        """
        ids = ((self.vendor_id, "vendor_id"), (self.product_id, "product_id"))
        if not all(_same(wanted, device[key]) for wanted, key in ids):
            return False
        address, card = device["address"], device.get("parent_addr")
        if self.devname is not None:
            named = address_of(self.devname)
            return named is not None and named in (address, card)
        if self.address is None or self.address.matches(address):
            return True
        return self.address.single is not None and self.address.single == card


def parse_device_specs(texts: Sequence[str]) -> list[DeviceSpec]:
    """Read the values of the option, each a JSON object or a list of them.

    Raises InvalidConfiguration, naming option and value, if a value makes no sense.
    """
    specs = []
    for text in texts:
        try:
            values = json.loads(text)
            for value in values if isinstance(values, list) else [values]:
                specs.append(_spec(value))
        except (ValueError, RecursionError, re.error) as error:
            raise exceptions.InvalidConfiguration(f"{_OPTION} {text!r}: {error}") from error
    return specs


def _spec(value: object) -> DeviceSpec:
    if not isinstance(value, dict):
        raise ValueError("is not a JSON object")
    known = {"devname", "address", *_IDS}
    wanted = {name: value[name] for name in known if value.get(name) is not None}
    for name in ("devname", *_IDS, *_NAMES):
        given = value.get(name)
        if given is not None and not isinstance(given, str):
            raise ValueError(f"{name} is not a string: {given!r}")
    if {"devname", "address"} <= wanted.keys():
        raise ValueError("has both devname and address")
    for name in _IDS:
        if wanted.get(name, "*") != "*" and not _ID.fullmatch(wanted[name]):
            raise ValueError(f"{name} is not a hexadecimal number: {wanted[name]!r}")
    if "address" in wanted:
        wanted["address"] = pattern_of(wanted["address"])
    return DeviceSpec(**wanted, tags=_tags({k: v for k, v in value.items() if k not in known}))


def _tags(given: Mapping[str, object]) -> dict[str, object]:
    """Return the tags, with booleans as nova writes them."""
    tags = dict(given)
    for name in (*_BOOLEANS, _REMOTE):
        value = tags.pop(name, None)
        if value is None:
            continue
        is_true = boolean(value)
        if is_true is None and name != _REMOTE:
            raise ValueError(f"{name} is neither true nor false: {value!r}")
        tags[name] = "true" if is_true else "false"
    return tags


def _same(wanted: str | None, actual: str) -> bool:
    if wanted in (None, "*"):
        return True
    # Drivers for tests list names of their own.
    return bool(_ID.fullmatch(actual)) and int(wanted or "", 16) == int(actual, 16)
