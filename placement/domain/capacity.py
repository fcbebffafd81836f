"""What an inventory offers and why it may refuse an amount (rest-api.md 4.1)."""

import dataclasses
import datetime
import math
from collections.abc import Iterable

from placement.errors import BadRequest

MAX_INT = 0x7FFFFFFF


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """A provider's stock of one resource class, in that class's unit."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_INT
    step_size: int = 1
    allocation_ratio: float = 1.0
    modified: datetime.datetime | None = dataclasses.field(default=None, compare=False)

    @property
    def capacity(self) -> float:
        """How much can be allocated in all; not rounded."""
        return (self.total - self.reserved) * self.allocation_ratio


@dataclasses.dataclass(frozen=True, slots=True)
class OutsideUnits:
    """The amount is not one that is handed out: outside min_unit … max_unit, or no whole step."""

    asked: int


@dataclasses.dataclass(frozen=True, slots=True)
class NoRoom:
    """There is not enough left."""

    asked: int
    free: float


Reason = OutsideUnits | NoRoom


def why_not(
    inventory: Inventory,
    used: int,
    asked: int,
    asked_before: int = 0,
    used_until_now: int | None = None,
) -> Reason | None:
    """Say why `asked` can't be taken from `inventory` with `used` of it gone, or None if it can.

    :param asked_before: what earlier entries of the same request take from it
    :param used_until_now: usage before the request, including what the request replaces. An
        overcommit that the request doesn't worsen is tolerated (rest-api.md 4.3); None: none is.
    """
    outside = not inventory.min_unit <= asked <= inventory.max_unit
    if outside or asked % inventory.step_size:
        return OutsideUnits(asked)
    wanted = used + asked_before + asked
    if wanted <= inventory.capacity:
        return None
    if used_until_now is not None and wanted <= used_until_now:
        return None
    return NoRoom(asked, free=inventory.capacity - used - asked_before)


def refuse_no_number(inventories: Iterable[Inventory]) -> None:
    """Raise BadRequest for a ratio that is no number; JSON's schemas can't tell NaN from others."""
    for inventory in inventories:
        ratio = inventory.allocation_ratio
        if not math.isfinite(ratio):
            raise BadRequest(f"allocation_ratio must be a number. Got: {ratio}")


def offers_nothing(inventory: Inventory, may_be_full: bool) -> bool:
    """Whether an inventory leaves nothing to allocate, as writes of inventories judge it.

    They look at the capacity without its fraction (rest-api.md 3.3).

    :param may_be_full: whether a capacity of 0 is all right (microversion 1.26)
    """
    return inventory.capacity <= -1 if may_be_full else inventory.capacity < 1
