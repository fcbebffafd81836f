"""Snapshots with what changed since they were loaded (architecture.rst D4)."""

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from placement.candidates.cloud.columns import Column, Record, SlotSet, empty_column
from placement.candidates.cloud.forest import Forest
from placement.candidates.cloud.key_sets import Ids, KeySets
from placement.candidates.cloud.patched_array import Patched
from placement.candidates.cloud.prepared_texts import PreparedTexts
from placement.candidates.cloud.snapshot import UNKNOWN, Snapshot
from placement.candidates.live.loading import load, names
from placement.storage.database.engine import Connection
from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind
from placement.storage.whole_cloud import snapshot_reads as reads

#: with more of the providers changed than this share (and number), all are loaded anew
_TOO_MANY, _FEW = 0.2, 1000


@dataclasses.dataclass
class _Changed:
    """What the database says now of some providers, by id."""

    rows: dict[int, tuple[Any, ...]]
    stocks: dict[int, dict[int, tuple[Any, ...]]]
    usages: dict[int, dict[int, int]]
    traits: dict[int, Ids]
    aggregates: dict[int, Ids]


def advance(connection: Connection, old: Snapshot, kinds: Mapping[int, ChangeKind]) -> Snapshot:
    """Return the snapshot with the changes that the change feed names."""
    kinds = dict(kinds)
    now = old.names
    if NO_PROVIDER in kinds:
        del kinds[NO_PROVIDER]
        now = names(connection)
    if len(kinds) > max(_FEW, old.size * _TOO_MANY):
        return load(connection)
    slot_of = old.register.slot_of_id
    used_only = [
        i
        for i, kind in kinds.items()
        if kind == ChangeKind.USAGE and slot_of.get(i, old.size) < old.size
    ]
    others = sorted(kinds.keys() - used_only)
    new = dataclasses.replace(old, names=now, memo={})
    if _renamed(old.names.classes, now.classes) or _renamed(old.names.traits, now.traits):
        empty = PreparedTexts.unwritten(old.size)
        new = dataclasses.replace(new, texts=empty, tree_texts=PreparedTexts.unwritten(old.size))
    if used_only:
        new = _with_usage(connection, new, used_only)
    if others:
        new = _with_providers(new, _read_changed(connection, others), others, connection)
    return new


def _renamed(before: Mapping[int, str], after: Mapping[int, str]) -> bool:
    """Say whether a name changed. Names that were added or deleted are in no summary."""
    return any(after.get(key, name) != name for key, name in before.items())


def _with_usage(connection: Connection, old: Snapshot, ids: Sequence[int]) -> Snapshot:
    slot_of = old.register.slot_of_id
    taken: dict[tuple[int, int], int] = {
        (slot_of[provider_id], class_id): int(used)
        for provider_id, class_id, used in reads.usages(connection, ids)
    }
    slots = [slot_of[provider_id] for provider_id in ids]
    changes: dict[int, dict[int, int]] = collections.defaultdict(dict)
    for slot in slots:
        for class_id in old.classes_of[slot]:
            changes[class_id][slot] = taken.pop((slot, class_id), 0)
    columns = dict(old.columns)
    for class_id, used in changes.items():
        columns[class_id] = columns[class_id].with_usage(used)
    return dataclasses.replace(
        old,
        # another writer may have raised the generation as well, for what isn't read here
        generations=_raised(old.generations, dict.fromkeys(slots, UNKNOWN), old.size),
        columns=columns,
        stray_usage=_with_stray(old, slots, taken),
        **_forget_texts(old, slots),
    )


def _raised(known: Patched, changes: Mapping[int, int], size: int) -> Patched:
    """Return the generations by slot with some changed, and with room for new slots."""
    slots = np.fromiter(changes, np.int64, len(changes))
    generations = np.fromiter(changes.values(), np.int64, len(changes))
    return known.grown(size, 0).changed(slots, generations)


def _with_stray(
    old: Snapshot, slots: Iterable[int], stray: Mapping[tuple[int, int], int]
) -> Mapping[tuple[int, int], int]:
    if not old.stray_usage and not stray:
        return old.stray_usage
    touched = set(slots)
    kept = {key: used for key, used in old.stray_usage.items() if key[0] not in touched}
    return kept | dict(stray)


def _forget_texts(old: Snapshot, slots: Iterable[int], size: int | None = None) -> dict[str, Any]:
    size = old.size if size is None else size
    touched = list(slots)
    known = [slot for slot in touched if slot < old.size]
    roots = {int(root) for root in old.forest.root[known]} | set(touched)
    return {
        "texts": old.texts.forgetting(touched, size),
        "tree_texts": old.tree_texts.forgetting(roots, size),
        "listings": old.listings.forgetting(touched),
    }


def _read_changed(connection: Connection, changed: Sequence[int]) -> _Changed:
    rows = {row[0]: row for row in reads.providers(connection, changed)}
    # others may have left rows of a provider that isn't there any more
    ids = sorted(rows)
    stocks: dict[int, dict[int, tuple[Any, ...]]] = collections.defaultdict(dict)
    for provider_id, class_id, *record in reads.stocks(connection, ids):
        stocks[provider_id][class_id] = tuple(record)
    usages: dict[int, dict[int, int]] = collections.defaultdict(dict)
    for provider_id, class_id, used in reads.usages(connection, ids):
        usages[provider_id][class_id] = int(used)
    return _Changed(
        rows,
        stocks,
        usages,
        _gathered(reads.provider_traits(connection, ids)),
        _gathered(reads.memberships(connection, ids)),
    )


