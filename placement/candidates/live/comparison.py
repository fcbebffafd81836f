"""A snapshot against the tables it was made of, row by row (architecture.rst D4).

Sums and digests can be equal by bad luck, or differ by rounding. So all rows are read, some
thousand at a time, and each is looked for in the snapshot. No two rows are of the same thing, so if
all are there and there are as many, the snapshot has nothing else. What no search can see –
inventories, traits and allocations of providers that aren't there – is not compared.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import sqlalchemy as sa

from placement.candidates.cloud.columns import Numbers, Slots, SlotSet
from placement.candidates.cloud.key_sets import KeySets
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.live import row_checks
from placement.candidates.live.loading import by_key
from placement.storage.database.engine import Connection
from placement.storage.whole_cloud import snapshot_reads as reads
from placement.storage.whole_cloud import whole_tables

_Rest = Callable[[], None]
#: slots, and columns that run parallel
_Rows = tuple[Slots, list[Numbers]]
_Differs = Callable[[Connection, Snapshot, _Rest], bool]


def differences(
    connection: Connection, snapshot: Snapshot, rest: _Rest = lambda: None
) -> list[str]:
    """Return which tables, as this transaction sees them, differ from the snapshot.

    :param rest: is called between parts of the work
    """
    return [name for name, differs in _CHECKS.items() if differs(connection, snapshot, rest)]


def _providers_differ(connection: Connection, snapshot: Snapshot, rest: _Rest) -> bool:
    count = 0
    for columns in whole_tables.providers(connection, whole_tables.FEW):
        if row_checks.providers_differ(snapshot, columns):
            return True
        count += len(columns[0])
        rest()
    return count != int(snapshot.forest.alive.sum())


def _stocks_differ(connection: Connection, snapshot: Snapshot, rest: _Rest) -> bool:
    count = 0
    for slots, columns in _known_rows(connection, snapshot, reads.STOCKS, rest):
        if row_checks.stocks_differ(snapshot, slots, columns):
            return True
        count += len(slots)
    return count != sum(map(len, snapshot.columns.values()))


def _usages_differ(connection: Connection, snapshot: Snapshot, rest: _Rest) -> bool:
    count = 0
    for slots, (classes, used) in _known_rows(connection, snapshot, reads.USAGES, rest):
        if row_checks.usages_differ(snapshot, slots, (classes, used)):
            return True
        # whose usage is nothing may have no row
        count += int(np.count_nonzero(used))
    ours = sum(int(np.count_nonzero(column.used)) for column in snapshot.columns.values())
    return count != ours + sum(used != 0 for used in snapshot.stray_usage.values())


def _classes_differ(connection: Connection, snapshot: Snapshot, rest: _Rest) -> bool:
    having = {class_id: column.slots for class_id, column in snapshot.columns.items()}
    return _is_torn(snapshot, having, snapshot.classes_of)


def _traits_differ(connection: Connection, snapshot: Snapshot, rest: _Rest) -> bool:
    rows = _known_rows(connection, snapshot, reads.PROVIDER_TRAITS, rest)
    sets = snapshot.with_trait, snapshot.traits_of
    return _sets_differ(snapshot, rows, row_checks.traits_differ, *sets)


def _memberships_differ(connection: Connection, snapshot: Snapshot, rest: _Rest) -> bool:
    rows = _known_rows(connection, snapshot, reads.MEMBERSHIPS, rest)
    sets = snapshot.in_aggregate, snapshot.aggregates_of
    return _sets_differ(snapshot, rows, row_checks.memberships_differ, *sets)


def aggregates_differ(
    connection: Connection, snapshot: Snapshot, rest: _Rest = lambda: None
) -> bool:
    """Say whether an aggregate with members has another uuid. The others are in no answer."""
    theirs = reads.aggregate_uuids(connection)
    ours = {key: uuid for uuid, key in snapshot.aggregate_ids.items()}
    used = (key for key, members in snapshot.in_aggregate.items() if members.count)
    return any(ours.get(key) != theirs.get(key) for key in used)


def names_differ(connection: Connection, snapshot: Snapshot, rest: _Rest = lambda: None) -> bool:
    """Say whether a class or a trait has another name, or is missing, or new."""
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
    "aggregates": aggregates_differ,
    "names": names_differ,
}


def _known_rows(
    connection: Connection, snapshot: Snapshot, question: Sequence[sa.Select], rest: _Rest
) -> Iterator[_Rows]:
    """Yield the columns of a question some thousand rows at a time: slots in place of ids.

    The columns are numbers. Rows of providers that aren't there are left out.
    """
    register = snapshot.register
    few, known_ids = whole_tables.FEW, register.known_ids
    for ids, *columns in whole_tables.of_providers(connection, question, known_ids, few):
        slots = register.slot_of_id.slots(ids)
        known = slots >= 0
        yield slots[known], [column[known] for column in columns]
        rest()


def _sets_differ(
    snapshot: Snapshot,
    rows: Iterable[_Rows],
    differ: Callable[[Snapshot, Slots, Sequence[Numbers]], bool],
    having: Mapping[int, SlotSet],
    of_slot: KeySets,
) -> bool:
    count = 0
    for slots, columns in rows:
        if differ(snapshot, slots, columns):
            return True
        count += len(slots)
    if count != sum(members.count for members in having.values()):
        return True
    return _is_torn(snapshot, {key: members.slots() for key, members in having.items()}, of_slot)


def _is_torn(snapshot: Snapshot, having: Mapping[int, Slots], of_slot: KeySets) -> bool:
    """Say whether the providers of each key are others than those whose sets have it."""
    alive = np.flatnonzero(snapshot.forest.alive).astype(np.int32)
    slots, keys = of_slot.keys_of(alive)
    found = {key: slots[at] for key, at in by_key(keys).items()}
    ours = {key: members for key, members in having.items() if len(members)}
    return found.keys() != ours.keys() or any(
        not np.array_equal(found[key], members) for key, members in ours.items()
    )
