"""A snapshot against the tables that it was loaded from, row by row (architecture.rst D4).

All rows are read, some thousand at a time, and each one is looked up in the snapshot. No two rows
are of the same thing. So if each row is in the snapshot, and there are as many rows as the snapshot
has entries, then the snapshot has nothing that the tables lack. Sums or digests of the tables would
take less, but can be equal by chance, and sums of ratios differ by rounding.

Rows that no search can see are left out: inventories, traits, aggregates and allocations of
providers that don't exist.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from placement.candidates.cloud.columns import Numbers, Slots
from placement.candidates.cloud.key_sets import KeySets, SlotSet
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.live.apply_changes import advance, with_news
from placement.candidates.live.foreign_writers import OtherWriters
from placement.candidates.live.foreign_writes import noticed
from placement.candidates.live.loading import by_key
from placement.storage.database.engine import Connection
from placement.storage.feed import change_feed, generation_look
from placement.storage.feed.change_feed import ChangeKind, Cursor
from placement.storage.whole_cloud import snapshot_reads as reads
from placement.storage.whole_cloud import whole_tables

#: lets other threads run
_Rest = Callable[[], None]
_Differs = Callable[[Connection, Snapshot, _Rest], bool]


@dataclasses.dataclass(frozen=True, eq=False)
class Audit:
    """What came of an audit.

    :param different: the tables that differ from the snapshot
    :param others: whether the generations show writes of others. These are no differences: the next
        search looks at the generations, too
    """

    different: list[str]
    others: bool


def audit_of(
    connection: Connection,
    snapshot: Snapshot,
    cursor: Cursor,
    others: OtherWriters,
    rest: _Rest | None = None,
) -> Audit:
    """Compare a copy of what searches have, with the news that this transaction sees.

    :param snapshot: what searches have, up to `cursor` in the change feed
    :param rest: lets other threads run between parts of the work; None: a search waits
    """
    news = change_feed.read(connection, cursor)
    if news is None:
        # the next search finds that out as well, and loads everything
        return Audit([], False)
    snapshot = with_news(connection, snapshot, news, others.may_write)
    theirs: Mapping[int, ChangeKind] = {}
    if others.are_considered:
        theirs = noticed(connection, snapshot, generation_look.read(connection)).theirs
        snapshot = advance(connection, snapshot, theirs)
    return Audit(differences(connection, snapshot, rest or (lambda: None)), bool(theirs))


def differences(
    connection: Connection, snapshot: Snapshot, rest: _Rest = lambda: None
) -> list[str]:
    """Return which tables, as this transaction sees them, differ from the snapshot.

    :param rest: is called between parts of the work
    """
    return [name for name, differs in _CHECKS.items() if differs(connection, snapshot, rest)]


def _providers_differ(connection: Connection, snapshot: Snapshot, rest: _Rest) -> bool:
    register, forest = snapshot.register, snapshot.forest
    slots_of, count = register.slot_of_id.slots, 0
    for ids, uuids, parent_ids, root_ids, _ in whole_tables.providers(connection, whole_tables.FEW):
        slots = slots_of(ids)
        if np.any(slots < 0) or not np.all(forest.alive[slots]):
            return True
        # a load takes a provider whose root doesn't exist for a root, too
        roots = slots_of(root_ids)
        roots = np.where(roots < 0, slots, roots)
        if (
            not register.uuids.are_at(slots, uuids)
            or np.any(forest.parent[slots] != slots_of(parent_ids))
            or np.any(forest.root[slots] != roots)
        ):
            return True
        count += len(ids)
        rest()
    return count != int(forest.alive.sum())


def _inventories_differ(connection: Connection, snapshot: Snapshot, rest: _Rest) -> bool:
    count = 0
    for slots, (classes, *fields) in _rows(connection, snapshot, reads.STOCKS, rest):
        for class_id, at in by_key(classes).items():
            column = snapshot.column(class_id)
            exists, places = column.find(slots[at])
            if not exists.all():
                return True
            kinds = column.kinds[places]
            for ours, theirs in zip(column.stocks.fields, fields, strict=True):
                if np.any(ours[kinds] != theirs[at]):
                    return True
        count += len(slots)
    return count != sum(map(len, snapshot.columns.values()))


def _usages_differ(connection: Connection, snapshot: Snapshot, rest: _Rest) -> bool:
    strays, count = snapshot.stray_usage, 0
    for slots, (classes, used) in _rows(connection, snapshot, reads.USAGES, rest):
        for class_id, at in by_key(classes).items():
            column, amounts = snapshot.column(class_id), used[at]
            exists, places = column.find(slots[at])
            if np.any(column.usage.take(places[exists]) != amounts[exists]):
                return True
            without_inventory = zip(
                slots[at][~exists].tolist(), amounts[~exists].tolist(), strict=True
            )
            if any(strays.get((slot, class_id), 0) != amount for slot, amount in without_inventory):
                return True
        # the snapshot also has usages of 0, of inventories without an allocation
        count += int(np.count_nonzero(used))
    ours = sum(int(np.count_nonzero(column.used)) for column in snapshot.columns.values())
    return count != ours + sum(used != 0 for used in strays.values())


def _traits_differ(connection: Connection, snapshot: Snapshot, rest: _Rest) -> bool:
    pairs = _rows(connection, snapshot, reads.PROVIDER_TRAITS, rest)
    return _pairs_differ(snapshot, pairs, snapshot.with_trait, snapshot.traits_of)


def _memberships_differ(connection: Connection, snapshot: Snapshot, rest: _Rest) -> bool:
    pairs = _rows(connection, snapshot, reads.MEMBERSHIPS, rest)
    return _pairs_differ(snapshot, pairs, snapshot.in_aggregate, snapshot.aggregates_of)


def _pairs_differ(
    snapshot: Snapshot,
    pairs: Iterator[tuple[Slots, list[Numbers]]],
    providers_with: Mapping[int, SlotSet],
    keys_of: KeySets,
) -> bool:
    """Say whether pairs of a provider and a key, a trait for example, differ from the snapshot.

    The snapshot has them by key (`providers_with`) and by provider (`keys_of`).
    """
    count = 0
    for slots, (keys,) in pairs:
        for key, at in by_key(keys).items():
            if key not in providers_with or not providers_with[key].holds(slots[at]).all():
                return True
        count += len(slots)
    if count != sum(providers.count for providers in providers_with.values()):
        return True
    slots_with = {key: providers.slots() for key, providers in providers_with.items()}
    return _contradict(snapshot, slots_with, keys_of)


def _classes_differ(connection: Connection, snapshot: Snapshot, rest: _Rest) -> bool:
    """Say whether the classes of a provider aren't those of its inventories."""
    slots_with = {class_id: column.slots for class_id, column in snapshot.columns.items()}
    return _contradict(snapshot, slots_with, snapshot.classes_of)


