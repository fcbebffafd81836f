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
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from compute import exceptions
from compute.pci.device_healing import DeviceProvider, HealingRules, heal
from compute.pci.devices import FUNCTIONS, Device
from compute.pci.tags import (
    MANAGED,
    MARKS,
    NETWORK,
    ONE_TIME_USE,
    ONE_TIME_USE_TRAIT,
    class_of,
    traits_of,
)
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Allocations
from compute.provider_tree.inventory_record import sized, with_reserved
from compute.provider_tree.names import child_name
from compute.provider_tree.owners import has_other_owner
from compute.requests.reading.values import is_true

LOG = logging.getLogger(__name__)


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
            if isinstance(spec, dict) and "devname" in spec and not spec.get(NETWORK):
                raise exceptions.PlacementPciException(
                    error=f"[pci]device_spec {text!r} has a devname, which can't be reported"
                )


def refuse_if_reported(tree: ProviderTree, nodename: str) -> None:
    """Raise PlacementPciException if an earlier run reported devices: that can't be undone."""
    if names := sorted(managed(tree, nodename)):
        raise exceptions.PlacementPciException(
            error="[pci]report_in_placement is off, but was on before: there are the resource "
            f"providers {', '.join(names)}"
        )


def refuse_one_time_use(devices: Iterable[Device]) -> None:
    """Raise PlacementPciException for devices for one use: only placement can enforce that."""
    if addresses := [one["address"] for one in devices if is_true(one.get(ONE_TIME_USE))]:
        raise exceptions.PlacementPciException(
            error=f"[pci]device_spec: {ONE_TIME_USE} needs [pci]report_in_placement: "
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
        for uuid in managed(tree, nodename).values()
        if ONE_TIME_USE_TRAIT in tree.data(uuid).traits
        and generations.get(uuid, tree.data(uuid).generation) != tree.data(uuid).generation
    ]


def report(
    tree: ProviderTree,
    nodename: str,
    devices: Sequence[Device],
    holders: Mapping[str, Collection[str]],
    allocations: Allocations,
    taken: Collection[str] = (),
    rules: HealingRules | None = None,
    former_traits: Collection[str] = (),
) -> bool:
    """Report the node's devices, and give their holders allocations of them.

    :param tree: without what the operator's files add to it
    :param holders: consumer uuid → addresses of the devices it has
    :param allocations: those of the node's consumers; edited in place. A holder without any
        allocations gets none
    :param taken: addresses of the devices that the records say are in use
    :param rules: what may be changed of the allocations; None: all that is wrong
    :param former_traits: those that tags named before. Where they name them no longer, they go.
        Any other trait is somebody else's, and stays
    :return: whether allocations changed, so that they have to be written together with the tree

    Raises PlacementPciException for devices that can't be reported as they are configured.

    A total is the number of devices, and is never raised to fit what is used. Functions that are
    gone, and that guests have, are among the devices (`TrackedNode.reported_devices`). A provider
    whose devices are gone is removed. While some of it is held or reserved, it stays, with a total
    of that. `reserved` stays as it is in placement, but is 1 for a device for one use that is in
    use.
    """
    wanted = device_providers(nodename, devices)
    for provider in wanted:
        if not tree.exists(provider.name):
            tree.new_child(provider.name, nodename)
        elif has_other_owner(traits := tree.data(provider.name).traits):
            raise exceptions.PlacementPciException(
                error=f"resource provider {provider.name} is another service's, by its traits "
                f"{', '.join(sorted(traits))}; the host's device needs one of that name"
            )
    for provider in wanted:
        provider.former_classes = frozenset(tree.data(provider.name).inventory)
    present = {tree.data(provider.name).uuid: provider for provider in wanted}
    gone = managed(tree, nodename).keys() - {provider.name for provider in wanted}
    reserved = {uuid: _reserved(tree, uuid, one, allocations) for uuid, one in present.items()}
    room = {uuid: len(one.addresses) - reserved[uuid] for uuid, one in present.items()}
    changed = heal(present, room, holders, allocations, rules or HealingRules())
    for uuid, provider in present.items():
        name = provider.resource_class
        used = _used(allocations, uuid)[name]
        known = tree.data(uuid).inventory.get(name, {}).get("total", 0)
        total = max(len(provider.addresses), min(used, known))
        if provider.is_for_one_use and not used and not set(taken).isdisjoint(provider.addresses):
            reserved[uuid] = 1
        # Placement refuses new allocations of reserved inventory, even in this request. So a
        # device for one use that is allocated by this request is reserved by the next one.
        tree.update_inventory(uuid, {name: _record(total, reserved[uuid])})
        no_longer = (MARKS | set(former_traits)) - provider.traits
        tree.remove_traits(uuid, *no_longer)
        tree.add_traits(uuid, *provider.traits)
    for name in gone:
        _keep_what_is_taken(tree, name, allocations)
    return changed


