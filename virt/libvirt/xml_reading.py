"""What all readers of libvirt's descriptions have in common."""

from xml.etree import ElementTree

from virt.node.facts import HostFactsError

_UNITS_IN_KIB = {"KiB": 1, "k": 1, "K": 1, "MiB": 1024, "M": 1024, "GiB": 1024**2, "G": 1024**2}


class MalformedXML(HostFactsError):
    """libvirt described something in a way that makes no sense."""


def parse(text: str, what: str) -> ElementTree.Element:
    """Return the root element. Raises MalformedXML naming `what`."""
    try:
        # libvirt wrote it, from its own structures: no entities, nothing nested without end.
        return ElementTree.fromstring(text)  # noqa: S314
    except ElementTree.ParseError as error:
        raise MalformedXML(what, str(error)) from error


def memory_kib(element: ElementTree.Element, what: str) -> int:
    """Read an amount of memory with its unit. Raises MalformedXML naming `what`."""
    unit = element.get("unit", "KiB")
    text = (element.text or "").strip()
    if unit in ("b", "bytes", "B") and text.isdigit():
        return int(text) // 1024
    if unit not in _UNITS_IN_KIB or not text.isdigit():
        raise MalformedXML(what, f"<{element.tag}> is no amount of memory: {text!r} {unit!r}")
    return int(text) * _UNITS_IN_KIB[unit]
