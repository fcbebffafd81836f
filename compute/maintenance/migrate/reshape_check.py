"""Whether placement would accept a reshape: does each amount fit where it goes?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from compute.maintenance.provider_details import ProviderDetails
from compute.provider_tree.allocation_records import Amounts
from compute.provider_tree.inventory_record import completed


def used_after(
    used: Mapping[str, Amounts], before: Mapping[str, Any], after: Mapping[str, Any]
) -> dict[str, Counter[str]]:
    """Return provider → class → amount, once the consumers of `after` hold what it says.

    `used` is what all consumers use now; `before` is what those of `after` hold of it.
    """
    counts = {provider: Counter(amounts) for provider, amounts in used.items()}
    for consumer, body in after.items():
        for provider, part in before.get(consumer, {"allocations": {}})["allocations"].items():
            counts.setdefault(provider, Counter()).subtract(part["resources"])
        for provider, part in body["allocations"].items():
            counts.setdefault(provider, Counter()).update(part["resources"])
    return counts


def misfits(
    after: Sequence[ProviderDetails],
    removed: Sequence[ProviderDetails],
    allocations: Mapping[str, Any],
) -> list[str]:
    """Return a sentence for each amount that doesn't fit; none if all fit.

    :param removed: providers that are to go, with what would then still be used of them
    :param allocations: what the node's consumers shall hold, consumer → allocations
    """
    found = [
        f"{provider.name} is to be removed while {amount} {name} of it are in use"
        for provider in removed
        for name, amount in sorted(provider.used.items())
    ]
    held: dict[str, list[tuple[str, Amounts]]] = {}
    for consumer, body in sorted(allocations.items()):
        for uuid, part in body["allocations"].items():
            held.setdefault(uuid, []).append((consumer, part["resources"]))
    for provider in after:
        found += _overfull(provider)
        for consumer, amounts in held.get(provider.uuid, ()):
            found += _refused_amounts(provider, consumer, amounts)
    return found


def _overfull(provider: ProviderDetails) -> list[str]:
    found = []
    for name, amount in sorted(provider.used.items()):
        if name not in provider.inventories:
            found.append(f"{provider.name} has no {name} any more, of which {amount} are in use")
        elif amount > provider.capacity(name):
            found.append(
                f"{provider.name} has room for {provider.capacity(name)} {name}, of which "
                f"{amount} would be in use"
            )
    return found


def _refused_amounts(provider: ProviderDetails, consumer: str, held: Amounts) -> list[str]:
    found = []
    for name, amount in sorted(held.items()):
        if name not in provider.inventories:
            continue  # _overfull tells it
        record = completed(provider.inventories[name])
        if not record["min_unit"] <= amount <= record["max_unit"]:
            found.append(
                f"{provider.name} gives {record['min_unit']} to {record['max_unit']} {name} to "
                f"one consumer, and {consumer} would hold {amount}"
            )
        elif amount % record["step_size"]:
            found.append(
                f"{provider.name} gives {name} in steps of {record['step_size']}, and {consumer} "
                f"would hold {amount}"
            )
    return found
