"""Reading libvirt's descriptions of a host's devices."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from xml.etree import ElementTree

from virt.libvirt.xml_reading import MalformedXML, parse
from virt.node.facts import MediatedDevice
from virt.pci_device import PciDevice

_ADDRESS_PARTS = ("domain", "bus", "slot", "function")
_MDEV_PREFIX = "mdev_"
_UUID_LENGTH = 36


@dataclass
class LibvirtDevices:
    """All of a host's devices that matter; see HostFacts for what each means.

    `vhosts` is path → address of the function that a guest has by this vDPA device.
    """

    pci: list[PciDevice] = field(default_factory=list)
    creatable: dict[str, dict[str, int]] = field(default_factory=dict)
    mediated: list[MediatedDevice] = field(default_factory=list)
    vhosts: dict[str, str] = field(default_factory=dict)


def parse_devices(texts: Mapping[str, str], defined: Collection[str] = ()) -> LibvirtDevices:
    """Read name → XML of node devices, of which those in `defined` aren't active.

    Raises MalformedXML, naming the device, if a description makes no sense.
    """
    devices = LibvirtDevices()
    interfaces: dict[str, str] = {}
    paths: dict[str, str] = {}
    by_name: dict[str, PciDevice] = {}
    for name, text in texts.items():
        what = f"device {name}"
        device = parse(text, what)
        capability = device.find("capability")
        kind = None if capability is None else capability.get("type")
        if capability is None or kind not in ("pci", "mdev", "net", "vdpa"):
            continue
        if kind == "net":
            parent = device.findtext("parent", "")
            if interface := capability.findtext("interface"):
                # A card may have several; libvirt lists them in any order.
                interfaces[parent] = min(interface, interfaces.get(parent, interface))
        elif kind == "vdpa":
            paths[device.findtext("parent", "")] = capability.findtext("chardev", "").strip()
        elif kind == "mdev":
            mediated = _mediated(name, device, capability)
            devices.mediated.append(replace(mediated, is_active=name not in defined))
        else:
            by_name[name] = _pci(capability, what)
            if types := _creatable(capability, what):
                devices.creatable[name] = types
    serials = {one.address: one.serial_number for one in by_name.values()}
    devices.pci = [
        replace(
            device,
            interface=interfaces.get(name),
            serial_number=serials.get(device.physical_function or device.address),
            is_vdpa=name in paths,
        )
        for name, device in by_name.items()
    ]
    devices.vhosts = {
        path: by_name[name].address for name, path in paths.items() if name in by_name and path
    }
    return devices


def address_of(element: ElementTree.Element, what: str) -> str:
    """Read an <address> with hexadecimal attributes. Raises MalformedXML if it makes no sense."""
    try:
        numbers = [int(element.get(part) or "0", 16) for part in _ADDRESS_PARTS]
    except ValueError as error:
        raise MalformedXML(what, f"no PCI address: {error}") from error
    return _address(numbers)


def _pci(capability: ElementTree.Element, what: str) -> PciDevice:
    numbers = [_number(capability.findtext(part), f"<{part}>", what) for part in _ADDRESS_PARTS]
    numa = capability.find("numa")
    node = -1 if numa is None else _number(numa.get("node"), "<numa>", what)
    functions: list[str] = []
    most = 0
    parent = None
    for inner in capability.findall("capability"):
        addresses = [address_of(one, what) for one in inner.findall("address")]
        if inner.get("type") == "virt_functions":
            functions = addresses
            # Without the number, an older libvirt still tells that there may be functions.
            most = _number(inner.get("maxCount", "1"), "maxCount", what)
        elif inner.get("type") == "phys_function" and addresses:
            parent = addresses[0]
    return PciDevice(
        address=_address(numbers),
        vendor_id=_id(capability, "vendor", what),
        product_id=_id(capability, "product", what),
        numa_node=node if node >= 0 else None,
        virtual_functions=tuple(functions),
        physical_function=parent,
        max_functions=most,
        serial_number=_serial_number(capability),
    )


def _serial_number(capability: ElementTree.Element) -> str | None:
    """Return what a card's vital product data say, if it has such."""
    text = capability.findtext(
        "./capability[@type='vpd']/fields[@access='readonly']/serial_number", ""
    )
    return text.strip() or None


def _creatable(capability: ElementTree.Element, what: str) -> dict[str, int]:
    return {
        one.get("id", ""): _number(one.findtext("availableInstances"), "<availableInstances>", what)
        for one in capability.findall("./capability[@type='mdev_types']/type")
    }


def _mediated(
    name: str, device: ElementTree.Element, capability: ElementTree.Element
) -> MediatedDevice:
    kind = capability.find("type")
    parent = device.findtext("parent")
    if kind is None or not kind.get("id") or not parent:
        raise MalformedXML(f"device {name}", "a mediated device without type or parent")
    # Before libvirt 7.3, only the name has the uuid.
    in_name = name.removeprefix(_MDEV_PREFIX)[:_UUID_LENGTH].replace("_", "-")
    return MediatedDevice(capability.findtext("uuid", in_name), parent, kind.get("id", ""))


def _id(capability: ElementTree.Element, which: str, what: str) -> str:
    found = capability.find(which)
    text = "" if found is None else found.get("id", "")
    try:
        return f"{int(text, 16):04x}"
    except ValueError as error:
        raise MalformedXML(what, f"<{which}> has no id: {text!r}") from error


def _address(numbers: Iterable[int]) -> str:
    domain, bus, slot, function = numbers
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"


def _number(text: str | None, where: str, what: str) -> int:
    try:
        return int((text or "").strip())
    except ValueError as error:
        raise MalformedXML(what, f"{where} is not a number: {text!r}") from error
