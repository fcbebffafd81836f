"""The rules that decide whether allocations fit (rest-api.md 4.2), as pure functions."""

import dataclasses
from collections.abc import Iterable, Mapping

from placement.domain.capacity import Inventory, OutsideUnits, why_not
from placement.errors import CapacityExceeded, ConstraintViolated, InvalidInventory

#: (provider id, resource class id)
Slot = tuple[int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """`amount` of a class from a provider for a consumer; amount 0 removes the allocation."""

    consumer: str
    provider_id: int
    class_id: int
    amount: int

    @property
    def slot(self) -> Slot:
        return (self.provider_id, self.class_id)


@dataclasses.dataclass(frozen=True, slots=True)
class SlotUsage:
    """The usage of a slot.

    :param until_now: by all consumers, before the request
    :param by_others: by the consumers that the request doesn't name
    """

    until_now: int
    by_others: int


def check(
    entries: Iterable[Entry],
    inventories: Mapping[Slot, Inventory],
    usages: Mapping[Slot, SlotUsage],
    class_names: Mapping[int, str],
    provider_uuids: Mapping[int, str],
) -> None:
    """Raise an error for the first entry that can't be allocated together with those before it.

    For example, of 8 VCPU others use 4. Entries of 3 and 2 are checked in this order: 3 fits into
    the 4 that are free, 2 doesn't fit into the 1 that is left.

    Raises InvalidInventory if the provider has no such inventory, ConstraintViolated if the amount
    breaks min_unit, max_unit or step_size, and CapacityExceeded if it doesn't fit.

    :param inventories: those of the entries' providers and classes
    :param usages: those of the same slots; a slot without usage may be missing
    """
    entries = list(entries)
    _check_stocked(entries, inventories, class_names, provider_uuids)
    taken: dict[Slot, int] = {}
    for entry in entries:
        if entry.amount == 0:
            continue
        names = {
            "resource_class": class_names[entry.class_id],
            "uuid": provider_uuids[entry.provider_id],
        }
        inventory = inventories.get(entry.slot)
        if inventory is None:
            raise InvalidInventory(resource_classes=names["resource_class"], uuids=names["uuid"])
        usage = usages.get(entry.slot)
        before = taken.get(entry.slot, 0)
        reason = why_not(
            inventory,
            used=usage.by_others if usage else 0,
            asked=entry.amount,
            asked_before=before,
            used_until_now=usage.until_now if usage else None,
        )
        if reason is not None:
            kind = ConstraintViolated if isinstance(reason, OutsideUnits) else CapacityExceeded
            raise kind(**names)
        taken[entry.slot] = before + entry.amount


def _check_stocked(
    entries: list[Entry],
    inventories: Mapping[Slot, Inventory],
    class_names: Mapping[int, str],
    provider_uuids: Mapping[int, str],
) -> None:
    """Raise InvalidInventory if a provider has an inventory of none of the request's classes."""
    stocked = {provider_id for provider_id, _ in inventories}
    empty = dict.fromkeys(e.provider_id for e in entries if e.provider_id not in stocked)
    if empty:
        classes = dict.fromkeys(class_names[entry.class_id] for entry in entries)
        raise InvalidInventory(
            resource_classes=", ".join(classes),
            uuids=", ".join(provider_uuids[provider_id] for provider_id in empty),
        )
