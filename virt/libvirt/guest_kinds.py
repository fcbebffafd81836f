"""Which kinds of guests a hypervisor may have, by libvirt's host capabilities."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

from virt.libvirt.capabilities_xml import CAPABILITIES
from virt.libvirt.xml_reading import parse

# Architecture → type of machine that a guest gets if nobody asks for another.
_DEFAULT_MACHINES = {
    "x86_64": "pc",
    "i686": "pc",
    "aarch64": "virt",
    "armv7l": "virt",
    "ppc64le": "pseries",
    "s390x": "s390-ccw-virtio",
}


@dataclass(frozen=True)
class GuestKind:
    """Guests of one architecture on one type of machine; None is what libvirt takes by default."""

    emulator: str | None
    architecture: str
    machine: str | None


def machine_types(entries: Iterable[str]) -> dict[str, str]:
    """Read entries like `x86_64=q35`; return architecture → machine. Others don't count."""
    pairs = (entry.partition("=") for entry in entries)
    return {architecture.strip(): one.strip() for architecture, _, one in pairs if one.strip()}


def guest_kinds(
    capabilities: str, virt_type: str, configured: Mapping[str, str]
) -> list[GuestKind]:
    """Read from the host capabilities which kinds of guests of type `virt_type` there may be.

    These are the default machine of each architecture and those that have a second name, like
    `q35`, or else the machine that is `configured` for the architecture. Raises MalformedXML if the
    XML makes no sense.
    """
    kinds: dict[GuestKind, None] = {}
    for architecture in parse(capabilities, CAPABILITIES).findall("./guest/arch"):
        for domain in architecture.findall("domain"):
            if domain.get("type") != virt_type:
                continue
            name = architecture.get("name", "")
            emulator = domain.findtext("emulator") or architecture.findtext("emulator")
            machines = (
                [configured[name]]
                if name in configured
                else [_DEFAULT_MACHINES.get(name), *_aliases(architecture), *_aliases(domain)]
            )
            kinds |= {GuestKind(emulator, name, machine): None for machine in machines}
    return list(kinds)


def _aliases(element: ElementTree.Element) -> list[str]:
    return [one.text.strip() for one in element.findall("machine[@canonical]") if one.text]
