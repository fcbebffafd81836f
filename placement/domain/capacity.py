"""The capacity of an inventory, and the amounts that fit into it (rest-api.md 4.1)."""

import dataclasses
import datetime
import math
from collections.abc import Iterable
from typing import Any

from placement.errors import BadRequest

#: the largest total, reserved amount, unit or usage: the columns of the database are 32 bits wide
MAX_AMOUNT = 0x7FFFFFFF


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
class OutsideUnits:
    """The amount is outside min_unit … max_unit, or no multiple of step_size."""

    asked: int


@dataclasses.dataclass(frozen=True, slots=True)
class NoRoom:
    """The free capacity is less than the amount."""

    asked: int
    free: float


Reason = OutsideUnits | NoRoom


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
) -> Reason | None:
    """Return the reason why the amount `asked` doesn't fit into `inventory`; None if it fits.

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
        return OutsideUnits(asked)
    wanted = used + asked_before + asked
    if used_until_now is not None and wanted <= used_until_now:
        return None
    return NoRoom(asked, free=inventory.capacity - used - asked_before)


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
