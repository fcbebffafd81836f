"""The inventory of a provider that takes over the allocations of another one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import os_traits

from compute.maintenance.provider_details import ProviderDetails
from compute.provider_tree.inventory_record import LARGEST, Inventory, capacity


@dataclass(frozen=True)
class MergedInventory:
    """The inventory `during` the move of allocations, and `after` it.

    They differ where the inventory doesn't admit what is held already, for example because it was
    lowered below its use.
    """

    during: Inventory
    after: Inventory


def merged(source: ProviderDetails, target: ProviderDetails | None) -> MergedInventory:
    """Return the inventory of the target once it has what the source has, too.

    If the target's record of a class admits all amounts, it stays, because the target's agent wrote
    it; else the source's record counts. What is reserved of a device for one use stays reserved:
    the target's agent doesn't know that the device was used before.
    """
    own: Mapping[str, Mapping[str, Any]] = {} if target is None else target.inventories
    amounts = _amounts(source, target)
    during: Inventory = {}
    after: Inventory = {}
    for name in sorted({*own, *source.inventories}):
        held = list(amounts.get(name, {}).values())
        records = [dict(found[name]) for found in (own, source.inventories) if name in found]
        if os_traits.HW_PCI_ONE_TIME_USE in source.traits:
            reserved = max(record["reserved"] for record in records)
            records = [{**record, "reserved": min(reserved, record["total"])} for record in records]
        fitting = next((record for record in records if _admits(record, held)), None)
        after[name] = records[0] if fitting is None else fitting
        during[name] = _widened(after[name], held) if fitting is None else fitting
    return MergedInventory(during, after)


def _amounts(*providers: ProviderDetails | None) -> dict[str, Counter[str]]:
    """Return class → consumer → how much it holds of all the providers."""
    found: dict[str, Counter[str]] = {}
    for provider in providers:
        for consumer, held in ({} if provider is None else provider.holders).items():
            for name, amount in held.items():
                found.setdefault(name, Counter())[consumer] += amount
    return found


def _admits(record: Mapping[str, Any], held: list[int]) -> bool:
    return capacity(record) >= sum(held) and all(
        record["min_unit"] <= amount <= record["max_unit"] and amount % record["step_size"] == 0
        for amount in held
    )


def _widened(record: Mapping[str, Any], held: list[int]) -> dict[str, Any]:
    return {
        "total": max(record["total"], sum(held)),
        "reserved": 0,
        "min_unit": 1,
        "max_unit": LARGEST,
        "step_size": 1,
        "allocation_ratio": max(record["allocation_ratio"], 1.0),
    }
