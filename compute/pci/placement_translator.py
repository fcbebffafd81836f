"""PCI devices as providers below their node's root, with `[pci]report_in_placement`.

See compute.md §6.11.

There is one provider for each device, or for each physical function with its virtual functions. Its
name is `<node>_<ADDRESS>`, and it has the trait COMPUTE_MANAGED_PCI_DEVICE. Devices come from the
driver as compute.pci.devices describes them, with the tags `resource_class` and `traits` (names,
separated by commas). Devices in a `physical_network` are not reported here: drivers have providers
for them.

A device with the tag `one_time_use` is for one guest only. From its first allocation on the device
is reserved, and it stays reserved until an operator sets `reserved` to 0 again.
"""

import json
import logging
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import os_resource_classes
import os_traits

from compute import exceptions
from compute.pci.devices import Device
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Allocations
from compute.provider_tree.inventory_record import sized
from compute.provider_tree.names import child_name

LOG = logging.getLogger(__name__)

MANAGED = "COMPUTE_MANAGED_PCI_DEVICE"

_CUSTOM = "CUSTOM_"
_NETWORK = "physical_network"
_ONE_TIME_USE = "one_time_use"
_TAG_TRAITS = {_ONE_TIME_USE: "HW_PCI_ONE_TIME_USE", "live_migratable": "HW_PCI_LIVE_MIGRATABLE"}


@dataclass
class DeviceProvider:
    """The provider of a device, or of the virtual functions of a physical function."""

    name: str
    resource_class: str
    traits: frozenset[str]
    addresses: list[str] = field(default_factory=list)

    @property
    def is_for_one_use(self) -> bool:
        """Whether the device is for one guest only."""
        return _TAG_TRAITS[_ONE_TIME_USE] in self.traits


def check_specs(texts: Iterable[str]) -> None:
    """Refuse values of `[pci]device_spec` that name devices by their interface.

    Raises PlacementPciException. Interfaces of physical networks are allowed: they aren't reported
    here.
    """
    for text in texts:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise exceptions.PlacementPciException(
                error=f"[pci]device_spec {text!r}: {error}"
            ) from error
        for spec in found if isinstance(found, list) else [found]:
            if isinstance(spec, dict) and "devname" in spec and not spec.get(_NETWORK):
                raise exceptions.PlacementPciException(
                    error=f"[pci]device_spec {text!r} has a devname, which can't be reported"
                )


def refuse_if_reported(tree: ProviderTree, nodename: str) -> None:
    """Raise PlacementPciException if an earlier run reported devices: that can't be undone."""
    if names := sorted(_managed(tree, nodename)):
        raise exceptions.PlacementPciException(
            error="[pci]report_in_placement is off, but was on before: there are the resource "
            f"providers {', '.join(names)}"
        )


def refuse_one_time_use(devices: Iterable[Device]) -> None:
    """Raise PlacementPciException for devices for one use: only placement can enforce that."""
    if addresses := [one["address"] for one in devices if _is_true(one.get(_ONE_TIME_USE))]:
        raise exceptions.PlacementPciException(
            error=f"[pci]device_spec: {_ONE_TIME_USE} needs [pci]report_in_placement: "
            f"{', '.join(addresses)}"
        )


