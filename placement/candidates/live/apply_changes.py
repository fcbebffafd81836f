"""A snapshot with what changed since it was loaded (architecture.rst D4).

The rows of changed providers are read anew, and a new snapshot is made that shares all else with
the old one. If only usage changed, only usage is read.
"""

import collections
import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from placement.candidates.cloud.columns import Column, Record, empty_column
from placement.candidates.cloud.forest import Forest
from placement.candidates.cloud.key_sets import Ids, KeySets, SlotSet
from placement.candidates.cloud.patched_array import Patched
from placement.candidates.cloud.prepared_texts import PreparedTexts
from placement.candidates.cloud.snapshot import UNKNOWN, Names, Snapshot
from placement.candidates.live.loading import load, names
from placement.storage.database.engine import Connection
from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind, News
from placement.storage.feed.generation_look import ALL_KINDS
from placement.storage.whole_cloud import snapshot_reads as reads

#: all is loaded anew if more than this share of the providers, and more than this number, changed
_TOO_MANY, _FEW = 0.2, 1000


@dataclasses.dataclass
class ChangedProviders:
    """Some providers as the tables have them now, by provider id.

    :param rows: id, uuid, parent id, root id, generation; deleted providers are missing
    :param stocks: the fields of the inventories by class id
    :param usages: amounts by class id
    """

    rows: dict[int, tuple[Any, ...]]
    stocks: dict[int, dict[int, tuple[Any, ...]]]
    usages: dict[int, dict[int, int]]
    traits: dict[int, Ids]
    aggregates: dict[int, Ids]


def with_news(
    connection: Connection, old: Snapshot, news: News, others_may_write: bool
) -> Snapshot:
    """Return the snapshot with what the change feed names.

    :param others_may_write: then all of these providers is read, because services that don't append
        to the change feed may have changed something else of them
    """
    kinds = news.kinds
    if others_may_write:
        kinds = {key: kind | ALL_KINDS if key else kind for key, kind in kinds.items()}
    return advance(connection, old, kinds)


def advance(connection: Connection, old: Snapshot, kinds: Mapping[int, ChangeKind]) -> Snapshot:
    """Return the snapshot with the changes that the change feed names.

    :param kinds: what changed, by provider id
    """
    if not kinds:
        return old
    kinds = dict(kinds)
    now = old.names
    if NO_PROVIDER in kinds:
        del kinds[NO_PROVIDER]
        now = names(connection)
    if len(kinds) > max(_FEW, old.size * _TOO_MANY):
        return load(connection)
    slot_of = old.register.slot_of_id
    used_only = [
        provider_id
        for provider_id, kind in kinds.items()
        if kind == ChangeKind.USAGE and slot_of.get(provider_id, old.size) < old.size
    ]
    others = sorted(kinds.keys() - used_only)
    # what the memo holds depends on all but usage
    memo = old.memo if now is old.names and not others else {}
    new = dataclasses.replace(old, names=now, memo=memo)
    if now is not old.names and _is_renamed(old.names, now):
        empty = PreparedTexts.unwritten(old.size)
        new = dataclasses.replace(new, texts=empty, tree_texts=PreparedTexts.unwritten(old.size))
    if used_only:
        new = _with_usage(connection, new, used_only)
    if not others:
        return new
    changed = _read_changed(connection, others)
    for provider_id, row in changed.rows.items():
        slot = slot_of.get(provider_id)
        if slot is not None and old.register.uuids[slot] != row[1]:
            # SQLite gives the id of the newest provider again once that is deleted
            return load(connection)
    return with_providers(new, changed, others, lambda ids: reads.aggregate_uuids(connection, ids))


def _is_renamed(before: Names, after: Names) -> bool:
    """Say whether a name changed. Names that were added or deleted are in no summary."""
    pairs = (before.classes, after.classes), (before.traits, after.traits)
    return any(now.get(key, name) != name for old, now in pairs for key, name in old.items())


def _with_usage(connection: Connection, old: Snapshot, ids: Sequence[int]) -> Snapshot:
    """Return the snapshot with the usage that some of its providers have now."""
    slot_of = old.register.slot_of_id
    used: dict[tuple[int, int], int] = {
        (slot_of[provider_id], class_id): int(amount)
        for provider_id, class_id, amount in reads.usages(connection, ids)
    }
    slots = [slot_of[provider_id] for provider_id in ids]
    changes: dict[int, dict[int, int]] = collections.defaultdict(dict)
    for slot in slots:
        for class_id in old.classes_of[slot]:
            changes[class_id][slot] = used.pop((slot, class_id), 0)
    columns = dict(old.columns)
    for class_id, amounts in changes.items():
        columns[class_id] = columns[class_id].with_usage(amounts)
    return dataclasses.replace(
        old,
        # others may have raised a generation as well, by a change that isn't read here
        generations=_with_generations(old.generations, dict.fromkeys(slots, UNKNOWN), old.size),
        columns=columns,
        # what is left is usage of classes without inventory
        stray_usage=_with_stray(old, slots, used),
        **_without_texts(old, slots, old.size),
    )


