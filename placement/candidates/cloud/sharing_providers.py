"""Sharing providers: which trees they serve (allocation-candidates.md 2.1)."""

from collections.abc import Iterable

import numpy as np

from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.snapshot import SearchedTrees
from placement.candidates.slots import SearchedSlots


class Lenders:
    """The sharing providers that can serve a part of a request, looked up by tree.

    :param trees: where the search looks
    :param providers: the sharing providers, as slots of `trees.cloud`
    """

    def __init__(self, trees: SearchedTrees, providers: Iterable[int]) -> None:
        self._trees, self._cloud = trees, trees.cloud
        self._by_aggregate: dict[int, list[int]] = {}
        for slot in providers:
            for aggregate_id in trees.cloud.aggregates_of[slot]:
                self._by_aggregate.setdefault(aggregate_id, []).append(slot)
        self._known: dict[tuple[int, ...], tuple[int, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_aggregate)

    def mask(self) -> Mask:
        """Return the roots of all trees they serve, their own included."""
        mask = np.zeros(self._cloud.size, np.bool_)
        for aggregate_id in self._by_aggregate:
            mask[self._cloud.roots_of_aggregate(aggregate_id)] = True
        return mask

    def of_tree(self, root: int, members: Iterable[int]) -> tuple[int, ...]:
        """Return the providers that serve the tree without belonging to it.

        They are in the ascending order of their slots in the whole cloud.
        """
        aggregates_of = self._cloud.aggregates_of
        found: set[int] = set()
        for slot in members:
            ids = aggregates_of[slot]
            if ids not in self._known:
                self._known[ids] = tuple(
                    lender for key in ids for lender in self._by_aggregate.get(key, ())
                )
            found.update(self._known[ids])
        roots = self._cloud.forest.root
        lent = sorted(slot for slot in found if roots[slot] != root)
        if len(lent) > 1:
            # in the order of the whole cloud, whatever part of it is searched
            slots = SearchedSlots(np.array(lent, np.int32))
            order = np.argsort(self._trees.in_whole(slots))
            lent = [lent[place] for place in order.tolist()]
        return tuple(lent)
