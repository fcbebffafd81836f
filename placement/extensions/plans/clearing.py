"""Who has to leave a tree so that something fits there: the least sets of consumers."""

import collections
import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from placement.candidates.cloud.columns import Slots
from placement.candidates.cloud.snapshot import Snapshot
from placement.extensions.claims.choice import free_and_capacity
from placement.extensions.evacuation.movers import SlotClass
from placement.extensions.plans.draft_plan import (
    DraftPlan,
    Place,
    Seat,
    amount_of,
    used_and_capacity,
)
from placement.extensions.plans.looking import Places, is_simple, lenders_of
from placement.extensions.plans.occupants import Occupant, Occupants
from placement.extensions.plans.relaxed import ALL, Relaxed, changed
from placement.extensions.plans.terms import Terms

#: of how many trees the consumers are looked at together: sets of these are compared
_FIRST_CHUNK, _LAST_CHUNK = 64, 512
#: a cloud with at most so many trees is looked at closely
FEW_TREES = 64
#: how many sets of one tree are looked at
_MOST_SETS = 3_000


@dataclasses.dataclass(frozen=True, eq=False)
class Clearing:
    """Consumers that leave, and what then has a place.

    :param stranded: what the tree has left then, as multiples of what is asked for
    :param amount: how much they hold of the class that is to be moved least
    :param free: what is free before they leave, see `_free`
    """

    root: int
    holders: tuple[Occupant, ...]
    stranded: float
    amount: int
    free: Mapping[SlotClass, int]


