"""Contested classes: those that several parts of a request ask for, maybe of one provider.

The search within a tree asks only which parts' amounts fit together. So it may take a provider's
room for the largest sum of amounts that fits: with 12 asked by each of three groups, 13 and 23 are
as good as 12. Then many more trees have the same problem.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from placement.candidates.cloud.columns import Numbers
from placement.candidates.masks.filter import RequestPart

#: rooms are cut at this
_MOST = 1 << 40
#: with more sums than these, rooms are taken as they are
_MOST_SUMS = 64


@dataclasses.dataclass(frozen=True)
class Contested:
    """A class that several parts ask for.

    :param total: how much they ask in all
    :param sums: what one provider may be asked for, ascending from 0; None: rooms are taken as they
        are
    """

    total: int
    sums: Numbers | None

    def rounded(self, rooms: Numbers) -> Numbers:
        """Return for each room the least one that is as good."""
        cut = np.clip(rooms.astype(np.int64), 0, min(self.total, _MOST))
        return cut if self.sums is None else self.sums[np.searchsorted(self.sums, cut, "right") - 1]


def contested(parts: Sequence[RequestPart]) -> dict[int, Contested]:
    """Return the classes that several parts ask for, by their ids, ascending.

    An explanation asks of each problem, too, what fits without group_policy=isolate. So a provider
    may be asked for any sum, whatever the policy.
    """
    asked: dict[int, list[int]] = {}
    for part in parts:
        for class_id, amount in part.demand:
            asked.setdefault(class_id, []).append(amount)
    return {
        class_id: Contested(sum(amounts), _sums(amounts))
        for class_id, amounts in sorted(asked.items())
        if len(amounts) > 1
    }


def _sums(amounts: Sequence[int]) -> Numbers | None:
    """Return the sums of any of the amounts.

    None if there are too many, or too large ones, or if each amount up to the largest is one.
    """
    sums = {0}
    for amount in amounts:
        sums |= {one + amount for one in sums}
        if len(sums) > _MOST_SUMS:
            return None
    total = max(sums)
    return None if total > _MOST or len(sums) > total else np.array(sorted(sums), np.int64)
