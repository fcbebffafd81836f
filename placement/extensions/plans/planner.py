"""Finds the fewest moves that make room, by trying one move, then two, and so on.

A seat is what needs a place. It gets one that is free, or one that consumers make free who leave a
tree; each of these is a seat then. When all seats have places, the moves are put into an order in
which each fits when its turn comes. In a plan each consumer moves once, to another tree.
"""

import dataclasses
from collections.abc import Iterator, Sequence

from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.slots import WholeSlot
from placement.extensions.plans.clearing import Clearings, is_small
from placement.extensions.plans.draft_plan import (
    DraftPlan,
    Place,
    Seat,
    changes_of,
    used_and_capacity,
)
from placement.extensions.plans.free_places import FreePlaces
from placement.extensions.plans.looking import Places
from placement.extensions.plans.occupants import Occupant, Occupants
from placement.extensions.plans.order import in_order, ties
from placement.extensions.plans.relaxed import ALL
from placement.extensions.plans.terms import Constraints

#: how many places of a seat are tried
_BREADTH = 8
#: how many decisions are tried for plans of one length: in clouds with few trees, and in others
_MANY_DECISIONS, _DECISIONS = 2_000, 120
#: how many plans of one length are compared
_COMPARED = 50


@dataclasses.dataclass(frozen=True, eq=False)
class MovePlan:
    """Moves in their order.

    :param after: by move, the numbers of those that must have ended before
    :param amount: how much moves of the class of which least is to be moved
    """

    moves: tuple[tuple[Occupant, Place], ...]
    after: tuple[tuple[int, ...], ...]
    state: DraftPlan
    amount: int


