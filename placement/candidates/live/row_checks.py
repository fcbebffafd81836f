"""Whether rows of the tables say what a snapshot says (architecture.rst D4)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from placement.candidates.cloud.columns import Numbers, Slots, SlotSet
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.live.loading import by_key


def providers_differ(snapshot: Snapshot, columns: Sequence[Any]) -> bool:
    """Say whether any of the providers is missing, or another one.

    :param columns: ids, uuids, parents, roots, generations
    """
    ids, texts, parents, roots, _ = columns
    register, forest = snapshot.register, snapshot.forest
    slots_of = register.slot_of_id.slots
    slots = slots_of(ids)
    if np.any(slots < 0) or not np.all(forest.alive[slots]):
        return True
    root = slots_of(roots)
    return bool(
        not register.uuids.are_at(slots, texts)
        or np.any(forest.parent[slots] != slots_of(parents))
        or np.any(forest.root[slots] != np.where(root < 0, slots, root))
    )


def stocks_differ(snapshot: Snapshot, slots: Slots, columns: Sequence[Numbers]) -> bool:
    """Say whether any of the inventories is missing, or another one.

    :param columns: classes, total, reserved, min_unit, max_unit, step_size, ratio
    """
    classes, *fields = columns
    for class_id, at in by_key(classes).items():
        column = snapshot.column(class_id)
        there, places = column.find(slots[at])
        if not there.all():
            return True
        kinds = column.kinds[places]
        for ours, theirs in zip(column.stocks.fields, fields, strict=True):
            if np.any(ours[kinds] != theirs[at]):
                return True
    return False


def usages_differ(snapshot: Snapshot, slots: Slots, columns: Sequence[Numbers]) -> bool:
    """Say whether of anything another amount is used.

    :param columns: classes, amounts
    """
    classes, used = columns
    strays = snapshot.stray_usage
    for class_id, at in by_key(classes).items():
        column = snapshot.column(class_id)
        there, places = column.find(slots[at])
        amounts = used[at]
        if np.any(column.usage.take(places[there]) != amounts[there]):
            return True
        left = zip(slots[at][~there].tolist(), amounts[~there].tolist(), strict=True)
        if any(strays.get((slot, class_id), 0) != amount for slot, amount in left):
            return True
    return False


def traits_differ(snapshot: Snapshot, slots: Slots, columns: Sequence[Numbers]) -> bool:
    """Say whether any of the providers lacks the trait.

    :param columns: ids of traits
    """
    return _lacks(snapshot.with_trait, slots, columns[0])


def memberships_differ(snapshot: Snapshot, slots: Slots, columns: Sequence[Numbers]) -> bool:
    """Say whether any of the providers is not in the aggregate.

    :param columns: ids of aggregates
    """
    return _lacks(snapshot.in_aggregate, slots, columns[0])


def _lacks(having: Mapping[int, SlotSet], slots: Slots, keys: Numbers) -> bool:
    return any(
        key not in having or not having[key].holds(slots[at]).all()
        for key, at in by_key(keys).items()
    )