def _gathered(rows: Iterable[tuple[int, int]]) -> dict[int, Ids]:
    found: dict[int, list[int]] = collections.defaultdict(list)
    for provider_id, key in rows:
        found[provider_id].append(key)
    return {provider_id: tuple(sorted(keys)) for provider_id, keys in found.items()}


def _with_providers(
    old: Snapshot, now: _Changed, ids: Sequence[int], connection: Connection
) -> Snapshot:
    register = old.register
    for provider_id, row in now.rows.items():
        slot = register.slot_of_id.get(provider_id)
        if slot is not None and register.uuids[slot] != row[1]:
            # SQLite gives the id of the newest provider again once that is deleted
            return load(connection)
    new = [(i, now.rows[i][1]) for i in sorted(now.rows) if i not in register.slot_of_id]
    gone = [i for i in ids if i in register.slot_of_id and i not in now.rows]
    if new or gone:
        register = register.changed(new, gone)
    slots = {i: register.slot_of_id[i] for i in ids if i in register.slot_of_id}
    slots |= {i: old.register.slot_of_id[i] for i in gone}
    size = len(register.ids)
    forest = _moved(old.forest, now, register.slot_of_id, slots, size)
    new_aggregates = {
        key for keys in now.aggregates.values() for key in keys if key not in old.in_aggregate
    }
    aggregate_ids = old.aggregate_ids
    if new_aggregates:
        uuids = reads.aggregate_uuids(connection, new_aggregates)
        aggregate_ids = dict(aggregate_ids) | {uuid: key for key, uuid in uuids.items()}
    traits_of, with_trait = _changed_sets(old.traits_of, old.with_trait, now.traits, slots, size)
    aggregates_of, in_aggregate = _changed_sets(
        old.aggregates_of, old.in_aggregate, now.aggregates, slots, size
    )
    columns, classes_of, stray = _changed_columns(old, now, slots, size)
    # a provider that moved changes what its whole tree says, before and after
    kin = {slot for slot in slots.values()}
    if forest is not old.forest:
        for slot in list(kin):
            roots = {int(forest.root[slot])}
            if slot < old.size:
                roots.add(int(old.forest.root[slot]))
            kin |= roots
    return dataclasses.replace(
        old,
        register=register,
        forest=forest,
        aggregate_ids=aggregate_ids,
        generations=_raised(
            old.generations, {slots[i]: row[4] for i, row in now.rows.items()}, size
        ),
        columns=columns,
        traits_of=traits_of,
        aggregates_of=aggregates_of,
        classes_of=classes_of,
        with_trait=with_trait,
        in_aggregate=in_aggregate,
        stray_usage=_with_stray(old, slots.values(), stray),
        **_forget_texts(old, kin, size),
    )


def _moved(
    forest: Forest,
    now: _Changed,
    slot_of: Mapping[int, int],
    slots: Mapping[int, int],
    size: int,
) -> Forest:
    kin: dict[int, tuple[int, int] | None] = {}
    for provider_id, slot in slots.items():
        row = now.rows.get(provider_id)
        place = None
        if row is not None:
            parent = -1 if row[2] is None else slot_of.get(row[2], -1)
            place = (parent, slot_of.get(row[3], slot))
        known = slot < forest.size
        before = (int(forest.parent[slot]), int(forest.root[slot])) if known else None
        if before is None or place != before:
            kin[slot] = place
    return forest.changed(kin, size) if kin else forest


def _changed_sets(
    of_slot: KeySets,
    having: Mapping[int, SlotSet],
    now: Mapping[int, Ids],
    slots: Mapping[int, int],
    size: int,
) -> tuple[KeySets, Mapping[int, SlotSet]]:
    added: dict[int, list[int]] = collections.defaultdict(list)
    removed: dict[int, list[int]] = collections.defaultdict(list)
    items: dict[int, Ids] = {}
    for provider_id, slot in slots.items():
        before = of_slot[slot] if slot < of_slot.size else ()
        after = now.get(provider_id, ())
        if before != after:
            items[slot] = after
            for key in set(after) - set(before):
                added[key].append(slot)
            for key in set(before) - set(after):
                removed[key].append(slot)
    if not items and size == of_slot.size:
        return of_slot, having
    sets = dict(having)
    for key in added.keys() | removed.keys():
        known = sets.pop(key, None) or SlotSet(np.zeros(0, np.int32), size)
        changed = known.changed(added[key], removed[key], size)
        # traits come and go: what nobody has any more must not be kept for ever
        if changed.count:
            sets[key] = changed
    return of_slot.changed(items, size), sets


def _changed_columns(
    old: Snapshot, now: _Changed, slots: Mapping[int, int], size: int
) -> tuple[Mapping[int, Column], KeySets, dict[tuple[int, int], int]]:
    changes: dict[int, dict[int, Record | None]] = collections.defaultdict(dict)
    classes: dict[int, Ids] = {}
    stray: dict[tuple[int, int], int] = {}
    for provider_id, slot in slots.items():
        stocks = now.stocks.get(provider_id, {})
        usages = dict(now.usages.get(provider_id, {}))
        before = old.classes_of[slot] if slot < old.size else ()
        for class_id in {*before, *stocks}:
            record = stocks.get(class_id)
            used = 0 if record is None else usages.pop(class_id, 0)
            changes[class_id][slot] = None if record is None else (*record, used)
        classes[slot] = tuple(sorted(stocks))
        stray |= {(slot, class_id): used for class_id, used in usages.items()}
    columns = dict(old.columns)
    for class_id, stocks_now in changes.items():
        known = columns.pop(class_id, None) or empty_column()
        column = known.changed(stocks_now)
        if len(column.slots):
            columns[class_id] = column
    return columns, old.classes_of.changed(classes, size), stray
