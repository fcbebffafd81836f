"""The inventory of a provider that takes over the allocations of another one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import os_traits

from compute.maintenance.provider_details import ProviderDetails
from compute.provider_tree.allocation_records import Held
from compute.provider_tree.inventory_record import Inventory, capacity
from compute.provider_tree.kept_inventory import kept, restored, widened


def merged(
    source: ProviderDetails, target: ProviderDetails | None, held: Mapping[str, list[int]]
) -> Inventory:
    """Return the inventory of the target once it has what the source has, too.

    If the target's record of a class admits all amounts, it stays, because the target's agent wrote
    it; else the source's record counts. What is reserved of a device for one use stays reserved:
    the target's agent doesn't know that the device was used before. If neither admits what is held,
    for example because it was lowered below its use, the record is widened, and kept beside that.

    :param held: class → what each consumer holds of the target afterwards
    """
    own: Mapping[str, Mapping[str, Any]] = {} if target is None else restored(target.inventories)
    theirs = restored(source.inventories)
    inventory: Inventory = {}
    for name in sorted({*own, *theirs, *held}):
        amounts = held.get(name, [])
        records = [dict(found[name]) for found in (own, theirs) if name in found]
        if os_traits.HW_PCI_ONE_TIME_USE in source.traits and records:
            reserved = max(record["reserved"] for record in records)
            records = [{**record, "reserved": min(reserved, record["total"])} for record in records]
        fitting = next((record for record in records if _admits(record, amounts)), None)
        if fitting is not None:
            inventory[name] = fitting
        elif records:
            inventory |= kept(widened(amounts), records[0], name)
    return inventory


def held_afterwards(
    trees: Iterable[ProviderDetails], moved: Mapping[str, str], target: Collection[str]
) -> dict[str, dict[str, list[int]]]:
    """Return target provider → class → what each consumer will hold of it.

    :param trees: the providers of both trees, with their holders
    """
    consumers: dict[str, dict[str, dict[str, Any]]] = {}
    for one in trees:
        for consumer, amounts in one.holders.items():
            consumers.setdefault(consumer, {})[one.uuid] = {"resources": amounts}
    found: dict[str, dict[str, list[int]]] = {}
    for allocations in consumers.values():
        for provider, part in joined(allocations, moved, target).items():
            for name, amount in part.items():
                found.setdefault(provider, {}).setdefault(name, []).append(amount)
    return found


def joined(
    allocations: Mapping[str, Mapping[str, Any]], moved: Mapping[str, str], target: Collection[str]
) -> Held:
    """Return what a consumer holds once targets stand in the place of sources.

    What it holds of a class in both trees it has once: two agents wrote it. The larger part counts,
    and of equal ones that of the target, whose agent is the newer one.

    :param moved: source provider → the provider that takes over what is held of it
    :param target: all providers of the target's tree
    """
    before, now = Counter[str](), Counter[str]()
    for provider, part in allocations.items():
        if provider in moved:
            before.update(part["resources"])
        elif provider in target:
            now.update(part["resources"])
    held: dict[str, Counter[str]] = {}
    for provider, part in allocations.items():
        for name, amount in part["resources"].items():
            is_twice = before[name] and now[name]
            counts_before = before[name] > now[name]
            if is_twice and provider in (target if counts_before else moved):
                continue
            held.setdefault(moved.get(provider, provider), Counter())[name] += amount
    return {provider: dict(amounts) for provider, amounts in held.items()}


def _admits(record: Mapping[str, Any], held: list[int]) -> bool:
    return capacity(record) >= sum(held) and all(
        record["min_unit"] <= amount <= record["max_unit"] and amount % record["step_size"] == 0
        for amount in held
    )
