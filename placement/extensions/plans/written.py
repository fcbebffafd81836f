"""Providers that somebody wrote to after a cloud was read, as their allocations show."""

import numpy as np

from placement.candidates.cloud.columns import Slots
from placement.candidates.cloud.patched_array import Integers
from placement.candidates.cloud.snapshot import Snapshot


def written(
    cloud: Snapshot,
    among: Slots,
    class_id: int,
    slots: Integers,
    amounts: Integers,
) -> Slots:
    """Return the providers whose usage in the cloud isn't the sum of their allocations.

    :param among: the slots of these providers, ascending
    :param slots: of the providers of all allocations of the class; others' are left out
    :param amounts: theirs, in the same order
    """
    used = np.zeros(len(among), np.int64)
    column = cloud.column(class_id)
    there, at = column.find(among)
    used[there] = column.usage.take(at[there])
    for (slot, stray_class), amount in cloud.stray_usage.items():
        if stray_class == class_id:
            used[among == slot] = amount
    inside = np.isin(slots, among)
    held = np.bincount(np.searchsorted(among, slots[inside]), amounts[inside], len(among))
    found: Slots = among[held != used]
    return found