def _with_generations(known: Patched, changes: Mapping[int, int], size: int) -> Patched:
    """Return the generations with some changed, and up to `size` slots.

    :param changes: generations by slot
    """
    slots = np.fromiter(changes, np.int64, len(changes))
    generations = np.fromiter(changes.values(), np.int64, len(changes))
    return known.grown(size, 0).changed(slots, generations)


def _with_stray(
    old: Snapshot, slots: Iterable[int], stray: Mapping[tuple[int, int], int]
) -> Mapping[tuple[int, int], int]:
    """Return the usage of classes without inventory, read anew for some slots.

    :param stray: what was read for these slots, by slot and class
    """
    if not old.stray_usage and not stray:
        return old.stray_usage
    changed = set(slots)
    kept = {key: used for key, used in old.stray_usage.items() if key[0] not in changed}
    return kept | dict(stray)


def _without_texts(old: Snapshot, slots: Iterable[int], size: int) -> dict[str, Any]:
    """Return the snapshot's fields of prepared texts, without those that tell of some slots.

    A tree's text tells of all its providers, so the text of each one's root is dropped, too.
    """
    changed = list(slots)
    known = [slot for slot in changed if slot < old.size]
    roots = {int(root) for root in old.forest.root[known]} | set(changed)
    return {
        "texts": old.texts.forgetting(changed, size),
        "tree_texts": old.tree_texts.forgetting(roots, size),
        "listings": old.listings.forgetting(changed),
    }


def _read_changed(connection: Connection, changed: Sequence[int]) -> ChangedProviders:
    rows = {row[0]: row for row in reads.providers(connection, changed)}
    # others may have left inventories and allocations of providers that they deleted
    ids = sorted(rows)
    stocks: dict[int, dict[int, tuple[Any, ...]]] = collections.defaultdict(dict)
    for provider_id, class_id, *fields in reads.stocks(connection, ids):
        stocks[provider_id][class_id] = tuple(fields)
    usages: dict[int, dict[int, int]] = collections.defaultdict(dict)
    for provider_id, class_id, used in reads.usages(connection, ids):
        usages[provider_id][class_id] = int(used)
    return ChangedProviders(
        rows,
        stocks,
        usages,
        _keys_by_provider(reads.provider_traits(connection, ids)),
        _keys_by_provider(reads.memberships(connection, ids)),
    )


def _keys_by_provider(pairs: Iterable[tuple[int, int]]) -> dict[int, Ids]:
    keys: dict[int, list[int]] = collections.defaultdict(list)
    for provider_id, key in pairs:
        keys[provider_id].append(key)
    return {provider_id: tuple(sorted(found)) for provider_id, found in keys.items()}


def with_providers(
    old: Snapshot,
    now: ChangedProviders,
    ids: Sequence[int],
    uuids_of: Callable[[Collection[int]], Mapping[int, str]],
) -> Snapshot:
    """Return the snapshot with all that changed of some providers: new, changed, deleted ones.

    :param ids: these providers, ascending
    :param uuids_of: returns the uuids of new aggregates by id
    """
    register = old.register
    new = [(key, now.rows[key][1]) for key in sorted(now.rows) if key not in register.slot_of_id]
    deleted = [key for key in ids if key in register.slot_of_id and key not in now.rows]
    if new or deleted:
        register = register.changed(new, deleted)
    # a deleted provider keeps its slot, without anything in it
    slots = {key: register.slot_of_id[key] for key in ids if key in register.slot_of_id}
    slots |= {key: old.register.slot_of_id[key] for key in deleted}
    size = len(register.ids)
    forest = _changed_forest(old.forest, now, register.slot_of_id, slots, size)
    new_aggregates = {
        key for keys in now.aggregates.values() for key in keys if key not in old.in_aggregate
    }
    aggregate_ids = old.aggregate_ids
    if new_aggregates:
        uuids = uuids_of(new_aggregates)
        aggregate_ids = dict(aggregate_ids) | {uuid: key for key, uuid in uuids.items()}
    traits_of, with_trait = _changed_sets(old.traits_of, old.with_trait, now.traits, slots, size)
    aggregates_of, in_aggregate = _changed_sets(
        old.aggregates_of, old.in_aggregate, now.aggregates, slots, size
    )
    columns, classes_of, stray = _changed_columns(old, now, slots, size)
    generations: dict[int, int] = {slots[key]: row[4] for key, row in now.rows.items()}
    return dataclasses.replace(
        old,
        register=register,
        forest=forest,
        aggregate_ids=aggregate_ids,
        generations=_with_generations(old.generations, generations, size),
        columns=columns,
        traits_of=traits_of,
        aggregates_of=aggregates_of,
        classes_of=classes_of,
        with_trait=with_trait,
        in_aggregate=in_aggregate,
        stray_usage=_with_stray(old, slots.values(), stray),
        **_without_texts(old, _with_roots(old.forest, forest, slots.values()), size),
    )


