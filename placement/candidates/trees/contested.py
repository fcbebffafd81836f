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
    :param sums: what one provider may be asked for, ascending from 0; None: too many to tell
    """

    total: int
    sums: Numbers | None

    def rounded(self, rooms: Numbers) -> Numbers:
        """Return for each room the least one that is as good."""
        if self.sums is None:
            return np.clip(rooms.astype(np.int64), 0, min(self.total, _MOST))
        most = self.sums[-1]
        if len(self.sums) == 2:
            return (rooms >= most) * most
        cut = np.clip(rooms.astype(np.int64), 0, most)
        if len(self.sums) > most:
            # each amount is a sum
            return cut
        return self.sums[np.searchsorted(self.sums, cut, "right") - 1]


def contested(parts: Sequence[RequestPart], isolate: bool) -> dict[int, Contested]:
    """Return the classes that several parts ask for, by their ids, ascending.

    :param isolate: whether each provider serves one group with a suffix at most
    """
    asked: dict[int, list[tuple[str, int]]] = {}
    for part in parts:
        for class_id, amount in part.demand:
            asked.setdefault(class_id, []).append((part.suffix, amount))
    return {
        class_id: Contested(sum(amount for _, amount in of_parts), _sums(of_parts, isolate))
        for class_id, of_parts in sorted(asked.items())
        if len(of_parts) > 1
    }


def _sums(asked: Sequence[tuple[str, int]], isolate: bool) -> Numbers | None:
    """Return the sums of what parts with these suffixes may ask one provider for."""
    alone = {amount for suffix, amount in asked if suffix and isolate}
    sums = {0}
    for amount in (amount for suffix, amount in asked if not (suffix and isolate)):
        sums |= {one + amount for one in sums}
        if len(sums) > _MOST_SUMS:
            return None
    if len(alone) > _MOST_SUMS:
        return None
    sums |= {one + amount for one in sums for amount in alone}
    if len(sums) > _MOST_SUMS or max(sums) > _MOST:
        return None
    return np.array(sorted(sums), np.int64)
