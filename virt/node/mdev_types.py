"""Which type of mediated devices each device makes, and how many: groups [mdev_<type>]."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from oslo_config import cfg

from compute import exceptions
from compute.config import devices
from virt.inventory import CUSTOM_NAME
from virt.reshape.vgpu import VGPU

_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


@dataclass(frozen=True)
class MdevType:
    """One enabled type. `devices` are names like `pci_0000_84_00_0`; `most` is None if all may be.

    The classes of types may differ, and guests ask for them by class.
    """

    name: str
    resource_class: str
    devices: Sequence[str] = ()
    most: int | None = None


def configured_types(conf: cfg.ConfigOpts) -> list[MdevType]:
    """Return the types that are enabled, in their order.

    Raises InvalidConfiguration if an option makes no sense, or if two of them contradict each
    other.
    """
    try:
        devices.register_types(conf)
        found = [_type(conf, name) for name in dict.fromkeys(conf.devices.enabled_mdev_types)]
    except cfg.ConfigSourceValueError as error:
        raise exceptions.InvalidConfiguration(str(error)) from error
    for name in conf.berth.mdev_classes:
        if name not in conf.devices.enabled_mdev_types:
            raise exceptions.InvalidConfiguration(
                f"[berth]mdev_classes names {name}, which [devices]enabled_mdev_types doesn't."
            )
    owners: dict[str, str] = {}
    for kind in found:
        for device in kind.devices:
            if owners.setdefault(device, kind.name) != kind.name:
                raise exceptions.InvalidConfiguration(
                    f"[mdev_{owners[device]}] and [mdev_{kind.name}] both name the device "
                    f"{device} in device_addresses."
                )
    return found


def types_of(device: str, types: Sequence[MdevType], one_default: bool) -> list[MdevType]:
    """Return the types that a device may make, the preferred one first.

    :param one_default: whether only the first type without addresses is for devices that no type
        names, as in nova
    """
    named = [kind for kind in types if device in kind.devices]
    defaults = [kind for kind in types if not kind.devices]
    return named or (defaults[:1] if one_default else defaults)


def _type(conf: cfg.ConfigOpts, name: str) -> MdevType:
    group = conf[devices.type_group(name)]
    addresses = [address.lower() for address in group.device_addresses]
    for address in addresses:
        if not _ADDRESS.fullmatch(address):
            raise exceptions.InvalidConfiguration(
                f"[mdev_{name}]device_addresses: {address} is not like 0000:84:00.0."
            )
    names = [f"pci_{re.sub('[:.]', '_', address)}" for address in addresses]
    return MdevType(name, _class(conf, name, group.mdev_class), names, group.max_instances)


def _class(conf: cfg.ConfigOpts, name: str, given: str | None) -> str:
    """Return the class of a type, which two options may name."""
    ours: str | None = conf.berth.mdev_classes.get(name)
    if ours is not None and ours != VGPU and not CUSTOM_NAME.fullmatch(ours):
        raise exceptions.InvalidConfiguration(
            f"[berth]mdev_classes: {ours} for {name} is neither {VGPU} nor the name of a custom "
            "resource class."
        )
    if None not in (ours, given) and ours != given:
        raise exceptions.InvalidConfiguration(
            f"[mdev_{name}]mdev_class is {given}, but [berth]mdev_classes says {ours}."
        )
    return given or ours or VGPU
