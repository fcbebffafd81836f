"""A snapshot of the whole cloud, loaded from the tables (architecture.rst D4)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from placement.candidates.cloud.columns import Column, Slots, Stocks
from placement.candidates.cloud.forest import Forest
from placement.candidates.cloud.key_sets import KeySets, SlotSet
from placement.candidates.cloud.patched_array import Integers, Patched
from placement.candidates.cloud.prepared_texts import PreparedTexts
from placement.candidates.cloud.register import Register, UuidTable
from placement.candidates.cloud.snapshot import Names, Snapshot
from placement.storage.database.engine import Connection
from placement.storage.uuid_rows import LENGTH, Rows, Uuids
from placement.storage.whole_cloud import snapshot_reads as reads
from placement.storage.whole_cloud import whole_tables

Wide = npt.NDArray[np.int64]


def load(connection: Connection) -> Snapshot:
    """Load the whole cloud."""
    register, parents, roots, generations = _providers(connection)
    slots_of, size = register.slot_of_id.slots, len(register.ids)
    # a provider whose root doesn't exist counts as a root
    own, root = np.arange(size, dtype=np.int32), slots_of(roots)
    root = np.where(root < 0, own, root)
    forest = Forest.of(slots_of(parents), root, np.ones(size, np.bool_))
    columns, stray = _columns(connection, register)
    classes = {class_id: column.slots for class_id, column in columns.items()}
    with_trait = _having(connection, reads.PROVIDER_TRAITS, register)
    in_aggregate = _having(connection, reads.MEMBERSHIPS, register)
    uuids = reads.aggregate_uuids(connection)
    return Snapshot(
        register=register,
        forest=forest,
        names=names(connection),
        aggregate_ids={uuid: key for key, uuid in uuids.items()},
        generations=Patched.of(generations),
        columns=columns,
        traits_of=KeySets.of(with_trait, size),
        aggregates_of=KeySets.of(in_aggregate, size),
        classes_of=KeySets.of(classes, size),
        with_trait={key: SlotSet(slots, size) for key, slots in with_trait.items()},
        in_aggregate={key: SlotSet(slots, size) for key, slots in in_aggregate.items()},
        stray_usage=stray,
        texts=PreparedTexts.unwritten(size),
        tree_texts=PreparedTexts.unwritten(size),
    )


def names(connection: Connection) -> Names:
    """Read the names of classes and traits."""
    return Names.of(reads.class_names(connection), reads.trait_names(connection))


def _providers(connection: Connection) -> tuple[Register, Wide, Wide, Wide]:
    """Return the register, and by slot: ids of parents (-1: none), ids of roots, generations."""
    uuids: list[Uuids] = []
    parts: list[Wide] = []
    for ids, texts, *numbers in whole_tables.providers(connection):
        uuids.append(texts)
        parts.append(np.array([ids, *numbers]))
    table: Wide = np.concatenate(parts, axis=1) if parts else np.zeros((4, 0), np.int64)
    order = None
    # slots follow ids; some databases send the rows in another order
    if np.any(np.diff(table[0]) < 0):
        order = np.argsort(table[0])
        table = table[:, order]
    ids, parents, roots, generations = map(np.ascontiguousarray, table)
    return Register.of(ids, _uuid_table(uuids, order)), parents, roots, generations


def _uuid_table(parts: Sequence[Uuids], order: npt.NDArray[np.intp] | None) -> UuidTable:
    """Return all uuids in an order of theirs; None: that in which they were read."""
    rows: Rows = np.concatenate([part.rows for part in parts] or [np.zeros((0, LENGTH), np.uint8)])
    odd: dict[int, str] = {}
    count = 0
    for part in parts:
        odd |= {count + place: uuid for place, uuid in part.odd.items()}
        count += len(part.rows)
    if order is not None:
        rows = rows[order]
        odd = odd and {new: odd[old] for new, old in enumerate(order.tolist()) if old in odd}
    return UuidTable.of_rows(rows, odd)


def _columns(
    connection: Connection, register: Register
) -> tuple[dict[int, Column], dict[tuple[int, int], int]]:
    """Return the inventories by class, and the usage without inventory by slot and class."""
    # inventories that are equal but for their provider are one record
    records: dict[tuple[Any, ...], int] = {}
    parts: list[Integers] = []
    slots_of, known_ids = register.slot_of_id.slots, register.known_ids
    for ids, classes, *fields in whole_tables.of_providers(connection, reads.STOCKS, known_ids):
        parts.append(np.array([classes, slots_of(ids), _kinds(fields, records)], np.int32))
    stocks, usages = Stocks.of(records), _usages(connection, register)
    found = np.concatenate(parts, axis=1) if parts else np.zeros((3, 0), np.int32)
    found = found[:, found[1] >= 0]
    columns: dict[int, Column] = {}
    for class_id, at in by_key(found[0]).items():
        slots = found[1][at]
        at = at[np.argsort(slots, kind="stable")]
        slots = found[1][at]
        # of all records, those of this class, and which of them each inventory is
        chosen, which = np.unique(found[2][at], return_inverse=True)
        used = np.zeros(len(slots), np.int64)
        if class_id in usages:
            used_slots, amounts = usages[class_id]
            where = np.minimum(np.searchsorted(slots, used_slots), len(slots) - 1)
            exists = slots[where] == used_slots
            used[where[exists]] = amounts[exists]
            usages[class_id] = used_slots[~exists], amounts[~exists]
        columns[class_id] = Column.of_kinds(
            slots, which.astype(np.int32), stocks.chosen(chosen), used
        )
    stray = {
        (slot, class_id): used
        for class_id, (slots, amounts) in usages.items()
        for slot, used in zip(slots.tolist(), amounts.tolist(), strict=True)
    }
    return columns, stray


def _kinds(fields: Sequence[Any], records: dict[tuple[Any, ...], int]) -> Integers:
    """Return the number of each row's record; new records get the next numbers.

    :param fields: columns that run parallel
    :param records: numbers by record; new records are added
    """
    # a row as a string of bytes: numpy then finds the few that differ among thousands
    table = np.stack([np.ascontiguousarray(field).view(np.int64) for field in fields], axis=1)
    _, first, which = np.unique(
        table.view(f"V{table.itemsize * len(fields)}").reshape(-1),
        return_index=True,
        return_inverse=True,
    )
    rows = zip(*(field[first].tolist() for field in fields), strict=True)
    kinds = [records.setdefault(row, len(records)) for row in rows]
    return np.array(kinds, np.int32)[which.reshape(-1)]


def _usages(connection: Connection, register: Register) -> dict[int, tuple[Integers, Integers]]:
    """Return slots, and how much is used of each, by class."""
    found = whole_tables.of_providers(connection, reads.USAGES, register.known_ids)
    parts = [np.array(columns) for columns in found]
    if not parts:
        return {}
    ids, classes, amounts = np.concatenate(parts, axis=1)
    slots = register.slot_of_id.slots(ids)
    known = slots >= 0
    slots, classes, amounts = slots[known], classes[known], amounts[known]
    return {key: (slots[at], amounts[at]) for key, at in by_key(classes).items()}


def by_key(keys: Integers) -> dict[int, Integers]:
    """Return the places of each key: of 7, 5, 7 they are {5: [1], 7: [0, 2]}."""
    order = np.argsort(keys, kind="stable")
    found, first = np.unique(keys[order], return_index=True)
    return dict(zip(found.tolist(), np.split(order, first[1:]), strict=True)) if len(found) else {}


def _having(
    connection: Connection, question: reads.Question, register: Register
) -> dict[int, Slots]:
    """Return the slots of the providers that have each key, a trait for example, ascending."""
    parts: list[Integers] = []
    slots_of = register.slot_of_id.slots
    for ids, keys in whole_tables.of_providers(connection, question, register.known_ids):
        parts.append(np.array([slots_of(ids), keys], np.int32))
    found = np.concatenate(parts, axis=1) if parts else np.zeros((2, 0), np.int32)
    slots, keys = found[:, found[0] >= 0]
    return {key: np.sort(slots[at]) for key, at in by_key(keys).items()}
