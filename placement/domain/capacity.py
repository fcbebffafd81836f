"""Inventories, and the allocations that fit into them (rest-api.md 4.1, 4.2), as pure functions."""

import dataclasses
import datetime
import math
from collections.abc import Iterable, Mapping
from typing import Any

from placement.errors import BadRequest, CapacityExceeded, ConstraintViolated, InvalidInventory

#: the largest total, reserved amount, unit or usage: the columns of the database are 32 bits wide
MAX_AMOUNT = 0x7FFFFFFF
#: (provider id, resource class id)
Slot = tuple[int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """A provider's inventory of one resource class; amounts are in that class's unit."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_AMOUNT
    step_size: int = 1
    allocation_ratio: float = 1.0
    modified: datetime.datetime | None = dataclasses.field(default=None, compare=False)

    @property
    def capacity(self) -> float:
        """How much can be allocated in all; not rounded."""
        return _capacity(self)


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


def _capacity(inventory: Any) -> Any:
    return (inventory.total - inventory.reserved) * inventory.allocation_ratio


def fits(inventory: Any, used: Any, asked: Any, asked_before: Any = 0) -> Any:
    """Return whether the amount `asked` fits, whatever was used before the request.

    A database can evaluate it, too, so it has operators only.

    :param inventory: an `Inventory`, or columns of these names. For the other parameters see
        `why_not`
    """
    return (
        (inventory.min_unit <= asked)
        & (asked <= inventory.max_unit)
        & (asked % inventory.step_size == 0)
        & (used + asked_before + asked <= _capacity(inventory))
    )


def why_not(
    inventory: Inventory,
    used: int,
    asked: int,
    asked_before: int = 0,
    used_until_now: int | None = None,
) -> type[ConstraintViolated] | type[CapacityExceeded] | None:
    """Return the error if the amount `asked` doesn't fit into `inventory`; None if it fits.

    ConstraintViolated: the amount is outside min_unit … max_unit, or no multiple of step_size.
    CapacityExceeded: there is less room.

    :param used: the amount that others have allocated
    :param asked_before: the amount that earlier entries of the same request take
    :param used_until_now: the usage before the request, including what the request replaces. A
        usage above the capacity is allowed if it doesn't grow (rest-api.md 4.3). None: it is never
        allowed
    """
    if fits(inventory, used, asked, asked_before):
        return None
    outside = not inventory.min_unit <= asked <= inventory.max_unit
    if outside or asked % inventory.step_size:
        return ConstraintViolated
    wanted = used + asked_before + asked
    if used_until_now is not None and wanted <= used_until_now:
        return None
    return CapacityExceeded


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
        refusal = why_not(
            inventory,
            used=usage.by_others if usage else 0,
            asked=entry.amount,
            asked_before=before,
            used_until_now=usage.until_now if usage else None,
        )
        if refusal is not None:
            raise refusal(**names)
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


def refuse_no_number(inventories: Iterable[Inventory]) -> None:
    """Raise BadRequest if a ratio is NaN or infinite; JSON schemas can't exclude these values."""
    for inventory in inventories:
        ratio = inventory.allocation_ratio
        if not math.isfinite(ratio):
            raise BadRequest(f"allocation_ratio must be a number. Got: {ratio}")


def offers_nothing(inventory: Inventory, may_be_full: bool) -> bool:
    """Return whether a write of the inventory must be rejected because its capacity is too small.

    The check ignores the fraction of the capacity (rest-api.md 3.3).

    :param may_be_full: whether a capacity of 0 is allowed (since microversion 1.26)
    """
    return inventory.capacity <= -1 if may_be_full else inventory.capacity < 1
