"""Suspects: what is noted of them while they are counted, and what is said of one."""

import dataclasses
import datetime
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from placement.candidates.cloud.snapshot import Snapshot
from placement.extensions.suspects.rules import KINDS, SuspectMark
from placement.extensions.suspects.snapshot_suspects import SlotsAndClasses


@dataclasses.dataclass(frozen=True)
class Suspect:
    """What may be wrong, and what to look at.

    :param provider: uuid and name; None if it is about a consumer that holds nothing
    :param consumer: uuid
    :param first_seen: since when the tables say so, in UTC
    """

    kind: str
    provider: tuple[str, str] | None
    consumer: str | None
    resource_class: str | None
    detail: str
    first_seen: datetime.datetime


#: what was seen of each suspect, by mark; what a note has depends on the kind
Notes = Mapping[SuspectMark, Any]
Described = Iterator[tuple[SuspectMark, Suspect]]


class FoundSuspects:
    """How many suspects there are of a kind, and the first of them after a mark.

    :ivar notes: of the first `limit` suspects after the mark, in the order of their marks
    """

    def __init__(self, kind: str, after: SuspectMark | None, limit: int) -> None:
        self.rank = KINDS.index(kind)
        self.after = max(after or SuspectMark(0, 0), SuspectMark(self.rank, 0))
        self.limit = limit
        self.count = 0
        self.notes: dict[SuspectMark, Any] = {}

    def add(self, row_id: int, note: object) -> None:
        """Add one suspect. Its id is greater than that of the one before.

        :param row_id: database id of the provider or the consumer
        """
        self.count += 1
        mark = SuspectMark(self.rank, row_id)
        if len(self.notes) < self.limit and mark > self.after:
            self.notes[mark] = note

    def add_slots(self, snapshot: Snapshot, found: SlotsAndClasses) -> None:
        """Add suspects that a snapshot shows; the note of each is its slot."""
        slots, classes = found
        self.count += len(slots)
        ids = snapshot.register.ids[slots]
        later = (ids > self.after.id) | ((ids == self.after.id) & (classes > self.after.class_id))
        if self.after.rank > self.rank:
            later[:] = False
        slots, ids, classes = slots[later], ids[later], classes[later]
        for number in np.lexsort((classes, ids))[: self.limit].tolist():
            mark = SuspectMark(self.rank, int(ids[number]), int(classes[number]))
            self.notes[mark] = int(slots[number])
