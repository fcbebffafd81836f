"""The devices of this machine, as sysfs has them: PCI, virtual functions, mediated devices."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from virt.node.facts import HostFactsError, MediatedDevice
from virt.node.host_files import entries, is_gone, parsed_if_there, unreadable, whole_number
from virt.pci_device import PciDevice

_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_VDPA = re.compile(r"vdpa\d+")
_VIRTUAL_FUNCTION = re.compile(r"virtfn(\d+)")


@dataclass(frozen=True)
class HostDevices:
    """All devices that matter; `creatable` and `mediated` are as in HostFacts."""

    pci: Sequence[PciDevice]
    creatable: Mapping[str, Mapping[str, int]]
    mediated: Sequence[MediatedDevice]


def read_devices(sysfs_root: str | os.PathLike[str]) -> HostDevices:
    """Return the devices there are now. A kernel without PCI or mediated devices has none.

    Devices that vanish meanwhile are left out. Raises HostFactsError naming the file.
    """
    root = Path(sysfs_root)
    pci = _pci_devices(root / "bus" / "pci" / "devices")
    creatable: dict[str, dict[str, int]] = {}
    mediated: list[MediatedDevice] = []
    for parent in entries(root / "class" / "mdev_bus"):
        device = _node_device_name(parent.name)
        for kind in entries(parent / "mdev_supported_types"):
            available = _number(kind / "available_instances")
            if available is None:
                continue
            creatable.setdefault(device, {})[kind.name] = available
            mediated += [
                MediatedDevice(one.name, device, kind.name) for one in entries(kind / "devices")
            ]
    return HostDevices(pci, creatable, mediated)


def _pci_devices(directory: Path) -> list[PciDevice]:
    found: list[PciDevice] = []
    for entry in entries(directory):
        vendor, product = _text(entry / "vendor"), _text(entry / "device")
        if not _ADDRESS.fullmatch(entry.name) or vendor is None or product is None:
            continue
        node = _number(entry / "numa_node", lowest=-1)
        device = PciDevice(
            address=entry.name,
            vendor_id=_id(entry / "vendor", vendor),
            product_id=_id(entry / "device", product),
            numa_node=node if node is not None and node >= 0 else None,
            interface=next((one.name for one in entries(entry / "net")), None),
            virtual_functions=tuple(_virtual_functions(entry)),
            physical_function=_link(entry / "physfn"),
            is_vdpa=any(_VDPA.fullmatch(one.name) for one in entries(entry)),
        )
        possible = _not_yet_there(device, entry)
        functions = (*device.virtual_functions, *(one.address for one in possible))
        found += [replace(device, virtual_functions=functions), *possible]
    return found


def _not_yet_there(card: PciDevice, directory: Path) -> list[PciDevice]:
    """Return the virtual functions that a card can still create, which it does on demand.

    They have no addresses yet; each has a unique name instead.
    """
    total = _number(directory / "sriov_totalvfs") or 0
    product = _text(directory / "sriov_vf_device") or card.product_id
    return [
        PciDevice(
            address=f"{card.address}-vf{number}",
            vendor_id=card.vendor_id,
            product_id=_id(directory / "sriov_vf_device", product),
            numa_node=card.numa_node,
            physical_function=card.address,
            is_there=False,
        )
        for number in range(len(card.virtual_functions), total)
    ]


def _virtual_functions(device: Path) -> Iterator[str]:
    links = {
        int(match[1]): entry
        for entry in entries(device)
        if (match := _VIRTUAL_FUNCTION.fullmatch(entry.name))
    }
    for _number_of_it, link in sorted(links.items()):
        if address := _link(link):
            yield address


def _node_device_name(name: str) -> str:
    """Return a device's name as libvirt writes it, like `pci_0000_84_00_0`."""
    prefix = "pci_" if _ADDRESS.fullmatch(name) else ""
    return prefix + re.sub(r"[^0-9A-Za-z]", "_", name)


def _link(path: Path) -> str | None:
    """Return the name of what a link points to, or None if there is no such link."""
    try:
        return Path(os.readlink(path)).name
    except OSError as error:
        if is_gone(error):
            return None
        raise unreadable(path, error) from error


def _text(path: Path) -> str | None:
    """Return a file's content, or None if the device has no such file, or is gone."""
    return parsed_if_there(path, str.strip)


def _number(path: Path, lowest: int = 0) -> int | None:
    return parsed_if_there(path, lambda text: whole_number(text, lowest))


def _id(path: Path, text: str) -> str:
    """Return `0x8086` as `8086`."""
    try:
        return f"{int(text, 16):04x}"
    except ValueError as error:
        raise HostFactsError(path, f"{text!r} is no hexadecimal number") from error
