"""The cloud as if what some consumers hold were free: for a resize, a move, an evacuation."""

from collections.abc import Iterable

from placement.candidates.cloud.snapshot import Snapshot
from placement.storage.holdings import HeldRow


def freed(snapshot: Snapshot, held: Iterable[HeldRow]) -> Snapshot:
    """Return the cloud as if these allocations were removed.

    Allocations of providers and classes that the cloud doesn't have are left out.
    """
    used: dict[int, dict[int, int]] = {}
    for row in held:
        slot = snapshot.slot(row.provider_uuid)
        class_id = snapshot.names.class_ids.get(row.resource_class)
        if slot is None or class_id is None:
            continue
        amounts = used.setdefault(class_id, {})
        known = amounts.get(slot)
        before = snapshot.used(class_id, slot) if known is None else known
        amounts[slot] = max(before - row.used, 0)
    return snapshot.using(used)