class MovePlanner:
    """One search for a plan. Its methods raise SearchEnded if a search is ended early.

    :param by: id of the class of which least is to be moved; None: as few moves as possible
    :ivar cut: whether longer plans might help
    """

    def __init__(
        self,
        holders: Occupants,
        places: Places,
        clearings: Clearings,
        constraints: Constraints,
        by: int | None,
    ) -> None:
        self._holders, self._places, self._clearings = holders, places, clearings
        self._constraints, self._by = constraints, by
        self._free = FreePlaces(places)
        self._complete = True
        self.cut = False
        self.best: MovePlan | None = None
        self._decisions = 0

    @property
    def complete(self) -> bool:
        """Whether all plans of the lengths that were tried are known"""
        parts = self._complete, self._places.complete, self._clearings.complete
        return all(parts) and self._holders.complete

    def search(self, state: DraftPlan, seats: Sequence[Seat], moves: int) -> None:
        """Look for a plan of at most so many moves that is better than the best one."""
        self._decisions, self.cut = 0, False
        found = (
            plan
            for decided in self._plans(state, tuple(seats), moves)
            for plan in self._with_helpers(decided, moves)
        )
        for compared, plan in enumerate(found, 1):
            if self.best is None or plan.amount < self.best.amount:
                self.best = plan
            if self._by is None:
                return
            if compared >= _COMPARED:
                self._complete = False
                return

    def _with_helpers(self, state: DraftPlan, moves: int) -> Iterator[MovePlan]:
        """Yield the plan; if its moves can't be made in any order, with others that help.

        Two consumers that change places need a third one to make way for one of them.
        """
        plan = self._ordered(state)
        if plan is not None:
            yield plan
            return
        left = moves - len(state.moves)
        trees = sorted({place.root for _, place in state.moves})
        on_tree = self._holders.of_trees(trees)
        helpers = [one for root in trees for one in on_tree[root] if one.uuid not in state.gone]
        if self._constraints.together or len(state.cloud.sharing):
            self._complete = False
        if not left:
            self.cut = self.cut or bool(helpers)
            return
        for one in helpers:
            for found in self._plans(state.without([one]), (self._seat(one),), left - 1):
                yield from self._with_helpers(found, moves)

    def _cost(self, state: DraftPlan) -> int:
        return 0 if self._by is None else state.amount(self._by)

    def _plans(self, state: DraftPlan, seats: tuple[Seat, ...], left: int) -> Iterator[DraftPlan]:
        """Yield what is decided when all seats have places."""
        if not seats:
            yield state
            return
        self._decisions += 1
        if self._decisions > (_MANY_DECISIONS if is_small(state.cloud) else _DECISIONS):
            self._complete = False
            return
        if self.best is not None and self._cost(state) >= self.best.amount:
            return
        seat, rest = self._placed(state, seats[0]), seats[1:]
        yield from self._with_free_places(state, seat, rest, left)
        if left:
            for clearing, place in self._clearings.of(state, seat, left):
                if self._is_shut(state, seat, place, {one.uuid for one in clearing.holders}):
                    continue
                cleared = state.without(clearing.holders).seated(seat, place)
                moving = tuple(self._seat(one) for one in clearing.holders)
                yield from self._plans(cleared, (*moving, *rest), left - len(clearing.holders))
        if not self.cut:
            self.cut = self._may_need_more(state, seat, left)

    def _with_free_places(
        self, state: DraftPlan, seat: Seat, rest: tuple[Seat, ...], left: int
    ) -> Iterator[DraftPlan]:
        tried, seen = 0, set()
        for place in self._free.of(state, seat):
            key = tuple(sorted(place.taken.items()))
            if key in seen or self._is_shut(state, seat, place, set()):
                continue
            seen.add(key)
            tried += 1
            if tried > _BREADTH:
                self._complete = False
                return
            found = False
            for plan in self._plans(state.seated(seat, place), rest, left):
                found = True
                yield plan
            # if the others have no places even without this one, its place doesn't matter
            alone = tried == 1 and bool(rest) and not found
            if alone and next(self._plans(state, rest, left), None) is None:
                return

    def _may_need_more(self, state: DraftPlan, seat: Seat, left: int) -> bool:
        """Say whether the seat might have places if more consumers left than may."""
        trees = self._clearings.trees(state, seat, ALL)
        if not trees or not is_small(state.cloud):
            return bool(trees)
        if len(state.cloud.sharing):
            # whoever holds something of a sharing provider may be on any tree
            trees = state.cloud.forest.roots.tolist()
        on_tree = self._holders.of_trees(trees)
        able = {one.uuid for of_tree in on_tree.values() for one in of_tree} - state.gone.keys()
        if seat.holder is not None:
            able.discard(seat.holder.uuid)
        return len(able) > left

    def _seat(self, holder: Occupant) -> Seat:
        return Seat(holder.request, holder)

    def _placed(self, state: DraftPlan, seat: Seat) -> Seat:
        """Return the seat with the trees that it may not be in."""
        if seat.holder is None:
            return seat
        uuids = state.cloud.register.uuids
        avoid = {uuids[WholeSlot(root)] for root in seat.holder.homes}
        avoid |= self._constraints.not_on.get(seat.holder.uuid, frozenset())
        return dataclasses.replace(seat, request=seat.holder.demand.request(frozenset(avoid)))

    def _is_shut(self, state: DraftPlan, seat: Seat, place: Place, leaving: set[str]) -> bool:
        """Say whether others keep a consumer away from a place, or want it elsewhere."""
        if seat.holder is None or not self._constraints.count:
            return False
        root = state.cloud.register.uuids[WholeSlot(place.root)]
        uuid = seat.holder.uuid
        companions = self._constraints.companions(uuid)
        others = self._constraints.partners(uuid) | companions
        where = self._holders.places(others, {**state.places(), **dict.fromkeys(leaving)})
        if root in self._constraints.shut(uuid, where):
            return True
        # who is still at the place it leaves will leave, too
        here = {state.cloud.register.uuids[WholeSlot(home)] for home in seat.holder.homes}
        kept = self._constraints.kept(
            [uuid],
            {one: [] if set(roots) == here else roots for one, roots in where.items()}
            | {uuid: [root]},
        )
        # it isn't tried whether those come after it that are elsewhere
        named, left = self._holders.named, leaving | state.gone.keys()
        if not kept and any(named[one].movable for one in (companions & named.keys()) - left):
            self._complete = False
        return not kept

    def _ordered(self, state: DraftPlan) -> MovePlan | None:
        """Return the plan; None if its moves can't be made one after the other."""
        moves = state.moves
        others = frozenset().union(*map(self._constraints.companions, state.gone))
        where = self._holders.places(others | state.gone.keys(), state.places())
        if not self._constraints.kept(state.gone.keys(), where):
            return None
        changes = changes_of(moves)
        free = _free(state.cloud, {key for change in changes for key in change})
        order = in_order(changes, free, self._first(state, moves))
        if order is None:
            return None
        moves = tuple(moves[number] for number in order)
        after = ties([changes[number] for number in order], free, self._first(state, moves))
        return MovePlan(moves, tuple(map(tuple, after)), state, self._cost(state))

    def _first(
        self, state: DraftPlan, moves: Sequence[tuple[Occupant, Place]]
    ) -> dict[int, frozenset[int]]:
        """Return by move those that must have left the tree before, as the two must be apart."""
        numbers = {holder.uuid: number for number, (holder, _) in enumerate(moves)}
        return {
            number: frozenset(
                numbers[uuid]
                for uuid in self._constraints.partners(holder.uuid)
                if uuid in numbers and place.root in moves[numbers[uuid]][0].homes
            )
            for number, (holder, place) in enumerate(moves)
        }


def _free(cloud: Snapshot, keys: set[tuple[int, int]]) -> dict[tuple[int, int], int]:
    found = {}
    for key in keys:
        used, capacity = used_and_capacity(cloud, key)
        found[key] = capacity - used
    return found
