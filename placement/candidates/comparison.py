"""A snapshot against the tables it was made of, row by row (architecture.rst D4).

Sums and digests can be equal by bad luck, or differ by rounding. So all rows are read, some
thousand at a time, and compared as they are. What no search can see – inventories, traits and
allocations of providers that aren't there – is not compared.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from placement.candidates.columns import SlotSet
from placement.candidates.key_sets import KeySets
from placement.candidates.snapshot import Snapshot
from placement.storage import snapshot_reads as reads
from placement.storage.engine import Connection

#: no number in a row comes near to 2 to the power of 53, from where on doubles leave some out
Table = npt.NDArray[np.float64]
_Differs = Callable[[Connection, Snapshot], bool]


def differences(connection: Connection, snapshot: Snapshot) -> list[str]:
    """Return which tables, as this transaction sees them, differ from the snapshot."""
    return [name for name, differs in _CHECKS.items() if differs(connection, snapshot)]


def _providers_differ(connection: Connection, snapshot: Snapshot) -> bool:
    register, forest = snapshot.register, snapshot.forest
    slots_of, uuids, count = register.slot_of_id.slots, register.uuids, 0
    for rows in reads.batches(connection, reads.PROVIDERS):
        ids, texts, parents, roots, _ = zip(*rows, strict=True)
        count += len(ids)
        slots = slots_of(np.array(ids, np.int64))
        if np.any(slots < 0) or not np.all(forest.alive[slots]):
            return True
        above = np.array([-1 if parent is None else parent for parent in parents], np.int64)
        root = slots_of(np.array(roots, np.int64))
        if (
            not uuids.are_at(slots, texts)
            or np.any(forest.parent[slots] != slots_of(above))
            or np.any(forest.root[slots] != np.where(root < 0, slots, root))
        ):
            return True
    return count != int(forest.alive.sum())


def _stocks_differ(connection: Connection, snapshot: Snapshot) -> bool:
    ids = _ids(snapshot)
    ours = [
        (
            ids[column.slots],
            np.full(len(column.slots), class_id),
            column.total,
            column.reserved,
            column.min_unit,
            column.max_unit,
            column.step_size,
            column.ratio,
        )
        for class_id, column in snapshot.columns.items()
    ]
    return _differ(_of_known(snapshot, _table(connection, reads.STOCKS)), _joined(ours, 8))


def _usages_differ(connection: Connection, snapshot: Snapshot) -> bool:
    ids = _ids(snapshot)
    ours = [
        (ids[column.slots], np.full(len(column.slots), class_id), column.used)
        for class_id, column in snapshot.columns.items()
    ]
    ours += [
        (ids[[slot]], np.array([class_id]), np.array([used]))
        for (slot, class_id), used in snapshot.stray_usage.items()
    ]
    mine, theirs = _joined(ours, 3), _of_known(snapshot, _table(connection, reads.USAGES))
    # whose usage is nothing has no row
    return _differ(mine[mine[:, 2] != 0], theirs[theirs[:, 2] != 0])


def _classes_differ(connection: Connection, snapshot: Snapshot) -> bool:
    having = {class_id: column.slots for class_id, column in snapshot.columns.items()}
    return _differ(_by_key(snapshot, having), _by_slot(snapshot, snapshot.classes_of))


def _traits_differ(connection: Connection, snapshot: Snapshot) -> bool:
    return _sets_differ(
        snapshot,
        _table(connection, reads.PROVIDER_TRAITS),
        snapshot.with_trait,
        snapshot.traits_of,
    )


def _memberships_differ(connection: Connection, snapshot: Snapshot) -> bool:
    return _sets_differ(
        snapshot,
        _table(connection, reads.MEMBERSHIPS),
        snapshot.in_aggregate,
        snapshot.aggregates_of,
    )


def _aggregates_differ(connection: Connection, snapshot: Snapshot) -> bool:
    """Say whether an aggregate with members has another uuid. The others are in no answer."""
    theirs = reads.aggregate_uuids(connection)
    ours = {key: uuid for uuid, key in snapshot.aggregate_ids.items()}
    used = (key for key, members in snapshot.in_aggregate.items() if members.count)
    return any(ours.get(key) != theirs.get(key) for key in used)


def _names_differ(connection: Connection, snapshot: Snapshot) -> bool:
    names = snapshot.names
    return (
        reads.class_names(connection) != names.classes
        or reads.trait_names(connection) != names.traits
    )


_CHECKS: Mapping[str, _Differs] = {
    "providers": _providers_differ,
    "inventories": _stocks_differ,
    "classes": _classes_differ,
    "usage": _usages_differ,
    "traits": _traits_differ,
    "memberships": _memberships_differ,
    "aggregates": _aggregates_differ,
    "names": _names_differ,
}


def _ids(snapshot: Snapshot) -> npt.NDArray[np.int64]:
    """Return the id of each slot's provider."""
    return snapshot.register.ids


def _table(connection: Connection, question: Sequence[sa.Select]) -> Table:
    """Return all rows of a question, whose columns are numbers."""
    batches = [
        np.array(list(zip(*rows, strict=True)), np.float64)
        for rows in reads.batches(connection, question)
    ]
    if not batches:
        return np.zeros((0, len(question[0].selected_columns)))
    return np.concatenate(batches, axis=1).T


def _of_known(snapshot: Snapshot, table: Table) -> Table:
    """Return the rows of providers that are there."""
    alive = _ids(snapshot)[snapshot.forest.alive]
    return table[np.isin(table[:, 0], alive)]


def _joined(parts: Sequence[Sequence[npt.NDArray[np.number]]], width: int) -> Table:
    """Return rows, from parts that are columns."""
    tables = [np.column_stack(part).astype(np.float64) for part in parts if len(part[0])]
    return np.concatenate(tables) if tables else np.zeros((0, width))


def _differ(one: Table, other: Table) -> bool:
    """Say whether two tables, whatever the order of their rows, hold other rows."""
    return one.shape != other.shape or not np.array_equal(_in_order(one), _in_order(other))


def _in_order(table: Table) -> Table:
    """Sort the rows by the first two columns, which no two rows share."""
    return table[np.lexsort((table[:, 1], table[:, 0]))]


def _sets_differ(
    snapshot: Snapshot,
    theirs: Table,
    having: Mapping[int, SlotSet],
    of_slot: KeySets,
) -> bool:
    known = _of_known(snapshot, theirs)
    slots = {key: members.slots() for key, members in having.items()}
    return _differ(known, _by_key(snapshot, slots)) or _differ(known, _by_slot(snapshot, of_slot))


def _by_key(snapshot: Snapshot, having: Mapping[int, npt.NDArray[np.int32]]) -> Table:
    """Return rows (provider, key), from the providers that have each key."""
    ids = _ids(snapshot)
    return _joined([(ids[slots], np.full(len(slots), key)) for key, slots in having.items()], 2)


def _by_slot(snapshot: Snapshot, of_slot: KeySets) -> Table:
    """Return rows (provider, key), from the keys that each provider has."""
    alive = np.flatnonzero(snapshot.forest.alive).astype(np.int32)
    slots, keys = of_slot.keys_of(alive)
    return np.column_stack([_ids(snapshot)[slots], keys]).astype(np.float64)
