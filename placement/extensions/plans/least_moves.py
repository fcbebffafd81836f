"""How many moves it takes at least until a number of consumers fit."""

from collections.abc import Callable, Sequence

import numpy as np

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Numbers
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest
from placement.extensions.capacity.count import Capacity


def at_most(
    cloud: Snapshot, request: CandidateRequest, budgets: Callable[[], Budget]
) -> tuple[int, Numbers | None]:
    """Return how many fit at most, in all and by tree; None if trees share providers."""
    capacity = Capacity(cloud, request, budgets(), budgets(), budgets())
    fits = capacity.fits()
    by_tree = capacity.upper
    return fits.upper, by_tree if int(by_tree.sum()) == fits.upper else None


def most_with(moves: int, by_tree: Sequence[Numbers]) -> int:
    """Return how many fit at most after so many moves.

    Moves may be from one tree, or from several: one move from each of three trees, or three from
    one. Of each such way the best trees count.

    :param by_tree: how many fit into each tree at most after no move from it, after one, and so on
    """
    gains = [np.cumsum(np.sort(after - by_tree[0])[::-1]) for after in by_tree]

    def best(each: int, left: int) -> int:
        if each > left:
            return 0
        found = best(each + 1, left)
        for trees in range(1, min(left // each, len(gains[each])) + 1):
            found = max(found, int(gains[each][trees - 1]) + best(each + 1, left - each * trees))
        return found

    return int(by_tree[0].sum()) + best(1, moves)
