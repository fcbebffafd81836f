"""What a look at the generations shows of others' writes, beside a snapshot."""

import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from placement.candidates.cloud.snapshot import UNKNOWN, Names, Snapshot
from placement.storage.database.engine import Connection
from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind
from placement.storage.feed.generation_look import (
    ALL_KINDS,
    GROUP_BITS,
    GenerationSums,
    ProviderGeneration,
    Sums,
    groups,
    places,
)


@dataclasses.dataclass(frozen=True)
class Noticed:
    """What a look shows and the snapshot doesn't have, as the change feed would name it.

    :param theirs: what others wrote
    :param unsure: providers of which the snapshot doesn't know the generation
    """

    theirs: Mapping[int, ChangeKind]
    unsure: Mapping[int, ChangeKind]


def notice(connection: Connection, snapshot: Snapshot, seen: GenerationSums) -> Noticed:
    """Compare a look in this transaction with the snapshot.

    The snapshot has all changes that the feed names in this transaction. So what is left was
    written by others.
    """
    table = _table(snapshot)
    known = _look_of(snapshot.names, table)
    theirs: dict[int, ChangeKind] = {}
    unsure: dict[int, ChangeKind] = {}
    if seen.providers != known.providers:
        there, here = _differing(connection, table)
        for key in there.keys() | here.keys():
            ours, now = here.get(key), there.get(key)
            if ours == now:
                continue
            if ours and now and ours == dataclasses.replace(now, generation=UNKNOWN):
                unsure[key] = ALL_KINDS
            else:
                theirs[key] = ALL_KINDS
    # names may be exchanged where their number and ids stay: they are read again with providers
    if theirs or (seen.traits, seen.classes) != (known.traits, known.classes):
        theirs[NO_PROVIDER] = ChangeKind.NAMES
    return Noticed(theirs, unsure)


def _differing(
    connection: Connection, table: npt.NDArray[np.int64]
) -> tuple[dict[int, ProviderGeneration], dict[int, ProviderGeneration]]:
    """Return the providers of groups that differ by id: as they are, and as in the snapshot."""
    theirs, ours = groups(connection), _groups_of(table)
    numbers = [
        number for number in theirs.keys() | ours.keys() if theirs.get(number) != ours.get(number)
    ]
    return places(connection, numbers), _places_of(table, numbers)


def _look_of(names: Names, table: npt.NDArray[np.int64]) -> GenerationSums:
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