def _contradict(snapshot: Snapshot, slots_with: Mapping[int, Slots], keys_of: KeySets) -> bool:
    """Say whether what the snapshot has by key isn't what it has by provider."""
    alive = np.flatnonzero(snapshot.forest.alive).astype(np.int32)
    slots, keys = keys_of.keys_of(alive)
    by_provider = {key: slots[at] for key, at in by_key(keys).items()}
    used = {key: slots for key, slots in slots_with.items() if len(slots)}
    return by_provider.keys() != used.keys() or any(
        not np.array_equal(by_provider[key], slots) for key, slots in used.items()
    )


def _aggregates_differ(connection: Connection, snapshot: Snapshot, rest: _Rest) -> bool:
    """Say whether an aggregate with members has another uuid. The others are in no answer."""
    theirs = reads.aggregate_uuids(connection)
    ours = {key: uuid for uuid, key in snapshot.aggregate_ids.items()}
    used = (key for key, members in snapshot.in_aggregate.items() if members.count)
    return any(ours.get(key) != theirs.get(key) for key in used)


def _names_differ(connection: Connection, snapshot: Snapshot, rest: _Rest) -> bool:
    """Say whether a class or a trait was added, deleted or renamed."""
    names = snapshot.names
    return (
        reads.class_names(connection) != names.classes
        or reads.trait_names(connection) != names.traits
    )


#: what is compared, under the names that the log gives of what differs
_CHECKS: Mapping[str, _Differs] = {
    "providers": _providers_differ,
    "inventories": _inventories_differ,
    "classes": _classes_differ,
    "usage": _usages_differ,
    "traits": _traits_differ,
    "memberships": _memberships_differ,
    "aggregates": _aggregates_differ,
    "names": _names_differ,
}


def _rows(
    connection: Connection, snapshot: Snapshot, question: reads.Question, rest: _Rest
) -> Iterator[tuple[Slots, list[Numbers]]]:
    """Yield a question's rows, some thousand at a time: slots, and columns that run parallel.

    Rows of providers that don't exist are left out.
    """
    register = snapshot.register
    parts = whole_tables.of_providers(connection, question, register.known_ids, whole_tables.FEW)
    for ids, *columns in parts:
        slots = register.slot_of_id.slots(ids)
        exists = slots >= 0
        yield slots[exists], [column[exists] for column in columns]
        rest()
