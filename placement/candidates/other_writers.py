"""Writers that don't append to the change feed: OpenStack Placement beside us.

While they may write, each search first looks at the providers' generations (architecture.rst D4).
"""

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from placement.candidates.snapshot import UNKNOWN, Names, Snapshot
from placement.storage.change_feed import NO_PROVIDER, Kind
from placement.storage.engine import Connection
from placement.storage.generation_look import (
    ALL_KINDS,
    GROUP_BITS,
    Look,
    Place,
    Sums,
    groups,
    places,
)

#: values of [berth]beside_reference
AUTO: Final = "auto"
ALWAYS: Final = "always"
NEVER: Final = "never"
#: seconds for which searches look at the generations after a write by others
WATCHED = 3600.0


class OtherWriters:
    """Whether others may write to the database now.

    :param beside: AUTO: they may for an hour after a write of theirs was seen; ALWAYS; NEVER
    :param clock: seconds that never go back
    """

    def __init__(self, beside: str = AUTO, clock: Callable[[], float] = time.monotonic) -> None:
        self._beside = beside
        self._clock = clock
        self._seen = -math.inf
        #: whether a write was noticed since other workers were told of one
        self.is_untold = False

    @property
    def may_write(self) -> bool:
        """Say whether a search has to look at the generations."""
        if self._beside == AUTO:
            return self._clock() - self._seen < WATCHED
        return self._beside == ALWAYS

    @property
    def is_automatic(self) -> bool:
        """Say whether what is seen of others decides if they may write."""
        return self._beside == AUTO

    @property
    def are_considered(self) -> bool:
        """Say whether there may be others at all."""
        return self._beside != NEVER

    def seen(self) -> bool:
        """Note a write by others; return whether that makes searches look from now on."""
        self.is_untold = self.is_automatic
        return self.heard()

    def heard(self) -> bool:
        """Note that others may write, as another worker or a hint says; return as `seen`."""
        news = self.is_automatic and not self.may_write
        self._seen = self._clock()
        return news


@dataclasses.dataclass(frozen=True)
class Noticed:
    """What a look shows and the snapshot doesn't have, as the change feed would name it.

    :param theirs: what others wrote
    :param unsure: providers of which the snapshot doesn't know the generation
    """

    theirs: Mapping[int, Kind]
    unsure: Mapping[int, Kind]


def notice(connection: Connection, snapshot: Snapshot, seen: Look) -> Noticed:
    """Compare a look in this transaction with the snapshot.

    The snapshot has all changes that the feed names in this transaction. So what is left was
    written by others.
    """
    table = _table(snapshot)
    known = _look_of(snapshot.names, table)
    theirs: dict[int, Kind] = {}
    unsure: dict[int, Kind] = {}
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
        theirs[NO_PROVIDER] = Kind.NAMES
    return Noticed(theirs, unsure)


def _differing(
    connection: Connection, table: npt.NDArray[np.int64]
) -> tuple[dict[int, Place], dict[int, Place]]:
    """Return the providers of groups that differ by id: as they are, and as in the snapshot."""
    theirs, ours = groups(connection), _groups_of(table)
    numbers = [
        number for number in theirs.keys() | ours.keys() if theirs.get(number) != ours.get(number)
    ]
    return places(connection, numbers), _places_of(table, numbers)


def _look_of(names: Names, table: npt.NDArray[np.int64]) -> Look:
    """Return what a look would show if the tables were as the snapshot is."""
    return Look(
        _sums(table),
        (len(names.traits), sum(names.traits)),
        (len(names.classes), sum(names.classes)),
    )


def _table(snapshot: Snapshot) -> npt.NDArray[np.int64]:
    """Return a row (id, generation, parent id or 0, root id) for each provider."""
    forest = snapshot.forest
    alive = np.flatnonzero(forest.alive)
    ids = np.array(snapshot.register.ids, np.int64)
    parents = forest.parent[alive]
    return np.column_stack(
        [
            ids[alive],
            snapshot.generations[alive],
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


def _places_of(table: npt.NDArray[np.int64], numbers: list[int]) -> dict[int, Place]:
    some = table[np.isin(table[:, 0] >> GROUP_BITS, numbers)].tolist()
    return {key: Place(generation, parent or None, root) for key, generation, parent, root in some}
