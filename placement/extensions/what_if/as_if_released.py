"""The cloud as if what some consumers hold were free: for a resize, a move, an evacuation."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from placement.candidates.cloud.snapshot import Snapshot
from placement.storage import holdings
from placement.storage.database.engine import Connection, Database
from placement.storage.holdings import HeldRow

Found = TypeVar("Found")

#: how often snapshot and allocations are read until nobody wrote between the two
_READS = 3


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


def held_by(
    database: Database, current: Callable[[], Snapshot], consumers: Collection[str]
) -> tuple[Snapshot, list[HeldRow]]:
    """Return the cloud, and what the consumers hold in it at the same moment.

    If others write all the time, the allocations may be a moment newer than the cloud.
    """
    names = list(consumers)
    return at_one_moment(
        database, current, lambda connection, _: list(holdings.of_consumers(connection, names))
    )


def held_in_trees(
    database: Database,
    current: Callable[[], Snapshot],
    roots: Sequence[str],
    check: Callable[[Snapshot, Sequence[str]], None],
) -> tuple[Snapshot, list[HeldRow]]:
    """Return the cloud, and what those consumers hold in all that hold anything in some trees.

    Both are of the same moment, as in `held_by`.

    :param roots: uuids of the roots of the trees
    :param check: raises an error if these aren't roots in the cloud
    """

    def read(connection: Connection, snapshot: Snapshot) -> list[HeldRow]:
        check(snapshot, roots)
        ids = snapshot.register.ids[snapshot.roots(roots)].tolist()
        return list(holdings.of_trees(connection, ids))

    return at_one_moment(database, current, read)


def at_one_moment(
    database: Database,
    current: Callable[[], Snapshot],
    read: Callable[[Connection, Snapshot], Found],
) -> tuple[Snapshot, Found]:
    """Return the cloud, and what `read` finds in the database at the same moment.

    If others write all the time, what it finds may be a moment newer than the cloud.
    """
    snapshot = current()
    for _ in range(_READS):
        seen = snapshot
        found = database.read(lambda connection: read(connection, seen))  # noqa: B023
        after = current()
        if after.cursor == snapshot.cursor:
            break
        snapshot = after
    return snapshot, found
