"""Inventory records as drivers report them."""

import re
from collections.abc import Mapping, Sequence

import os_resource_classes

from compute.provider_tree.cells import HUGEPAGES
from compute.provider_tree.inventory_record import Inventory, sized

#: A class, or a trait, that isn't a standard one.
CUSTOM_NAME = re.compile(r"CUSTOM_[A-Z0-9_]{1,248}")


def is_resource_class(name: str) -> bool:
    """Say whether there can be a class of this name: a standard or a custom one."""
    return name in os_resource_classes.STANDARDS or CUSTOM_NAME.fullmatch(name) is not None


def record(total: int, reserved: int = 0, allocation_ratio: float = 1.0) -> dict[str, object]:
    """Return a record of which a guest may request any amount up to the total."""
    return {**sized(total), "reserved": reserved, "allocation_ratio": allocation_ratio}


def hugepages_class(size_kb: int) -> str:
    """Return the class of the huge pages of a size: one of it is one page."""
    for unit, factor in (("GB", 1024 * 1024), ("MB", 1024)):
        if size_kb % factor == 0:
            return f"{HUGEPAGES}{size_kb // factor}{unit}"
    return f"{HUGEPAGES}{size_kb}KB"


def split(amount: int, weights: Sequence[int]) -> list[int]:
    """Divide `amount` in proportion to `weights`, in whole numbers that add up to it.

    The parts are rounded down, and the rest goes to those that lost most, earlier ones first:
    `split(5, [1, 1])` is [3, 2]. No part exceeds its weight unless `amount` exceeds the sum of the
    weights. Weights that are all 0 give zeros.
    """
    whole = sum(weights)
    if whole == 0:
        return [0] * len(weights)
    parts = [amount * weight // whole for weight in weights]
    wronged = sorted(range(len(weights)), key=lambda i: -(amount * weights[i] % whole))
    for i in wronged[: amount - sum(parts)]:
        parts[i] += 1
    return parts


def cell_inventories(
    totals: Sequence[Mapping[str, int]],
    reserved: Mapping[str, int],
    ratios: Sequence[Mapping[str, float]],
) -> list[Inventory]:
    """Return the inventory of each NUMA cell, given each cell's totals by class.

    `reserved` is the whole host's, and divided over the cells in proportion to their totals;
    `ratios` is each cell's own. Classes a cell has nothing of are left out of its inventory.
    """
    inventories: list[Inventory] = [{} for _ in totals]
    for resource_class in dict.fromkeys(name for cell in totals for name in cell):
        amounts = [cell.get(resource_class, 0) for cell in totals]
        kept = split(reserved.get(resource_class, 0), amounts)
        for inventory, amount, part, ratio in zip(inventories, amounts, kept, ratios, strict=True):
            if amount:
                inventory[resource_class] = record(amount, part, ratio[resource_class])
    return inventories
