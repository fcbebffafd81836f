"""Answers to searches, given again for as long as nothing changes that they depend on.

A scheduler repeats the queries of a few flavors, while claims change the usage of other trees.

A search that ends in a subset of trees depends on the usage of these trees, and on names, forest,
inventories, traits and aggregates. The answers are kept in the snapshot's memo, which a change of
anything but usage empties. So an answer is right if the usage of a few hundred providers is as it
was.
"""

import dataclasses
import weakref
from collections.abc import Hashable

import numpy as np

from placement.candidates.cloud.columns import Numbers, Slots
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.search import FoundCandidates
from placement.candidates.slots import SearchedSlots

#: how many answers are kept, and the largest ones: bytes of text, providers whose usage is compared
_MOST, _LONGEST, _WIDEST = 64, 65_536, 4_096


@dataclasses.dataclass(eq=False, slots=True)
class _Known:
    """An answer.

    :param usage: by class id, places in its column, and the usage of these inventories
    :param last: the snapshot for which the answer was found, or found right, at last
    """

    count: int
    pieces: list[bytes]
    usage: list[tuple[int, Numbers, Numbers]]
    last: "weakref.ref[Snapshot]"

    def is_right(self, snapshot: Snapshot) -> bool:
        """Say whether a search of the snapshot, which has the same memo, would give the answer."""
        if self.last() is snapshot:
            return True
        columns = snapshot.columns
        for class_id, places, used in self.usage:
            if not np.array_equal(columns[class_id].usage.take(places), used):
                return False
        self.last = weakref.ref(snapshot)
        return True


def known(snapshot: Snapshot, question: Hashable) -> tuple[int, list[bytes]] | None:
    """Return the number of candidates and the body, in pieces, if they are known."""
    found = _answers(snapshot).get(question)
    return (found.count, found.pieces) if found and found.is_right(snapshot) else None


def keep(question: Hashable, found: FoundCandidates, pieces: list[bytes]) -> None:
    """Keep an answer, if that can be.

    :param question: all that the answer depends on beside the cloud
    """
    slots = _trees(found)
    if slots is None or sum(map(len, pieces)) > _LONGEST:
        return
    answers = _answers(found.snapshot)
    if len(answers) >= _MOST:
        answers.clear()
    usage = []
    for class_id, column in found.snapshot.columns.items():
        there, at = column.find(slots)
        if there.any():
            usage.append((class_id, at[there], column.usage.take(at[there])))
    answers[question] = _Known(len(found), pieces, usage, weakref.ref(found.snapshot))


def _answers(snapshot: Snapshot) -> dict[Hashable, _Known]:
    answers: dict[Hashable, _Known] = snapshot.remembered("answers", dict)
    return answers


def _trees(found: FoundCandidates) -> Slots | None:
    """Return the providers on whose usage the candidates depend; None: they are too many."""
    trees = found.trees
    if trees is None or trees.by_usage or trees.cloud.size > _WIDEST:
        return None
    if not len(found) or not found.finished:
        return None
    return trees.in_whole(SearchedSlots(np.arange(trees.cloud.size, dtype=np.int32)))
