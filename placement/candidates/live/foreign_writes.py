"""What others wrote beside the change feed, as the providers' generations show it.

See `placement.storage.feed.generation_look` for what generations can show.
"""

import dataclasses
import logging
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from sqlalchemy.exc import DBAPIError

from placement.candidates.cloud.snapshot import UNKNOWN, Names, Snapshot
from placement.candidates.live.apply_changes import advance, with_news
from placement.candidates.live.foreign_writers import OtherWriters
from placement.errors import PlacementError
from placement.storage.database.engine import Connection, Database
from placement.storage.feed import change_feed, generation_look
from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind, Cursor
from placement.storage.feed.generation_look import (
    ALL_KINDS,
    GROUP_BITS,
    GenerationSums,
    ProviderGeneration,
    Sums,
)

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Noticed:
    """How a look differs from a snapshot, as the change feed would name it.

    :param theirs: what others wrote
    :param unsure: providers of which the snapshot doesn't know the generation
    """

    theirs: Mapping[int, ChangeKind]
    unsure: Mapping[int, ChangeKind]


def noticed(connection: Connection, snapshot: Snapshot, look: GenerationSums) -> Noticed:
    """Compare a look in this transaction with a snapshot that has all news of the change feed.

    So what differs was written by others.
    """
    table = _table(snapshot)
    known = _look_at(snapshot.names, table)
    theirs: dict[int, ChangeKind] = {}
    unsure: dict[int, ChangeKind] = {}
    if look.providers != known.providers:
        in_database, in_snapshot = _in_differing_groups(connection, table)
        for key in in_database.keys() | in_snapshot.keys():
            ours, now = in_snapshot.get(key), in_database.get(key)
            if ours == now:
                continue
            if ours and now and ours == dataclasses.replace(now, generation=UNKNOWN):
                unsure[key] = ALL_KINDS
            else:
                theirs[key] = ALL_KINDS
    # names may be exchanged where their number and ids stay: they are read again with providers
    if theirs or (look.traits, look.classes) != (known.traits, known.classes):
        theirs[NO_PROVIDER] = ChangeKind.NAMES
    return Noticed(theirs, unsure)


def with_theirs(
    connection: Connection, snapshot: Snapshot, look: GenerationSums, others: OtherWriters
) -> Snapshot:
    """Return a snapshot that has all news of the change feed with what a look shows."""
    found = noticed(connection, snapshot, look)
    if found.theirs:
        others.seen()
    return advance(connection, snapshot, {**found.theirs, **found.unsure})


def have_others_written(connection: Connection, snapshot: Snapshot, cursor: Cursor) -> bool:
    """Say whether others wrote what neither a snapshot has nor the change feed names after it."""
    news = change_feed.read(connection, cursor)
    if news is None:
        return False
    snapshot = with_news(connection, snapshot, news, others_may_write=False)
    return bool(noticed(connection, snapshot, generation_look.read(connection)).theirs)


def tell_workers(database: Database, others: OtherWriters) -> None:
    """Tell the other workers of what this one noticed. They find out later if that fails."""
    if not others.is_untold:
        return
    try:
        database.write(change_feed.record_others)
        others.is_untold = False
    except (PlacementError, DBAPIError) as error:
        LOG.debug("Can't tell other workers of another service: %s", error)


def _in_differing_groups(
    connection: Connection, table: npt.NDArray[np.int64]
) -> tuple[dict[int, ProviderGeneration], dict[int, ProviderGeneration]]:
    """Return, by id, the providers of those groups whose sums differ.

    First as they are in the database, then as they are in the snapshot.
    """
    theirs, ours = generation_look.groups(connection), _groups_of(table)
    numbers = [
        number for number in theirs.keys() | ours.keys() if theirs.get(number) != ours.get(number)
    ]
    return generation_look.places(connection, numbers), _places_of(table, numbers)


def _look_at(names: Names, table: npt.NDArray[np.int64]) -> GenerationSums:
    """Return what a look would show if the tables were as the snapshot is."""
    return GenerationSums(
        _sums(table),
        (len(names.traits), sum(names.traits)),
        (len(names.classes), sum(names.classes)),
    )


def _table(snapshot: Snapshot) -> npt.NDArray[np.int64]:
    """Return a row (id, generation, parent id or 0, root id) for each provider."""
    forest = snapshot.forest
    alive = np.flatnonzero(forest.alive)
    ids = snapshot.register.ids
    parents = forest.parent[alive]
    return np.column_stack(
        [
            ids[alive],
            snapshot.generations.whole()[alive],
            np.where(parents < 0, 0, ids[parents]),
            ids[forest.root[alive]],
        ]
    )


def _sums(table: npt.NDArray[np.int64]) -> Sums:
    return (len(table), *(int(total) for total in table.sum(axis=0)))


def _groups_of(table: npt.NDArray[np.int64]) -> Mapping[int, Sums]:
    """Return the sums of each group of providers, by the group's number.

    Providers whose ids differ only in the last GROUP_BITS bits form a group: of the ids 255, 256
    and 511, the first is in group 0 and the others are in group 1.
    """
    numbers, group = np.unique(table[:, 0] >> GROUP_BITS, return_inverse=True)
    sums = np.zeros((len(numbers), 1 + table.shape[1]), np.int64)
    np.add.at(sums[:, 0], group, 1)
    np.add.at(sums[:, 1:], group, table)
    return dict(zip(numbers.tolist(), map(tuple, sums.tolist()), strict=True))


def _places_of(table: npt.NDArray[np.int64], numbers: list[int]) -> dict[int, ProviderGeneration]:
    some = table[np.isin(table[:, 0] >> GROUP_BITS, numbers)].tolist()
    return {
        key: ProviderGeneration(generation, parent or None, root)
        for key, generation, parent, root in some
    }
