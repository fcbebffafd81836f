"""Which PCI addresses an entry of `[pci]device_spec` names (nova's rules)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_PARTS = ("domain", "bus", "slot", "function")
_LARGEST = {"domain": 0xFFFF, "bus": 0xFF, "slot": 0x1F, "function": 7}
_ADDRESS = re.compile(r"([0-9a-f]{4,}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])")
_ANY = "*"
_HEX = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True)
class AddressPattern:
    """For each part of an address the pattern that it begins with; `single` if there is but one."""

    parts: Mapping[str, re.Pattern[str]]
    single: str | None = None

    def matches(self, address: str) -> bool:
        """Say whether a device's address is among those."""
        found = _ADDRESS.fullmatch(address)
        return found is not None and all(
            name not in self.parts or self.parts[name].match(part)
            for name, part in zip(_PARTS, found.groups(), strict=True)
        )


def pattern_of(given: object) -> AddressPattern:
    """Read an address with wildcards, like `84:*`, or an object of regular expressions.

    Parts may be left out at the beginning, and the function; `*` stands for any. Raises ValueError,
    or re.error, if that makes no sense.
    """
    if isinstance(given, str):
        return _of_text(given)
    if not isinstance(given, Mapping) or not set(given) <= set(_PARTS):
        raise ValueError(f"address is not a string: {given!r}")
    if not all(isinstance(part, str) for part in given.values()):
        raise ValueError(f"parts of address are not strings: {given!r}")
    patterns = {name: re.compile(part) for name, part in given.items()}
    return AddressPattern(patterns, _single(given))


def is_beyond(address: str) -> bool:
    """Say whether a device's PCI domain is above FFFF: nova leaves such devices out."""
    found = _ADDRESS.fullmatch(address)
    return found is not None and int(found[1], 16) > _LARGEST["domain"]


def _of_text(text: str) -> AddressPattern:
    front, _, function = text.strip().lower().partition(".")
    fields = front.split(":")
    if len(fields) > len(_PARTS) - 1:
        raise ValueError(f"address is not like 0000:84:00.0 or 84:*: {text!r}")
    fields = [_ANY] * (len(_PARTS) - 1 - len(fields)) + fields
    given = {
        name: _number(name, field.strip(), text)
        for name, field in zip(_PARTS, [*fields, function], strict=True)
        if field.strip() not in ("", _ANY)
    }
    return AddressPattern(
        {name: re.compile(f"{part}$") for name, part in given.items()}, _single(given)
    )


def _number(name: str, field: str, text: str) -> str:
    if not _HEX.fullmatch(field) or int(field, 16) > _LARGEST[name]:
        raise ValueError(
            f"address is not like 0000:84:00.0 or 84:*: {name} of {text!r} is not a hexadecimal "
            f"number up to {_LARGEST[name]:X}"
        )
    width = {"domain": 4, "function": 1}.get(name, 2)
    return f"{int(field, 16):0{width}x}"


def _single(parts: Mapping[str, str]) -> str | None:
    """Return the address, if each part is a plain number."""
    if set(parts) != set(_PARTS) or not all(_HEX.fullmatch(part) for part in parts.values()):
        return None
    address = "{domain}:{bus}:{slot}.{function}".format(**parts)
    return address if _ADDRESS.fullmatch(address) else None
