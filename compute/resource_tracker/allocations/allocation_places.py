"""Where the tracker places what an instance holds: pure functions (compute.md §4.10)."""

from collections.abc import Hashable, Iterable

import os_traits

from compute.consumers.held_shares import InstanceHolding, Share
from compute.consumers.instance_resources import PCI_DEVICE, generic_pci_devices
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Held
from compute.records.instance import Flavor, Instance
from compute.requests.translation import healed_amounts

#: the classes that the tracker places
OWNED = ("VCPU", "MEMORY_MB", "DISK_GB", PCI_DEVICE)


def wish(held: InstanceHolding) -> Hashable:
    """Return a value that differs whenever other allocations are wanted for the holding."""
    return repr((held.shares, held.flavors, held.migration and held.migration.uuid))


def placed(
    held: InstanceHolding,
    shares: Iterable[Share],
    root_uuid: str,
    tree: ProviderTree,
    has: Held,
    on_shared_storage: bool,
) -> Held:
    """Return what the shares take, and of which provider.

    :param root_uuid: the node's root, which gives everything but the disk on shared storage
    :param has: what the consumer has in placement now
    :param on_shared_storage: whether the instance's disk is on the storage of a sharing provider

    Both ends of a move share one disk on shared storage, which is as large as the larger flavor's.
    Processors that a policy dedicates are PCPU where the root has such. A class that only extra
    specs name is left out unless the root has inventory of it.
    """
    instance = held.instance
    root = tree.data(root_uuid)
    pool = shared_disk(tree, root_uuid, has) if on_shared_storage else None
    places: Held = {}
    for share in shares:
        pinned = "PCPU" in root.inventory
        amounts = dict(healed_amounts(share.flavor, instance.booted_from_volume, pinned))
        devices = generic_pci_devices(share.pci_devices, instance.uuid)
        if devices:
            amounts[PCI_DEVICE] = devices
        for name, amount in amounts.items():
            if (name == "DISK_GB" and pool) or (name not in OWNED and name not in root.inventory):
                continue
            part = places.setdefault(root_uuid, {})
            part[name] = part.get(name, 0) + amount
    if pool and (disk := max(_disk(flavor, instance) for flavor in held.flavors)):
        places.setdefault(pool, {})["DISK_GB"] = disk
    return places


def shared_disk(tree: ProviderTree, root: str, held: Held) -> str | None:
    """Return the provider that shares disk with the root: the one in use, else the lowest uuid."""
    aggregates = tree.data(root).aggregates
    sharing = sorted(
        uuid
        for uuid in tree.get_provider_uuids()
        if os_traits.MISC_SHARES_VIA_AGGREGATE in tree.data(uuid).traits
        and "DISK_GB" in tree.data(uuid).inventory
        and not aggregates.isdisjoint(tree.data(uuid).aggregates)
    )
    in_use = [uuid for uuid in sharing if "DISK_GB" in held.get(uuid, {})]
    return next(iter(in_use or sharing), None)


def merged(held: Held, wanted: Held, tree: ProviderTree) -> Held:
    """Return what a consumer shall hold: what the tracker places, and the rest as it is.

    :param held: what the consumer holds now
    :param wanted: what the tracker places, as `placed` returns it

    The rest is what the consumer holds outside `tree`, and classes that the tracker doesn't place.
    A class that providers below the root, or sharing ones, have in the right amount is in its
    place: a reshape put it there. A class that the root has no inventory of is not placed on the
    root: placement would refuse it, and the rest of the request with it.
    """
    root = tree.get_provider_uuids()[0]
    here = tree.get_provider_uuids()
    result = {rp: dict(part) for rp, part in held.items()}
    names = {name for part in wanted.values() for name in part} | set(OWNED)
    for name in sorted(names):
        target = {rp: part[name] for rp, part in wanted.items() if name in part}
        nested = sum(held.get(rp, {}).get(name, 0) for rp in here if rp != root)
        moved_away = name not in tree.data(root).inventory
        if nested and target.keys() <= {root} and (nested == sum(target.values()) or moved_away):
            # Only what a flat rewrite left on the root beside it is wrong.
            result.get(root, {}).pop(name, None)
            continue
        for rp in here:
            result.get(rp, {}).pop(name, None)
        for rp, amount in target.items():
            if rp != root or not moved_away:
                result.setdefault(rp, {})[name] = amount
    return {rp: part for rp, part in result.items() if part}


def _disk(flavor: Flavor, instance: Instance) -> int:
    return healed_amounts(flavor, instance.booted_from_volume).get("DISK_GB", 0)
