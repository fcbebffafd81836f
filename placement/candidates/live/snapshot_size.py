"""About how much memory a snapshot takes."""

from typing import Protocol

from placement.candidates.cloud.snapshot import Snapshot

#: bytes by provider of the indexes by id and uuid
_INDEXED = 8 + 4 + 4 + 4


class Sized(Protocol):
    """What knows its size."""

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""


def size_of(snapshot: Snapshot) -> int:
    """Return about how many bytes a snapshot takes: its arrays, without prepared texts."""
    forest, register = snapshot.forest, snapshot.register
    parts: list[Sized] = [forest.parent, forest.root, forest.alive, forest.order, forest.start]
    parts += [forest.count, forest.place, register.ids, register.uuids.rows]
    parts += [snapshot.generations, snapshot.traits_of, snapshot.aggregates_of]
    parts += [snapshot.classes_of, *snapshot.columns.values()]
    total = sum(part.nbytes for part in parts)
    return total + snapshot.size * _INDEXED