def one_use_read_before_use(
    tree: ProviderTree, nodename: str, allocations: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Return the uuids of devices for one use that were read before they were allocated last.

    Their `reserved` may be that of an earlier use: an operator may have set it to 0 since.
    """
    generations = {
        uuid: part["generation"]
        for body in allocations.values()
        for uuid, part in body["allocations"].items()
        if "generation" in part
    }
    return [
        uuid
        for uuid in _managed(tree, nodename).values()
        if _TAG_TRAITS[_ONE_TIME_USE] in tree.data(uuid).traits
        and generations.get(uuid, tree.data(uuid).generation) != tree.data(uuid).generation
    ]


def report(
    tree: ProviderTree,
    nodename: str,
    devices: Sequence[Device],
    holders: Mapping[str, Collection[str]],
    allocations: Allocations,
) -> bool:
    """Report the node's devices, and give their holders allocations of them.

    :param holders: consumer uuid → addresses of the devices it has
    :param allocations: those of the node's consumers; edited in place. A holder without any
        allocations gets none
    :return: whether allocations changed, so that they have to be written together with the tree
    :raises PlacementPciException: devices that can't be reported as they are configured

    A provider whose devices are gone is removed. While consumers hold some of it, it stays, with a
    total of what they hold.
    """
    wanted = device_providers(nodename, devices)
    for provider in wanted:
        if not tree.exists(provider.name):
            tree.new_child(provider.name, nodename)
    uuids = {provider.name: tree.data(provider.name).uuid for provider in wanted}
    managed = {**_managed(tree, nodename), **uuids}
    # Placement refuses new allocations of reserved inventory, even in this request. So devices
    # that get allocations now are reserved at the next update.
    reserved = {one.name: _reserved(tree, one, allocations) for one in wanted}
    changed = _heal(wanted, managed, holders, allocations)
    for provider in wanted:
        used = _used(allocations, uuids[provider.name])[provider.resource_class]
        record = _record(max(len(provider.addresses), used), reserved[provider.name])
        tree.update_inventory(provider.name, {provider.resource_class: record})
        # All traits of the provider follow from tags.
        tree.update_traits(provider.name, provider.traits)
    for name in managed.keys() - uuids.keys():
        if used_here := _used(allocations, managed[name]):
            LOG.warning("PCI devices of resource provider %s are gone, but in use", name)
            used_up = _TAG_TRAITS[_ONE_TIME_USE] in tree.data(name).traits
            inventory = {
                resource: _record(amount, amount if used_up else 0)
                for resource, amount in used_here.items()
            }
            tree.update_inventory(name, inventory)
        else:
            tree.remove(name)
    return changed


def device_providers(nodename: str, devices: Sequence[Device]) -> list[DeviceProvider]:
    """Return the providers the devices need. Raises PlacementPciException."""
    providers: dict[str, DeviceProvider] = {}
    reported = [device for device in devices if not device.get(_NETWORK)]
    _refuse_dependent(reported)
    for device in reported:
        address = device["address"]
        if device["dev_type"] == "type-VF" and _is_true(device.get(_ONE_TIME_USE)):
            raise exceptions.PlacementPciException(
                error=f"[pci]device_spec: {_ONE_TIME_USE} isn't possible for virtual functions, "
                f"which share their card's provider: {address}"
            )
        top = device["parent_addr"] if device["dev_type"] == "type-VF" else address
        one = DeviceProvider(child_name(nodename, top.upper()), _class(device), _traits(device))
        known = providers.setdefault(top, one)
        if known.resource_class != one.resource_class:
            raise exceptions.PlacementPciMixedResourceClassException(
                new_rc=one.resource_class,
                new_dev=address,
                current_rc=known.resource_class,
                current_devs=", ".join(known.addresses),
            )
        if known.traits != one.traits:
            raise exceptions.PlacementPciMixedTraitsException(
                new_traits=", ".join(sorted(one.traits)),
                new_dev=address,
                current_traits=", ".join(sorted(known.traits)),
                current_devs=", ".join(known.addresses),
            )
        known.addresses.append(address)
    return list(providers.values())


def _reserved(
    tree: ProviderTree, provider: DeviceProvider, allocations: Mapping[str, Mapping[str, Any]]
) -> int:
    """Return 1 for a device for one use that was used, else 0."""
    if not provider.is_for_one_use:
        return 0
    known = tree.data(provider.name)
    if _used(allocations, known.uuid)[provider.resource_class]:
        return 1
    # its class may have changed since
    return max((record.get("reserved", 0) for record in known.inventory.values()), default=0)


def _refuse_dependent(devices: Iterable[Device]) -> None:
    functions: dict[str, list[str]] = {}
    for device in devices:
        if device["dev_type"] == "type-VF":
            functions.setdefault(device["parent_addr"], []).append(device["address"])
    for device in devices:
        if device["dev_type"] != "type-VF" and device["address"] in functions:
            raise exceptions.PlacementPciDependentDeviceException(
                parent_dev=device["address"],
                children_devs=", ".join(functions[device["address"]]),
            )


def _class(device: Device) -> str:
    tag = device.get("resource_class")
    if not tag:
        tag = f"{_CUSTOM}PCI_{device['vendor_id']}_{device['product_id']}"
    name = _normalised(tag)
    return name if name in os_resource_classes.STANDARDS else _custom(name)


def _traits(device: Device) -> frozenset[str]:
    names = [_normalised(name) for name in str(device.get("traits") or "").split(",") if name]
    known, _ = os_traits.check_traits(names)
    marks = [trait for tag, trait in _TAG_TRAITS.items() if _is_true(device.get(tag))]
    return frozenset(
        [MANAGED, *marks, *(name if name in known else _custom(name) for name in names)]
    )


def _normalised(name: str) -> str:
    return re.sub(r"[^A-Z0-9_]", "_", name.strip().upper())


def _custom(name: str) -> str:
    return name if name.startswith(_CUSTOM) else _CUSTOM + name


def _is_true(tag: Any) -> bool:
    return str(tag).lower() in ("true", "yes", "1", "on")


def _managed(tree: ProviderTree, nodename: str) -> dict[str, str]:
    """Return name → uuid of the providers of devices the node has in the tree."""
    below = (tree.data(uuid) for uuid in tree.get_provider_uuids(nodename)[1:])
    return {one.name: one.uuid for one in below if MANAGED in one.traits}


def _heal(
    wanted: Sequence[DeviceProvider],
    managed: Mapping[str, str],
    holders: Mapping[str, Collection[str]],
    allocations: Allocations,
) -> bool:
    """Make each holder's allocations of devices agree with the devices that it has.

    Return whether any allocation changed.
    """
    changed = False
    for consumer, addresses in sorted(holders.items()):
        if consumer not in allocations:
            continue
        records = allocations[consumer]["allocations"]
        should = {
            managed[one.name]: {one.resource_class: count}
            for one in wanted
            if (count := len(set(addresses).intersection(one.addresses)))
        }
        if addresses and not should:
            continue
        # Allocations of devices that are gone stay until the consumer is gone.
        for uuid in (managed[one.name] for one in wanted):
            if records.get(uuid, {}).get("resources", {}) == should.get(uuid, {}):
                continue
            changed = True
            records.pop(uuid, None)
            if uuid in should:
                records[uuid] = {"resources": should[uuid]}
    return changed


def _used(allocations: Mapping[str, Mapping[str, Any]], provider_uuid: str) -> Counter[str]:
    used: Counter[str] = Counter()
    for body in allocations.values():
        used.update(body["allocations"].get(provider_uuid, {}).get("resources", {}))
    return used


def _record(total: int, reserved: int = 0) -> dict[str, Any]:
    return {**sized(total), "reserved": reserved, "allocation_ratio": 1.0}
