"""The devices of a machine that guests may have, with the tags of `[pci]device_spec`."""

import functools
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from compute.pci.addresses import is_beyond
from compute.pci.device_spec import AddressOf, DeviceSpec, parse_device_specs
from compute.pci.devices import Device

LOG = logging.getLogger(__name__)


def tagged(
    devices: Iterable[Device], spec_texts: Sequence[str], sysfs_root: str | os.PathLike[str]
) -> list[Device]:
    """Return those of all devices of this machine that guests may have, with their tags.

    :param spec_texts: the values of `[pci]device_spec`

    Raises InvalidConfiguration if they make no sense.
    """

    def address_of(interface: str) -> str | None:
        link = Path(sysfs_root, "class", "net", interface, "device")
        return link.resolve().name if link.exists() else None

    found = offered(devices, parse_device_specs(spec_texts), address_of)
    return [{**spec.tags, **device} for device, spec in found]


def offered(
    devices: Iterable[Mapping[str, Any]], specs: Sequence[DeviceSpec], address_of: AddressOf
) -> list[tuple[Mapping[str, Any], DeviceSpec]]:
    """Return the devices guests may have, each with the first spec that allows it.

    :param devices: as drivers list them, see compute.pci.devices

    Left out are devices in PCI domains above FFFF, and those that a spec says to be managed
    remotely if they aren't virtual functions of a card that tells its serial number.
    """
    found = []
    for device in devices:
        spec = next((one for one in specs if one.matches(device, address_of)), None)
        if spec is None:
            continue
        if is_beyond(device["address"]):
            _tell(device["address"], "its PCI domain is above FFFF")
        elif spec.is_remote and not _can_be_remote(device):
            _tell(
                device["address"],
                "only functions of a card that tells its serial number can be remote",
            )
        else:
            found.append((device, spec))
    return found


def _can_be_remote(device: Mapping[str, Any]) -> bool:
    vpd = (device.get("capabilities") or {}).get("vpd") or {}
    return device["dev_type"] == "type-VF" and bool(vpd.get("card_serial_number"))


@functools.cache
def _tell(address: str, reason: str) -> None:
    """Log once why a device is left out: each update finds it again."""
    LOG.warning("PCI device %s of [pci]device_spec is left out: %s", address, reason)
