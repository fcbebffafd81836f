"""Inventory records: the fields that placement fills in, and the capacity that follows.

An inventory is a dict of resource class → record. A record has `total` and may have the fields of
`DEFAULTS`; placement fills in those that are left out.
"""

from collections.abc import Iterable, Mapping
from typing import Any

#: resource class → record
Inventory = dict[str, dict[str, Any]]

#: The largest number that placement stores in a field of an inventory or of an allocation.
LARGEST = 2**31 - 1

#: Field → the value that placement gives the field of a record without it.
DEFAULTS: Mapping[str, Any] = {
    "reserved": 0,
    "min_unit": 1,
    "max_unit": LARGEST,
    "step_size": 1,
    "allocation_ratio": 1.0,
}


def sized(total: int) -> dict[str, object]:
    """Return a record of which a consumer may request any amount up to the total."""
    return {"total": total, "min_unit": 1, "max_unit": total, "step_size": 1}


def completed(record: Mapping[str, object]) -> dict[str, Any]:
    """Return a copy of a record with all fields, those left out with placement's defaults."""
    return {**DEFAULTS, **record}


def capacity(record: Mapping[str, object] | None) -> int:
    """Return how much of a record all consumers may hold together; 0 without a record.

    The number is `(total - reserved) * allocation_ratio`, cut to a whole number, as placement does.
    """
    if record is None:
        return 0
    full = completed(record)
    return int((full["total"] - full["reserved"]) * full["allocation_ratio"])


def with_reserved(wanted: Mapping[str, Mapping[str, Any]], known: Inventory) -> Inventory:
    """Return the wanted inventory of a device with what is reserved of the `known` one.

    No option says what to reserve of devices, so an operator did. What was reserved as a whole
    stays so with another total. A class that is new gets it from those that it replaces.
    """
    replaced = [record for name, record in known.items() if name not in wanted]
    return {
        name: {**record, "reserved": _reserved(record["total"], known.get(name), replaced)}
        for name, record in wanted.items()
    }


def _reserved(
    total: int, before: Mapping[str, Any] | None, replaced: Iterable[Mapping[str, Any]]
) -> int:
    records = replaced if before is None else [before]
    kept = [(one.get("reserved", 0), one["total"]) for one in records]
    return max(
        (total if amount >= of else min(amount, total) for amount, of in kept if amount), default=0
    )
