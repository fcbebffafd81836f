"""The suspects that a snapshot shows (extensions.md 12).

An inventory is named by the slot of its provider and the id of its class. Several inventories are
two parallel arrays: slots [3, 3, 7] and classes [0, 2, 0] are two inventories of the provider at
slot 3, and one of that at slot 7.
"""

from collections.abc import Sequence

import numpy as np

from placement.candidates.cloud.columns import Numbers, Slots
from placement.candidates.cloud.snapshot import Snapshot
from placement.extensions.suspects.rules import ONE_TIME_USE

SlotsAndClasses = tuple[Slots, Numbers]


def over_capacity(snapshot: Snapshot) -> SlotsAndClasses:
    """Return the inventories of which more is used than there is room for.

    Usage without an inventory counts, too. Devices for one use don't: one is reserved as a whole as
    soon as it is used. Nor do drained trees: that they take nothing new is what somebody wants.
    """
    devices = _devices_for_one_use(snapshot)
    drained = drained_roots(snapshot)
    found: list[tuple[Slots, int]] = []
    for class_id, column in snapshot.columns.items():
        over = column.slots[column.used > np.floor(column.capacities)]
        left_out = np.isin(over, devices) | np.isin(snapshot.forest.root[over], drained)
        found.append((over[~left_out], class_id))
    for (slot, class_id), used in snapshot.stray_usage.items():
        if used:
            found.append((np.array([slot], np.int32), class_id))
    return _joined(found)


def drained_roots(snapshot: Snapshot) -> Slots:
    """Return the roots of trees of which everything is reserved, except devices for one use."""
    has_inventory = np.zeros(snapshot.size, np.bool_)
    is_offered = np.zeros(snapshot.size, np.bool_)
    for column in snapshot.columns.values():
        has_inventory[column.slots] = True
        is_offered[column.slots[column.reserved < column.total]] = True
    devices = _devices_for_one_use(snapshot)
    has_inventory[devices] = is_offered[devices] = False
    forest = snapshot.forest
    is_drained = forest.is_root & forest.roots_of(has_inventory) & ~forest.roots_of(is_offered)
    return np.flatnonzero(is_drained).astype(np.int32)


def empty_roots(snapshot: Snapshot) -> Slots:
    """Return the roots in whose trees no provider has an inventory."""
    has_inventory = np.zeros(snapshot.size, np.bool_)
    for column in snapshot.columns.values():
        has_inventory[column.slots] = True
    forest = snapshot.forest
    return np.flatnonzero(forest.is_root & ~forest.roots_of(has_inventory)).astype(np.int32)


def burned_devices(snapshot: Snapshot) -> SlotsAndClasses:
    """Return the devices for one use that are reserved as a whole although nobody holds them."""
    devices = _devices_for_one_use(snapshot)
    is_held = np.isin(devices, [slot for (slot, _), used in snapshot.stray_usage.items() if used])
    reserved_devices: list[tuple[Numbers, int]] = []
    for class_id, column in snapshot.columns.items():
        has_class, positions = column.find(devices)
        if not has_class.any():
            continue
        positions = positions[has_class]
        is_held[has_class] |= column.usage.take(positions) > 0
        total, reserved = column.total[positions], column.reserved[positions]
        is_reserved = (reserved >= total) & (total > 0)
        reserved_devices.append((np.flatnonzero(has_class)[is_reserved], class_id))
    # whoever holds anything of a device, of whatever class, has the device
    return _joined(
        [(devices[numbers[~is_held[numbers]]], class_id) for numbers, class_id in reserved_devices]
    )


def _joined(found: Sequence[tuple[Slots, int]]) -> SlotsAndClasses:
    """Return two parallel arrays of slots that were found class by class."""
    classes = [np.full(len(slots), class_id, np.int64) for slots, class_id in found]
    return (
        np.concatenate([np.zeros(0, np.int32), *(slots for slots, _ in found)]),
        np.concatenate([np.zeros(0, np.int64), *classes]),
    )


def _devices_for_one_use(snapshot: Snapshot) -> Slots:
    found = snapshot.with_trait.get(snapshot.names.trait_ids.get(ONE_TIME_USE, -1))
    devices = np.zeros(0, np.int32) if found is None else found.slots()
    return devices[snapshot.forest.alive[devices]]