def _with_roots(old: Forest, new: Forest, slots: Iterable[int]) -> set[int]:
    """Return slots, and if trees changed, their roots before and after.

    A provider that moved changes what both trees say.
    """
    changed = set(slots)
    if new is old:
        return changed
    roots = {int(new.root[slot]) for slot in changed}
    roots |= {int(old.root[slot]) for slot in changed if slot < old.size}
    return changed | roots


def _changed_forest(
    forest: Forest,
    now: ChangedProviders,
    slot_of: Mapping[int, int],
    slots: Mapping[int, int],
    size: int,
) -> Forest:
    """Return the forest with the parents and roots that changed; the same if none did.

    :param slot_of: slots of all providers that exist
    :param slots: those of the providers that changed; deleted providers included
    """
    changes: dict[int, tuple[int, int] | None] = {}
    for provider_id, slot in slots.items():
        row = now.rows.get(provider_id)
        after = None
        if row is not None:
            parent = -1 if row[2] is None else slot_of.get(row[2], -1)
            after = (parent, slot_of.get(row[3], slot))
        is_known = slot < forest.size
        before = (int(forest.parent[slot]), int(forest.root[slot])) if is_known else None
        if before is None or after != before:
            changes[slot] = after
    return forest.changed(changes, size) if changes else forest


def _changed_sets(
    of_slot: KeySets,
    having: Mapping[int, SlotSet],
    now: Mapping[int, Ids],
    slots: Mapping[int, int],
    size: int,
) -> tuple[KeySets, Mapping[int, SlotSet]]:
    """Return which keys each provider has, and which providers have each key, with changes.

    Keys are ids of traits or of aggregates. For example, `of_slot` is `traits_of`, and `having` is
    `with_trait`.

    :param now: the keys that changed providers have now, by provider id
    """
    added: dict[int, list[int]] = collections.defaultdict(list)
    removed: dict[int, list[int]] = collections.defaultdict(list)
    changes: dict[int, Ids] = {}
    for provider_id, slot in slots.items():
        before = of_slot[slot] if slot < of_slot.size else ()
        after = now.get(provider_id, ())
        if before != after:
            changes[slot] = after
            for key in set(after) - set(before):
                added[key].append(slot)
            for key in set(before) - set(after):
                removed[key].append(slot)
    if not changes and size == of_slot.size:
        return of_slot, having
    sets = dict(having)
    for key in added.keys() | removed.keys():
        known = sets.pop(key, None) or SlotSet(np.zeros(0, np.int32), size)
        changed = known.changed(added[key], removed[key], size)
        # traits come and go: what nobody has any more must not be kept for ever
        if changed.count:
            sets[key] = changed
    return of_slot.changed(changes, size), sets


def _changed_columns(
    old: Snapshot, now: ChangedProviders, slots: Mapping[int, int], size: int
) -> tuple[Mapping[int, Column], KeySets, dict[tuple[int, int], int]]:
    """Return the inventories by class, the classes by slot, and the usage without inventory.

    The last is that of the changed providers alone, by slot and class.
    """
    changes: dict[int, dict[int, Record | None]] = collections.defaultdict(dict)
    classes: dict[int, Ids] = {}
    stray: dict[tuple[int, int], int] = {}
    for provider_id, slot in slots.items():
        stocks = now.stocks.get(provider_id, {})
        usages = dict(now.usages.get(provider_id, {}))
        before = old.classes_of[slot] if slot < old.size else ()
        for class_id in {*before, *stocks}:
            fields = stocks.get(class_id)
            used = 0 if fields is None else usages.pop(class_id, 0)
            changes[class_id][slot] = None if fields is None else (*fields, used)
        classes[slot] = tuple(sorted(stocks))
        stray |= {(slot, class_id): used for class_id, used in usages.items()}
    columns = dict(old.columns)
    for class_id, records in changes.items():
        column = (columns.pop(class_id, None) or empty_column()).changed(records)
        if len(column.slots):
            columns[class_id] = column
    return columns, old.classes_of.changed(classes, size), stray
