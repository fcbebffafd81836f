"""Sharing providers: which trees they serve (allocation-candidates.md 2.1)."""

from collections.abc import Iterable

import numpy as np

from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.snapshot import Snapshot


def reached_roots(snapshot: Snapshot, providers: Iterable[int]) -> Mask:
    """Return the roots of all trees that any of these sharing providers serves in other trees.

    A provider serves every tree with any provider in one of its aggregates, so its own, too.
    """
    aggregates = {key for slot in providers for key in snapshot.aggregates_of[slot]}
    mask = np.zeros(snapshot.size, np.bool_)
    for aggregate_id in aggregates:
        mask[snapshot.roots_of_aggregate(aggregate_id)] = True
    return mask


def reached(snapshot: Snapshot, own: Mask, shared: Mask) -> Mask:
    """Return the roots of the trees that some of the providers serve.

    :param own: providers that serve their own tree
    :param shared: providers that serve other trees, if they are sharing providers
    """
    forest = snapshot.forest
    roots = forest.roots_of(own) if forest.nested else own
    sharing = snapshot.sharing
    if len(sharing):
        lending = sharing[shared[sharing]]
        if len(lending):
            roots = roots | reached_roots(snapshot, lending.tolist())
    return roots


class Lenders:
    """The sharing providers that can serve a part of a request, looked up by tree."""

    def __init__(self, snapshot: Snapshot, providers: Iterable[int]) -> None:
        self._snapshot = snapshot
        self._by_aggregate: dict[int, list[int]] = {}
        for slot in providers:
            for aggregate_id in snapshot.aggregates_of[slot]:
                self._by_aggregate.setdefault(aggregate_id, []).append(slot)
        self._known: dict[tuple[int, ...], tuple[int, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_aggregate)

    def mask(self) -> Mask:
        """Return the roots of all trees they serve, their own included."""
        mask = np.zeros(self._snapshot.size, np.bool_)
        for aggregate_id in self._by_aggregate:
            mask[self._snapshot.roots_of_aggregate(aggregate_id)] = True
        return mask

    def of_tree(self, root: int, members: Iterable[int]) -> tuple[int, ...]:
        """Return the providers that serve the tree without belonging to it, ascending."""
        aggregates_of = self._snapshot.aggregates_of
        found: set[int] = set()
        for slot in members:
            ids = aggregates_of[slot]
            if ids not in self._known:
                self._known[ids] = tuple(
                    lender for key in ids for lender in self._by_aggregate.get(key, ())
                )
            found.update(self._known[ids])
        roots = self._snapshot.forest.root
        lent = sorted(slot for slot in found if roots[slot] != root)
        if len(lent) > 1:
            order = np.argsort(self._snapshot.in_whole(np.array(lent, np.int32)))
            lent = [lent[place] for place in order.tolist()]
        return tuple(lent)
