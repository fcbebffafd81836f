"""How many moves it takes at least until a number of consumers fit, or that no moves are enough."""

from collections.abc import Callable, Iterator, Mapping, Sequence

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


def shortages(cloud: Snapshot, wanted: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    """Yield each class of which less is free in all than is wanted, both amounts behind it.

    Who moves takes as much elsewhere as it gives back. So no moves are enough then, as long as
    nobody asks for less than it holds.
    """
    for name, amount in wanted.items():
        class_id = cloud.names.class_ids.get(name)
        if class_id is None:
            # the search ended before it came to this name
            yield name, amount, 0
            continue
        column = cloud.column(class_id)
        # what is over its capacity gives nothing; a ratio may make it beyond what 64 bits hold
        free = np.maximum(np.floor(column.capacities) - column.used, 0.0)
        in_all = float(free[cloud.forest.alive[column.slots]].sum())
        if in_all < amount:
            yield name, amount, int(in_all)


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
