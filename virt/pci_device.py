"""PCI devices of a host, and which of them operators let guests have (`[pci]device_spec`)."""

import fnmatch
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compute import exceptions

_OPTION = "[pci]device_spec"
_ADDRESS = re.compile(r"([0-9a-f]{4,}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])")
_ADDRESS_PARTS = ("domain", "bus", "slot", "function")
_IDS = ("vendor_id", "product_id")
_NETWORK = "physical_network"


@dataclass(frozen=True)
class PciDevice:
    """One device. Addresses are like `0000:84:00.0`, ids like `8086`.

    A physical function has `virtual_functions`, the addresses of those that exist; a virtual one
    has the address of its `physical_function`. `numa_node` is None where the firmware doesn't say,
    `interface` the name of its network interface, if it has one. `is_there` is False for a virtual
    function that its card can create but hasn't created yet; its address isn't known.
    """

    address: str
    vendor_id: str
    product_id: str
    numa_node: int | None = None
    interface: str | None = None
    virtual_functions: Sequence[str] = ()
    physical_function: str | None = None
    is_there: bool = True

    @property
    def kind(self) -> str:
        """Return the type nova gives it: `type-PF`, `type-VF` or `type-PCI`."""
        if self.physical_function is not None:
            return "type-VF"
        return "type-PF" if self.virtual_functions else "type-PCI"


@dataclass(frozen=True)
class DeviceSpec:
    """One entry of the option: which devices it matches, and the tags that it gives them."""

    devname: str | None = None
    address: str | Mapping[str, str] | None = None
    vendor_id: str | None = None
    product_id: str | None = None
    tags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def physical_network(self) -> str | None:
        """Return the network its devices are plugged into; None if the entry names none."""
        return self.tags.get(_NETWORK)

    def matches(self, device: PciDevice) -> bool:
        """Say whether the device itself is as specified."""
        return self._is_kind_of(device) and self._is_place_of(device)

    def matches_function(self, function: PciDevice, card: PciDevice) -> bool:
        """Say whether a virtual function is as specified, by the place of its card."""
        return self._is_kind_of(function) and self._is_place_of(card)

    def _is_kind_of(self, device: PciDevice) -> bool:
        return _same(self.vendor_id, device.vendor_id) and _same(self.product_id, device.product_id)

    def _is_place_of(self, device: PciDevice) -> bool:
        return self.devname in (None, device.interface) and self._has_address(device.address)

    def _has_address(self, address: str) -> bool:
        if self.address is None:
            return True
        if isinstance(self.address, str):
            return fnmatch.fnmatchcase(address, self.address)
        parts = _ADDRESS.fullmatch(address)
        return parts is not None and all(
            re.fullmatch(self.address.get(name, ".*"), part)
            for name, part in zip(_ADDRESS_PARTS, parts.groups(), strict=True)
        )


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


def offered(
    devices: Sequence[PciDevice], specs: Sequence[DeviceSpec]
) -> list[tuple[PciDevice, DeviceSpec]]:
    """Return the devices guests may have, each with the first spec that allows it.

    A spec that names a card's address also matches the card's virtual functions, because operators
    name the card. Vendor and product must match each device itself, because functions have other
    products than their card.
    """
    by_address = {device.address: device for device in devices}
    found = []
    for device in devices:
        parent = by_address.get(device.physical_function or "")
        for spec in specs:
            if spec.matches(device) or (
                parent is not None and spec.matches_function(device, parent)
            ):
                found.append((device, spec))
                break
    return found


def _spec(value: object) -> DeviceSpec:
    if not isinstance(value, dict):
        raise ValueError("is not a JSON object")
    known = {"devname", "address", *_IDS}
    wanted = {name: value[name] for name in known if value.get(name) is not None}
    for name, given in wanted.items():
        if not isinstance(given, str) and not (name == "address" and _is_pattern(given)):
            raise ValueError(f"{name} is not a string: {given!r}")
    if {"devname", "address"} <= wanted.keys():
        raise ValueError("has both devname and address")
    network = value.get(_NETWORK)
    if network is not None and not isinstance(network, str):
        raise ValueError(f"{_NETWORK} is not a string: {network!r}")
    for name in _IDS:
        if not re.fullmatch(r"\*|(0x)?[0-9a-fA-F]{1,4}", wanted.get(name, "*")):
            raise ValueError(f"{name} is not a hexadecimal number: {wanted[name]!r}")
    if isinstance(wanted.get("address"), str):
        wanted["address"] = _full_address(wanted["address"].lower())
    return DeviceSpec(**wanted, tags={k: v for k, v in value.items() if k not in known})


def _is_pattern(address: object) -> bool:
    """Say whether it is an object of regular expressions. Raises re.error if one is invalid."""
    if not isinstance(address, dict) or not set(address) <= set(_ADDRESS_PARTS):
        return False
    return all(isinstance(part, str) and re.compile(part) for part in address.values())


def _full_address(address: str) -> str:
    """Add what may be left out: the domain, and everything behind a final `*`."""
    if not re.fullmatch(r"[0-9a-f*:.]+", address):
        raise ValueError(f"address is not like 0000:84:00.0 or 84:*: {address!r}")
    return address if address.count(":") != 1 else f"*:{address}"


def _same(wanted: str | None, actual: str) -> bool:
    if wanted in (None, "*"):
        return True
    return int(wanted or "", 16) == int(actual, 16)