class Clearings:
    """Finds out who has to leave.

    :param by: id of the class of which least is to be moved; None: as few moves as possible
    :ivar complete: whether all sets of the trees were looked at
    :ivar looked_at: the roots of the trees whose consumers were looked at
    """

    def __init__(
        self,
        holders: Occupants,
        relaxed: Relaxed,
        places: Places,
        terms: Terms,
        by: int | None,
    ) -> None:
        self._holders, self._relaxed, self._places = holders, relaxed, places
        self._constraints, self._by = terms.constraints, by
        #: whether consumers may ask for something else than what they hold
        self._asked = bool(terms.requests)
        #: by class, the most that is free of one inventory
        self._most_free: dict[int, int] = {}
        self.complete = True
        self.looked_at: set[int] = set()

    def trees(self, state: DraftPlan, seat: Seat, most: int) -> list[int]:
        """Return the roots of trees that may have a place if so many leave, the nearest first.

        Nearest is where least is missing; of these, where least is left over.

        :param most: how many may leave; ALL: all that may move
        """
        demand = _demand(state.cloud, seat)
        largest = None if most == ALL else self._largest(state, demand)
        roots = self._trees(state, seat, most, demand, largest)
        if largest is not None and most > 1:
            fewer = self._trees(state, seat, most - 1, demand, None)
            roots = np.union1d(roots, fewer).astype(np.int32)
        if most == ALL or not len(roots):
            return roots.tolist()
        now = state.used()
        missing, left = np.zeros(len(roots)), np.zeros(len(roots))
        for class_id, amount in demand.items():
            free = free_and_capacity(now, class_id)[0][roots]
            missing += np.maximum(amount - free, 0) / amount
            left += free / amount
        return roots[np.lexsort((roots, left, missing))].tolist()

    def _trees(
        self,
        state: DraftPlan,
        seat: Seat,
        most: int,
        demand: Mapping[int, int],
        largest: Mapping[int, int] | None,
    ) -> Slots:
        cloud = changed(self._relaxed.cloud(most, demand, largest), state.changes)
        return self._places.trees(seat.view(cloud), seat.request)

    def _largest(self, state: DraftPlan, classes: Iterable[int]) -> dict[int, int] | None:
        """Return by class the most that somebody holds who may have a free place; None: no bound.

        Who leaves as one of as many as may leave must have a place that is free already: where
        something is free now, or where others left.
        """
        if is_small(state.cloud) or len(state.cloud.sharing) or self._asked:
            return None
        found = {}
        for class_id in classes:
            if class_id not in self._most_free:
                room = state.cloud.column(class_id).room
                self._most_free[class_id] = int(room.max(initial=0))
            found[class_id] = self._most_free[class_id]
        for (slot, class_id), more in state.changes.items():
            if class_id in found and more < 0:
                used, capacity = used_and_capacity(state.cloud, (slot, class_id))
                found[class_id] = max(found[class_id], capacity - used - more)
        return found

    def of(self, state: DraftPlan, seat: Seat, most: int) -> Iterator[tuple[Clearing, Place]]:
        """Yield sets of at most so many consumers with a place that they make, best first.

        If fewer moves are better, the largest sets come first: the others need further moves for
        their places. Of equal ones, those come first that leave the least stranded. No member of a
        set could stay.
        """
        trees, begin, length = self.trees(state, seat, most), 0, _FIRST_CHUNK
        while begin < len(trees):
            chunk = trees[begin : begin + length]
            begin, length = begin + length, min(length * 2, _LAST_CHUNK)
            self.looked_at.update(chunk)
            on_tree = self._holders.of_trees(chunk)
            found: list[Clearing] = []
            for root in chunk:
                found += self._of_tree(state, seat, root, on_tree[root], most)
            found.sort(key=lambda one: (one.amount, -len(one.holders), one.stranded, one.root))
            for clearing in found:
                for place in self._least(state, seat, clearing):
                    yield clearing, place

    def _least(self, state: DraftPlan, seat: Seat, clearing: Clearing) -> Iterator[Place]:
        """Yield the places that a set makes; nothing if one of it could stay.

        A tree of one provider needs no search: the sums decided it when the set was found.
        """
        root, asked = clearing.root, _demand(state.cloud, seat)
        simple = is_simple(state.cloud, root)
        if simple:
            places = [Place(root, {(root, key): amount for key, amount in asked.items()})]
        else:
            after = state.without(clearing.holders)
            places = list(self._places.in_tree(after.seen_by(seat), seat.request, root))
        if not places:
            return
        forced = self._partners(seat, root)
        forced |= frozenset().union(*map(self._bound, clearing.holders))
        for one in clearing.holders if len(clearing.holders) > 1 else ():
            others = [other for other in clearing.holders if other is not one]
            left = _left(clearing.free, others)
            if one.uuid in forced or any(left[key] < amount for key, amount in asked.items()):
                continue
            if simple:
                return
            fewer = state.without(others)
            there = self._places.in_tree(fewer.seen_by(seat), seat.request, root)
            if next(there, None) is not None:
                return
        yield from places

    def _of_tree(
        self, state: DraftPlan, seat: Seat, root: int, on_tree: Sequence[Occupant], most: int
    ) -> Iterator[Clearing]:
        """Yield the sets of holders that give back enough of each class, as far as sums say."""
        forced = self._partners(seat, root)
        free, asked = _free(state, seat, root), _demand(state.cloud, seat)
        able = {one.uuid: one for one in [*on_tree, *self._of_pools(state, free, asked)]}
        candidates = [
            one for one in able.values() if one.uuid not in state.gone and one is not seat.holder
        ]
        if not forced <= {one.uuid for one in candidates}:
            return
        named, not_on = self._constraints.named, self._constraints.not_on
        kinds: dict[object, list[Occupant]] = {}
        for one in sorted(candidates, key=lambda one: one.uuid):
            alone = one.uuid in named or one.uuid in not_on
            kinds.setdefault(one.uuid if alone else one.kind, []).append(one)
        sets = itertools.chain.from_iterable(
            _sets(list(kinds.values()), size) for size in range(1, most + 1)
        )
        largest = self._largest(state, state.cloud.columns)
        for number, chosen in enumerate(sets):
            if number >= _MOST_SETS:
                self.complete = False
                return
            uuids = {one.uuid for one in chosen}
            if not forced <= uuids or not self._whole(chosen, uuids, state):
                continue
            if len(chosen) == most and largest is not None:
                held = (item for one in chosen for item in one.held.items())
                if any(amount > largest.get(key[1], 0) for key, amount in held):
                    continue
            left = _left(free, chosen)
            if all(left[key] >= amount for key, amount in asked.items()):
                stranded = sum((left[key] - amount) / amount for key, amount in asked.items())
                by = 0 if self._by is None else amount_of(chosen, self._by)
                yield Clearing(root, chosen, stranded, by, free)

    def _of_pools(
        self, state: DraftPlan, free: Mapping[SlotClass, int], asked: Mapping[int, int]
    ) -> list[Occupant]:
        """Return those that hold most of the sharing providers that are short of something."""
        sharing = set(state.cloud.sharing.tolist())
        short = {
            slot
            for (slot, class_id), amount in free.items()
            if slot in sharing and amount < asked[class_id]
        }
        return [one for slot in sorted(short) for one in self._holders.of_pool(slot)]

    def _partners(self, seat: Seat, root: int) -> frozenset[str]:
        """Return those that must leave a tree before a consumer may arrive."""
        if seat.holder is None:
            return frozenset()
        named = self._holders.named
        return frozenset(
            uuid
            for uuid in self._constraints.partners(seat.holder.uuid)
            if uuid in named and root in named[uuid].homes
        )

    def _bound(self, holder: Occupant) -> set[str]:
        """Return those that leave with a consumer, because they must be together with it."""
        named = self._holders.named
        return {
            uuid
            for uuid in self._constraints.companions(holder.uuid)
            if uuid in named and named[uuid].homes == holder.homes
        }

    def _whole(self, chosen: Sequence[Occupant], uuids: set[str], state: DraftPlan) -> bool:
        """Say whether everybody leaves who must leave with another."""
        if not self._constraints.together:
            return True
        return all(self._bound(one) <= uuids | state.gone.keys() for one in chosen)