def unreserved(
    tree: ProviderTree, nodename: str, allocations: Mapping[str, Mapping[str, object]]
) -> bool:
    """Say whether a device for one use is allocated and not reserved yet, after `report`."""
    return any(
        record["total"] > record.get("reserved", 0) and _used(allocations, uuid)[name]
        for uuid in managed(tree, nodename).values()
        if ONE_TIME_USE_TRAIT in tree.data(uuid).traits
        for name, record in tree.data(uuid).inventory.items()
    )


def places(
    tree: ProviderTree, nodename: str, devices: Sequence[Device]
) -> dict[str, DeviceProvider]:
    """Return uuid → provider of the devices that have one in the tree."""
    wanted = device_providers(nodename, devices)
    return {tree.data(one.name).uuid: one for one in wanted if tree.exists(one.name)}


def device_providers(nodename: str, devices: Sequence[Device]) -> list[DeviceProvider]:
    """Return the providers the devices need. Raises PlacementPciException."""
    providers: dict[str, DeviceProvider] = {}
    reported = [device for device in devices if not device.get(NETWORK)]
    _refuse_dependent(reported)
    for device in reported:
        address = device["address"]
        if device["dev_type"] in FUNCTIONS and is_true(device.get(ONE_TIME_USE)):
            raise exceptions.PlacementPciException(
                error=f"[pci]device_spec: {ONE_TIME_USE} isn't possible for virtual functions, "
                f"which share their card's provider: {address}"
            )
        top = device["parent_addr"] if device["dev_type"] in FUNCTIONS else address
        one = DeviceProvider(child_name(nodename, top.upper()), class_of(device), traits_of(device))
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
    tree: ProviderTree,
    uuid: str,
    provider: DeviceProvider,
    allocations: Mapping[str, Mapping[str, object]],
) -> int:
    """Return 1 for a device for one use that is used, else what is reserved now."""
    if provider.is_for_one_use and _used(allocations, uuid)[provider.resource_class]:
        return 1
    wanted = {provider.resource_class: {"total": len(provider.addresses)}}
    kept = with_reserved(wanted, tree.data(uuid).inventory)
    return int(kept[provider.resource_class]["reserved"])


def _keep_what_is_taken(
    tree: ProviderTree, name: str, allocations: Mapping[str, Mapping[str, object]]
) -> None:
    """Remove the provider of devices that are gone, or keep what is held or reserved of it.

    A device may come back. One that an operator or its last guest made unavailable stays so.
    """
    known = tree.data(name)
    used = _used(allocations, known.uuid)
    used_up = ONE_TIME_USE_TRAIT in known.traits
    inventory = {}
    for resource in sorted({*known.inventory, *used}):
        record = known.inventory.get(resource, {})
        reserved = record.get("reserved", 0)
        amount = max(used[resource], reserved)
        total = min(amount, record.get("total", amount))
        if total:
            reserved = total if used_up else min(total, reserved)
            inventory[resource] = _record(total, reserved)
    if used:
        LOG.warning("PCI devices of resource provider %s are gone, but in use", name)
    if inventory:
        tree.update_inventory(name, inventory)
    else:
        tree.remove(name)


def _refuse_dependent(devices: Iterable[Device]) -> None:
    functions: dict[str, list[str]] = {}
    for device in devices:
        if device["dev_type"] in FUNCTIONS:
            functions.setdefault(device["parent_addr"], []).append(device["address"])
    for device in devices:
        if device["dev_type"] not in FUNCTIONS and device["address"] in functions:
            raise exceptions.PlacementPciDependentDeviceException(
                parent_dev=device["address"],
                children_devs=", ".join(functions[device["address"]]),
            )


def managed(tree: ProviderTree, nodename: str) -> dict[str, str]:
    """Return name → uuid of the providers of devices the node has in the tree."""
    below = (tree.data(uuid) for uuid in tree.get_provider_uuids(nodename)[1:])
    return {one.name: one.uuid for one in below if MANAGED in one.traits}


def _used(allocations: Mapping[str, Mapping[str, Any]], provider_uuid: str) -> Counter[str]:
    used: Counter[str] = Counter()
    for body in allocations.values():
        used.update(body["allocations"].get(provider_uuid, {}).get("resources", {}))
    return used


def _record(total: int, reserved: int = 0) -> dict[str, object]:
    return {**sized(total), "reserved": reserved, "allocation_ratio": 1.0}
