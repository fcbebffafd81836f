"""Snapshots from the database, all of it at once (architecture.rst D4)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from placement.candidates.columns import (
    Column,
    Slots,
    SlotSet,
    Stocks,
)
from placement.candidates.forest import Forest
from placement.candidates.key_sets import KeySets
from placement.candidates.patched import Integers, Patched
from placement.candidates.prepared_texts import PreparedTexts
from placement.candidates.register import Register, SlotsById
from placement.candidates.snapshot import Names, Snapshot
from placement.candidates.uuid_table import UuidRows
from placement.storage import snapshot_reads as reads
from placement.storage.engine import Connection

Wide = npt.NDArray[np.int64]


def load(connection: Connection) -> Snapshot:
    """Load the whole cloud."""
    register, parents, roots, generations = _providers(connection)
    slots_of, size = register.slot_of_id.slots, len(register.ids)
    own = np.arange(size, dtype=np.int32)
    root = slots_of(roots)
    forest = Forest.of(slots_of(parents), np.where(root < 0, own, root), np.ones(size, np.bool_))
    columns, stray = _columns(connection, register.slot_of_id)
    classes = {class_id: column.slots for class_id, column in columns.items()}
    with_trait = _having(connection, reads.PROVIDER_TRAITS, register.slot_of_id)
    in_aggregate = _having(connection, reads.MEMBERSHIPS, register.slot_of_id)
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
    """Return the register; the ids of parents (-1: none) and roots, and generations, by slot."""
    uuids = UuidRows()
    parts: list[Wide] = []
    for rows in reads.batches(connection, reads.PROVIDERS):
        own_ids, texts, parent_ids, root_ids, numbers = zip(*rows, strict=True)
        uuids.add(texts)
        above = [-1 if parent is None else parent for parent in parent_ids]
        parts.append(np.array([own_ids, above, root_ids, numbers], np.int64))
    table: Wide = np.concatenate(parts, axis=1) if parts else np.zeros((4, 0), np.int64)
    order = None
    if np.any(np.diff(table[0]) < 0):
        order = np.argsort(table[0])
        table = table[:, order]
    ids, parents, roots, generations = map(np.ascontiguousarray, table)
    return Register.of(ids, uuids.table(order)), parents, roots, generations


def _columns(
    connection: Connection, slot_of: SlotsById
) -> tuple[dict[int, Column], dict[tuple[int, int], int]]:
    """Return the inventories by class, and the usage of (slot, class) without inventory."""
    records: dict[tuple[Any, ...], int] = {}
    parts: list[Integers] = []
    for rows in reads.batches(connection, reads.STOCKS):
        kinds = [records.setdefault(tuple(row[2:]), len(records)) for row in rows]
        ids, classes = zip(*[row[:2] for row in rows], strict=True)
        parts.append(np.array([classes, slot_of.slots(np.array(ids, np.int64)), kinds], np.int32))
    stocks, usages = Stocks.of(records), _usages(connection, slot_of)
    found = np.concatenate(parts, axis=1) if parts else np.zeros((3, 0), np.int32)
    found = found[:, found[1] >= 0]
    columns: dict[int, Column] = {}
    for class_id, at in by_key(found[0]).items():
        slots = found[1][at]
        at = at[np.argsort(slots, kind="stable")]
        slots = found[1][at]
        chosen, which = np.unique(found[2][at], return_inverse=True)
        used = np.zeros(len(slots), np.int64)
        if class_id in usages:
            users, amounts = usages[class_id]
            where = np.minimum(np.searchsorted(slots, users), len(slots) - 1)
            there = slots[where] == users
            used[where[there]] = amounts[there]
            usages[class_id] = users[~there], amounts[~there]
        columns[class_id] = Column.of_kinds(
            slots, which.astype(np.int32), stocks.chosen(chosen), used
        )
    stray = {
        (slot, class_id): used
        for class_id, (slots, amounts) in usages.items()
        for slot, used in zip(slots.tolist(), amounts.tolist(), strict=True)
    }
    return columns, stray


def _usages(connection: Connection, slot_of: SlotsById) -> dict[int, tuple[Integers, Integers]]:
    """Return slots and what is taken of them, by class."""
    parts = [
        np.array(list(zip(*rows, strict=True)), np.int64)
        for rows in reads.batches(connection, reads.USAGES)
    ]
    if not parts:
        return {}
    ids, classes, amounts = np.concatenate(parts, axis=1)
    slots = slot_of.slots(ids)
    known = slots >= 0
    slots, classes, amounts = slots[known], classes[known], amounts[known]
    return {key: (slots[at], amounts[at]) for key, at in by_key(classes).items()}


def by_key(keys: Integers) -> dict[int, Integers]:
    """Return where each key stands."""
    order = np.argsort(keys, kind="stable")
    found, first = np.unique(keys[order], return_index=True)
    return dict(zip(found.tolist(), np.split(order, first[1:]), strict=True)) if len(found) else {}


def _having(
    connection: Connection, question: Sequence[sa.Select], slot_of: SlotsById
) -> dict[int, Slots]:
    """Return the slots of the providers that have each key, ascending."""
    parts: list[Integers] = []
    for rows in reads.batches(connection, question):
        ids, keys = zip(*rows, strict=True)
        slots = slot_of.slots(np.array(ids, np.int64))
        parts.append(np.array([slots, keys], np.int32))
    found = np.concatenate(parts, axis=1) if parts else np.zeros((2, 0), np.int32)
    slots, keys = found[:, found[0] >= 0]
    return {key: np.sort(slots[at]) for key, at in by_key(keys).items()}