def is_small(cloud: Snapshot) -> bool:
    """Say whether a cloud has so few trees that all ways can be looked at closely."""
    return len(cloud.forest.roots) <= FEW_TREES


def _demand(cloud: Snapshot, seat: Seat) -> dict[int, int]:
    ids = cloud.names.class_ids
    return {ids[name]: n for name, n in seat.request.demand.items() if name in ids}


def _free(state: DraftPlan, seat: Seat, root: int) -> dict[SlotClass, int]:
    """Return what is free of each class at each provider that may serve a tree."""
    cloud = state.cloud
    slots = np.array([*cloud.forest.members(root).tolist(), *lenders_of(cloud, root)], np.int32)
    found = {}
    for class_id in _demand(cloud, seat):
        column = cloud.column(class_id)
        there, at = column.find(slots)
        for slot, place in zip(slots[there].tolist(), at[there].tolist(), strict=True):
            key = slot, class_id
            free = column.capacity(place) - column.used_at(place)
            found[key] = free - state.changes.get(key, 0)
    return found


def _left(free: Mapping[SlotClass, int], leaving: Sequence[Occupant]) -> dict[int, int]:
    """Return what is free of each class in all after consumers left."""
    given = collections.Counter[SlotClass]()
    for one in leaving:
        given.update(one.held)
    found = collections.Counter[int]()
    for key, amount in free.items():
        found[key[1]] += max(amount + given[key], 0)
    return found


def _sets(kinds: Sequence[Sequence[Occupant]], size: int) -> Iterator[tuple[Occupant, ...]]:
    """Yield sets of so many; of those that are alike the first ones stand for all."""
    numbered = [(number, place) for number, kind in enumerate(kinds) for place in range(len(kind))]
    for chosen in itertools.combinations(numbered, size):
        among = set(chosen)
        if all(place == 0 or (number, place - 1) in among for number, place in chosen):
            yield tuple(kinds[number][place] for number, place in chosen)
