"""The same sums over a snapshot as `snapshot_reads.fingerprint` takes over the tables."""

import math
from collections.abc import Iterable

import numpy as np

from placement.candidates.columns import Blocks
from placement.candidates.snapshot import Ids, Snapshot
from placement.storage.snapshot_reads import WEIGHT_MODULUS, Fingerprint


def fingerprint(snapshot: Snapshot) -> Fingerprint:
    """Sums that differ when the snapshot and the tables do, but for bad luck."""
    size = snapshot.size
    ids = np.array(snapshot.register.ids[:size], np.int64)
    weights = ids % WEIGHT_MODULUS + 1
    alive = snapshot.forest.alive
    parents = np.where(snapshot.forest.parent >= 0, ids[snapshot.forest.parent], 0)
    roots = ids[snapshot.forest.root]
    provider_sums = [int(np.sum((weights * values)[alive])) for values in (ids, parents, roots)]
    stock, usage = _stock_sums(snapshot, weights)
    return (
        (float(alive.sum()), *map(float, provider_sums)),
        stock,
        usage,
        _set_sums(snapshot.traits_of, alive, weights),
        _set_sums(snapshot.aggregates_of, alive, weights),
        _name_sums(snapshot.names.classes),
        _name_sums(snapshot.names.traits),
    )


def alike(ours: Fingerprint, theirs: Fingerprint) -> bool:
    """Whether two fingerprints are of the same data; sums of ratios depend on their order."""
    return all(
        mine == other or (not float.is_integer(mine) and math.isclose(mine, other, rel_tol=1e-9))
        for my_sums, their_sums in zip(ours, theirs, strict=True)
        for mine, other in zip(my_sums, their_sums, strict=True)
    )


def _stock_sums(
    snapshot: Snapshot, weights: np.ndarray
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    count, sizes, units, by_provider, by_class = 0, 0, 0, 0, 0
    ratios = 0.0
    for class_id, column in snapshot.columns.items():
        weight = weights[column.slots]
        count += len(column.slots)
        sizes += int(np.sum(weight * (column.total - column.reserved + 3 * class_id)))
        units += int(
            np.sum(weight * (column.min_unit + 3 * column.max_unit + 5 * column.step_size))
        )
        ratios += float(np.sum(column.ratio))
        by_provider += int(np.sum(weight * column.used))
        by_class += int(np.sum(column.used)) * (1 + class_id)
    for (slot, class_id), used in snapshot.stray_usage.items():
        by_provider += int(weights[slot]) * used
        by_class += used * (1 + class_id)
    return (count, float(sizes), float(units), ratios), (
        float(by_provider),
        float(by_class),
    )


def _set_sums(of_slot: Blocks[Ids], alive: np.ndarray, weights: np.ndarray) -> tuple[float, ...]:
    count, total = 0, 0
    for slot in np.flatnonzero(alive).tolist():
        ids = of_slot[slot]
        if ids:
            count += len(ids)
            total += int(weights[slot]) * sum(ids)
    return float(count), float(total)


def _name_sums(names: Iterable[int]) -> tuple[float, ...]:
    keys = list(names)
    return float(len(keys)), float(sum(keys))
