"""How far trees are from having a candidate: all of them at once, with arrays.

A tree costs one for each condition that fails, and a fraction for how far it is from being met.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Mask
from placement.candidates.cloud.sharing_providers import Lenders
from placement.candidates.cloud.snapshot import Snapshot
from placement.extensions.explain.conditions import (
    Condition,
    GroupConditions,
    RequestConditions,
)

#: how far providers, or trees, are from serving a request
Costs = npt.NDArray[np.float64]
#: the weight of a shortfall beside a failing condition: even hundreds of them count less than one
_SHARE = 1 / 1024
_FAILED = 1 + _SHARE


class TreeCosts:
    """Computes the costs. Its methods raise SearchEnded if a budget is used up.

    :param joint: the roots of trees that can serve each group by itself
    """

    def __init__(
        self,
        snapshot: Snapshot,
        conditions: RequestConditions,
        joint: Sequence[Mask],
        lenders: Lenders,
        budget: Budget,
    ) -> None:
        self._snapshot, self._conditions, self._budget = snapshot, conditions, budget
        self._joint, self._lenders = joint, lenders

    def by_root(self) -> Costs:
        """Return by root how many conditions fail, and a fraction for how far they do."""
        size = self._snapshot.size
        cost = np.zeros(size)
        for condition in self._conditions.of_root:
            cost += ~condition.own * _FAILED
        known: dict[int, Costs] = {}
        for suffix in self._conditions.suffixes:
            self._budget.spend(size)
            group = self._conditions.of_group(suffix)
            if id(group) not in known:
                known[id(group)] = self._costs_of(group)
            cost += known[id(group)]
        for roots in self._joint:
            cost += roots * 1.0
        return cost

    def _costs_of(self, group: GroupConditions) -> Costs:
        base = self._summed(group.common)
        # what all parts have to meet is counted once
        cost = least = self._least(*base)
        for part in group.parts:
            own, shared = self._summed(part)
            cost = cost + np.maximum(self._least(base[0] + own, base[1] + shared) - least, 0)
        for condition in group.of_tree:
            own = np.where(condition.own, 0.0, _FAILED)
            cost = cost + self._least(own, np.where(condition.shared, 0.0, _FAILED))
        return cost

    def _summed(self, conditions: Sequence[Condition]) -> tuple[Costs, Costs]:
        """Return what the conditions cost each provider for its own tree, and for other trees."""
        own = np.zeros(self._snapshot.size)
        shared = np.zeros(self._snapshot.size)
        for condition in conditions:
            price: float | Costs = _FAILED
            if condition.shortfall is not None:
                price = 1 + condition.shortfall * _SHARE
            own += ~condition.own * price
            shared += ~condition.shared * price
            if condition.roots is not None:
                # providers that fail only because of their root
                blamed = ~condition.roots[self._snapshot.forest.root] & condition.own
                own += blamed * _FAILED
        return own, shared

    def _least(self, own: Costs, shared: Costs) -> Costs:
        """Return by root the least cost among the providers that may serve the tree."""
        snapshot = self._snapshot
        forest = snapshot.forest
        best = own
        if forest.nested:
            best = np.full(snapshot.size, np.inf)
            np.minimum.at(best, forest.root[forest.alive], own[forest.alive])
        if self._lenders:
            best = best.copy()
            for slot in snapshot.sharing.tolist():
                for key in snapshot.aggregates_of[slot]:
                    roots = snapshot.roots_of_aggregate(key)
                    best[roots] = np.minimum(best[roots], shared[slot])
        return np.where(forest.is_root, best, 0.0)
