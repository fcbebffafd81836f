"""What all readers of libvirt's descriptions share."""

import re
from xml.etree import ElementTree

from virt.node.facts import HostFactsError

_UNITS_IN_KIB = {"KiB": 1, "k": 1, "K": 1, "MiB": 1024, "M": 1024, "GiB": 1024**2, "G": 1024**2}
# str.isdigit() has superscripts for digits, which int() refuses, as it does thousands of digits
_WHOLE_NUMBER = re.compile(r"[0-9]{1,18}")


class MalformedXML(HostFactsError):
    """libvirt described something in a way that makes no sense."""


def parse(text: str, what: str) -> ElementTree.Element:
    """Return the root element. Raises MalformedXML, naming `what`, if the text is no XML."""
    try:
        # Safe to parse: libvirt generates it, without entities and without endless nesting.
        return ElementTree.fromstring(text)  # noqa: S314
    except ElementTree.ParseError as error:
        raise MalformedXML(what, str(error)) from error


def is_whole_number(text: str) -> bool:
    """Say whether the text is a number of 0 or more as libvirt writes it, in decimal digits."""
    return _WHOLE_NUMBER.fullmatch(text) is not None


def memory_kib(element: ElementTree.Element, what: str) -> int:
    """Read an amount of memory with its unit. Raises MalformedXML, naming `what`, otherwise."""
    unit = element.get("unit", "KiB")
    text = (element.text or "").strip()
    if unit in ("b", "bytes", "B") and is_whole_number(text):
        return int(text) // 1024
    if unit not in _UNITS_IN_KIB or not is_whole_number(text):
        raise MalformedXML(what, f"<{element.tag}> is no amount of memory: {text!r} {unit!r}")
    return int(text) * _UNITS_IN_KIB[unit]
