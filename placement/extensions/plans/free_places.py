"""Free places for consumers that move, found once for all that ask for the same.

A plan in the making differs from the cloud in a few trees. In all others, places are those of the
cloud as it is. In a nearly full cloud most demands have none there, and need no search again.
"""

import itertools
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from placement.candidates.cloud.snapshot import Snapshot
from placement.extensions.evacuation.movers import TreeDemand
from placement.extensions.plans.draft_plan import DraftPlan, Place, Seat, used_and_capacity
from placement.extensions.plans.looking import Places, is_simple

#: how many places of a demand are kept, and of how many demands
_MOST_PLACES, _MOST_DEMANDS = 64, 200


class FreePlaces:
    """The free places of a cloud and of plans for it.

    :param places: finds them. Its searches raise SearchEnded
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._known: OrderedDict[TreeDemand, Sequence[Place]] = OrderedDict()

    def of(self, state: DraftPlan, seat: Seat) -> Iterator[Place]:
        """Yield places for a seat, some of them twice.

        Those of trees that the plan leaves as they are come first.
        """
        if seat.holder is None or len(state.cloud.sharing):
            yield from self._places.anywhere(seat.view(state.seen_by(seat)), seat.request)
            return
        avoid = set(map(int, state.cloud.roots(seat.request.avoid)))
        changed = {int(state.cloud.forest.root[slot]) for slot, _ in state.changes}
        known = self._of(state.cloud, seat.holder.demand)
        yield from (one for one in known if one.root not in changed and one.root not in avoid)
        for root in sorted(changed - avoid):
            if _may_have_room(state, seat, root):
                yield from self._places.in_tree(state.used(), seat.request, root)
        if len(known) > _MOST_PLACES:
            yield from self._places.anywhere(state.used(), seat.request)

    def _of(self, cloud: Snapshot, demand: TreeDemand) -> Sequence[Place]:
        """Return the places in the cloud as it is, or some if they are more than are kept."""
        if demand not in self._known:
            found = self._places.anywhere(cloud, demand.request(frozenset()))
            self._known[demand] = list(itertools.islice(found, _MOST_PLACES + 1))
            if len(self._known) > _MOST_DEMANDS:
                self._known.popitem(last=False)
        return self._known[demand]


def _may_have_room(state: DraftPlan, seat: Seat, root: int) -> bool:
    """Say whether sums let a tree have a place, as far as that is quickly known."""
    cloud = state.cloud
    if not is_simple(cloud, root):
        return True
    for name, amount in seat.request.demand.items():
        key = root, cloud.names.class_ids[name]
        used, capacity = used_and_capacity(cloud, key)
        if used + state.changes.get(key, 0) + amount > capacity:
            return False
    return True
