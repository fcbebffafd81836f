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

from placement.candidates.snapshot import UNKNOWN, Snapshot
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
    known = look_of(snapshot)
    theirs: dict[int, Kind] = {}
    unsure: dict[int, Kind] = {}
    if seen.providers != known.providers:
        there, here = _differing(connection, snapshot)
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
    connection: Connection, snapshot: Snapshot
) -> tuple[dict[int, Place], dict[int, Place]]:
    """Return the providers of groups that differ by id: as they are, and as in the snapshot."""
    theirs, ours = groups(connection), _groups_of(snapshot)
    numbers = [
        number for number in theirs.keys() | ours.keys() if theirs.get(number) != ours.get(number)
    ]
    return places(connection, numbers), _places_of(snapshot, numbers)


def look_of(snapshot: Snapshot) -> Look:
    """Return what a look would show if the tables were as the snapshot is."""
    names = snapshot.names
    return Look(
        _sums(_table(snapshot)),
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


def _groups_of(snapshot: Snapshot) -> Mapping[int, Sums]:
    table = _table(snapshot)
    numbers = table[:, 0] >> GROUP_BITS
    return {int(number): _sums(table[numbers == number]) for number in np.unique(numbers)}


def _places_of(snapshot: Snapshot, numbers: list[int]) -> dict[int, Place]:
    table = _table(snapshot)
    some = table[np.isin(table[:, 0] >> GROUP_BITS, numbers)].tolist()
    return {key: Place(generation, parent or None, root) for key, generation, parent, root in some}
