"""What a snapshot shows that is suspicious (extensions.md 12).

Each function returns slots, or pairs of slots and ids of resource classes as two parallel arrays.
"""

import numpy as np

from placement.candidates.cloud.columns import Numbers, Slots
from placement.candidates.cloud.snapshot import Snapshot
from placement.extensions.suspects.rules import ONE_TIME_USE

Places = tuple[Slots, Numbers]


def over_capacity(snapshot: Snapshot) -> Places:
    """Return where more is used than there is room for, or something without an inventory.

    A device for one use is kept back as soon as it is used: it is left out.
    """
    parts, devices = [], _devices_for_one_use(snapshot)
    for class_id, column in snapshot.columns.items():
        over = column.slots[column.used > np.floor(column.capacities)]
        parts.append((over[~np.isin(over, devices)], class_id))
    strays = [place for place, used in snapshot.stray_usage.items() if used]
    found = [part for part, _ in parts] + [np.array([slot for slot, _ in strays], np.int32)]
    classes = [np.full(len(part), class_id, np.int64) for part, class_id in parts]
    classes.append(np.array([class_id for _, class_id in strays], np.int64))
    return np.concatenate(found), np.concatenate(classes)


def empty_roots(snapshot: Snapshot) -> Slots:
    """Return the roots in whose trees nobody has an inventory."""
    stocked = np.zeros(snapshot.size, np.bool_)
    for column in snapshot.columns.values():
        stocked[column.slots] = True
    forest = snapshot.forest
    return np.flatnonzero(forest.is_root & ~forest.roots_of(stocked)).astype(np.int32)


def burned_devices(snapshot: Snapshot) -> Places:
    """Return the devices for one use that are kept back as a whole although nobody has them."""
    devices = _devices_for_one_use(snapshot)
    held = np.isin(devices, [slot for (slot, _), used in snapshot.stray_usage.items() if used])
    parts = []
    for class_id, column in snapshot.columns.items():
        has, at = column.find(devices)
        if not has.any():
            continue
        mine = at[has]
        held[has] |= column.usage.take(mine) > 0
        total, reserved = column.total[mine], column.reserved[mine]
        parts.append((np.flatnonzero(has)[(reserved >= total) & (total > 0)], class_id))
    kept = [(places[~held[places]], class_id) for places, class_id in parts]
    slots = [devices[places] for places, _ in kept]
    classes = [np.full(len(places), class_id, np.int64) for places, class_id in kept]
    return (
        np.concatenate([np.zeros(0, np.int32), *slots]),
        np.concatenate([np.zeros(0, np.int64), *classes]),
    )


def _devices_for_one_use(snapshot: Snapshot) -> Slots:
    found = snapshot.with_trait.get(snapshot.names.trait_ids.get(ONE_TIME_USE, -1))
    devices = np.zeros(0, np.int32) if found is None else found.slots()
    return devices[snapshot.forest.alive[devices]]
