"""Finds the moves after which a request fits (extensions.rst)."""

import collections
import dataclasses
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from placement.candidates.budget import Abandoned, Budget, OutOfTime, SearchEnded
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.ended_search import error_of
from placement.candidates.request import CandidateRequest
from placement.errors import BadRequest
from placement.extensions.capacity.count import Capacity
from placement.extensions.plans.clearing import Clearings
from placement.extensions.plans.draft_plan import (
    DraftPlan,
    Place,
    Seat,
    amount_of,
    used_and_capacity,
)
from placement.extensions.plans.least_moves import at_most, most_with, shortages
from placement.extensions.plans.looking import Places
from placement.extensions.plans.occupants import Occupant, Occupants
from placement.extensions.plans.planner import MovePlan, MovePlanner
from placement.extensions.plans.relaxed import ALL, Relaxed
from placement.extensions.plans.terms import Terms, check_terms
from placement.extensions.what_if.changed_cloud import WhatIf
from placement.extensions.what_if.trees import check_roots
from placement.storage.database.engine import Database

#: seconds of processor time that one search takes at most
_LONGEST = 2.0
#: how many candidates are counted, and how many trees are named
_MOST_CANDIDATES, _MOST_NAMED = 1_000, 100


@dataclasses.dataclass(frozen=True)
class WantedRoom:
    """What room is to be made for.

    :param count: for how many of them
    :param within: normalised uuids of the roots where; None: anywhere
    :param moves: how many moves there may be
    :param by: the name of the class of which least is to be moved; None: as few moves as possible
    """

    request: CandidateRequest
    count: int = 1
    within: Collection[str] | None = None
    moves: int = 5
    by: str | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Room:
    """The answer.

    :param exact: whether it is certain that there is no cheaper plan, or none at all
    :param plan: None: nothing has to move, or there is no plan
    :param trees: the slots of the roots where room is then
    :param candidates: how many candidates there are then, as far as they were counted
    :param tried: how many trees' consumers were looked at
    :param least: it takes at least so many moves
    :param ended: whether the time was over before all was tried
    :param staying: how many consumers don't move because of their type, by type, as far as an
        answer tells it
    :param short: a class of which all together can't have as much free as is asked for: its name,
        how much is asked for, and how much can be free
    """

    cloud: Snapshot
    wanted: WantedRoom
    verdict: str
    exact: bool
    plan: MovePlan | None = None
    trees: tuple[int, ...] = ()
    candidates: int = 0
    tried: int = 0
    least: int = 0
    ended: bool = False
    staying: Mapping[str, int] = dataclasses.field(default_factory=dict)
    short: tuple[str, int, int] | None = None


def room(
    database: Database,
    what_if: WhatIf,
    wanted: WantedRoom,
    terms: Terms,
    budgets: Callable[[], Budget],
) -> Room:
    """Find the fewest moves that make room.

    Raises BadRequest for a root of `within` that isn't one, for a class that doesn't exist and for
    terms that name what doesn't exist, what a search raises of a wrong request, and SearchAbandoned
    if the client left.

    :param what_if: the cloud, perhaps as if it were different
    :param budgets: returns what a search may cost, whose time starts when it is called
    """
    stored, cloud = what_if.before_and_after()
    if wanted.within is not None:
        check_roots(cloud, wanted.within)
    if wanted.by is not None and wanted.by not in cloud.names.class_ids:
        raise BadRequest(f"by: there is no resource class {wanted.by!r}.")
    check_terms(cloud, terms)
    try:
        holders = Occupants(database, cloud, stored, terms, what_if.freed)
        return _RoomSearch(database, cloud, holders, wanted, terms, budgets).run()
    except Abandoned as ended:
        raise error_of(ended, cloud, budgets()) from ended
    except SearchEnded:
        return Room(cloud, wanted, "unknown", exact=False, ended=True)


class _RoomSearch:
    def __init__(
        self,
        database: Database,
        cloud: Snapshot,
        holders: Occupants,
        wanted: WantedRoom,
        terms: Terms,
        budgets: Callable[[], Budget],
    ) -> None:
        self._cloud, self._wanted, self._budgets = cloud, wanted, budgets
        self._holders, self._requests = holders, terms.requests
        seconds = budgets().seconds
        self._end = None if seconds is None else time.thread_time() + seconds
        forest = None
        if wanted.within is not None:
            anchors = np.zeros(cloud.size, np.bool_)
            anchors[cloud.roots(wanted.within)] = True
            forest = dataclasses.replace(cloud.forest, anchors=anchors & cloud.forest.is_root)
        self._seat = Seat(dataclasses.replace(wanted.request, limit=None), None, forest)
        by = None if wanted.by is None else cloud.names.class_ids[wanted.by]
        self._relaxed = Relaxed(database, cloud, terms.movable, holders, self._budget())
        self._places = Places(self._budget)
        self._clearings = Clearings(holders, self._relaxed, self._places, terms, by)
        self._planner = MovePlanner(holders, self._places, self._clearings, terms.constraints, by)
        #: whether it is certain that not all fit without moves
        self._needs_moves = False
        self._classes = [
            cloud.names.class_ids[name]
            for name in wanted.request.demand
            if name in cloud.names.class_ids
        ]

    def run(self) -> Room:
        """Return the answer. Raises SearchEnded before a plan is looked for, and BadRequest."""
        now = Capacity(
            self._seat.view(self._cloud),
            self._seat.request,
            self._budget(),
            self._budget(),
            self._budget(),
        ).fits()
        filled = self._filled(DraftPlan(self._cloud))
        if now.count >= self._wanted.count or len(filled.claims) == self._wanted.count:
            return self._found(None, exact=True, state=filled)
        short = self._short()
        if short is not None:
            return dataclasses.replace(self._answer("impossible", exact=True), short=short)
        self._needs_moves = now.upper < self._wanted.count or self._wanted.count == 1
        least = self._least()
        if least is None:
            return self._answer("impossible", exact=True)
        return self._planned(least, filled)

    def _planned(self, least: int, state: DraftPlan) -> Room:
        """Search for plans of more and more moves.

        :param least: it takes at least so many
        :param state: those have places that have one without moves
        """
        planner, exact, ended, sure = self._planner, False, False, False
        try:
            seats = [self._seat] * (self._wanted.count - len(state.claims))
            for moves in range(max(least, 1), self._wanted.moves + 1):
                before = planner.complete and not state.claims
                planner.search(state, seats, moves)
                if planner.best is not None and self._wanted.by is None:
                    exact = self._needs_moves and (len(planner.best.moves) == least or before)
                    break
                sure = planner.complete and not planner.cut and not state.claims
                if sure:
                    break
                if planner.complete and not state.claims:
                    least = moves + 1
        except Abandoned:
            raise
        except SearchEnded:
            ended = True
        if planner.best is None:
            verdict = "impossible" if sure else "unknown"
            return self._answer(verdict, sure, ended=ended, least=least)
        if self._wanted.by is not None:
            exact = self._needs_moves and (sure or planner.best.amount == 0)
        return self._found(planner.best, exact)

    def _short(self) -> tuple[str, int, int] | None:
        """Return a class of which there can't be enough after any moves, see `Room`."""
        demand = self._wanted.request.demand
        wanted = {name: amount * self._wanted.count for name, amount in demand.items()}
        short = list(shortages(self._cloud, wanted))
        asking = self._holders.of_consumers(list(self._requests)) if short else []
        for name, amount, free in short:
            class_id = self._cloud.names.class_ids.get(name)
            for one in asking:
                held = amount_of([one], class_id)
                if one.movable and held:
                    free += max(held - one.request.demand.get(name, 0), 0)
            if free < amount and self._hold_the_same(asking):
                return name, amount, free
        return None

    def _hold_the_same(self, asking: Sequence[Occupant]) -> bool:
        """Say whether all who have a request of their own hold what they held in the cloud."""
        self._holders.of_trees({home for one in asking for home in one.homes})
        # who is missing may have held something
        return len(asking) == len(self._requests) and self._holders.complete

    def _least(self) -> int | None:
        """Return how many moves it takes at least; None: even all of them wouldn't be enough."""
        request, view = self._seat.request, self._seat.view
        relaxed, wanted = self._relaxed, self._wanted.count
        most, _ = at_most(view(relaxed.cloud(ALL, self._classes)), request, self._budget)
        if most < wanted:
            return None
        by_tree = []
        for moves in range(self._wanted.moves + 1):
            cloud = view(relaxed.cloud(moves, self._classes))
            most, of_trees = at_most(cloud, request, self._budget)
            if of_trees is not None and not len(cloud.sharing):
                by_tree.append(of_trees)
                most = most_with(moves, by_tree)
            if most >= wanted:
                return moves
        return self._wanted.moves + 1

    def _filled(self, state: DraftPlan) -> DraftPlan:
        """Return the state after as many as there is room for got a place, if several want one."""
        left = self._wanted.count
        while left:
            claims: list[Place] = []
            changes = collections.Counter(state.changes)
            view = self._seat.view(state.used())
            for place in self._places.anywhere(view, self._seat.request):
                times = min(left, *(_times(state, changes, place)))
                for key, amount in place.taken.items():
                    changes[key] += amount * times
                claims += [place] * times
                left -= times
                if not left:
                    break
            if not claims:
                break
            state = dataclasses.replace(state, changes=changes, claims=(*state.claims, *claims))
        return state

    def _found(self, plan: MovePlan | None, exact: bool, state: DraftPlan | None = None) -> Room:
        state = plan.state if plan is not None else state
        assert state is not None
        trees = tuple(dict.fromkeys(place.root for place in state.claims))[:_MOST_NAMED]
        after = collections.Counter(state.changes)
        for place in state.claims:
            after.subtract(place.taken)
        cloud = dataclasses.replace(state, changes=after).used()
        anchors = np.zeros(cloud.size, np.bool_)
        anchors[list(trees)] = True
        there = dataclasses.replace(cloud.forest, anchors=anchors)
        candidates = 0
        try:
            found = self._places.anywhere(
                dataclasses.replace(cloud, forest=there), self._seat.request
            )
            for _ in found:
                candidates += 1
                if candidates >= _MOST_CANDIDATES:
                    break
        except Abandoned:
            raise
        except SearchEnded:
            candidates = max(candidates, 1)
        return dataclasses.replace(
            self._answer("fits" if plan is None else "possible", exact),
            plan=plan,
            trees=trees,
            candidates=candidates,
        )

    def _answer(self, verdict: str, exact: bool, ended: bool = False, least: int = 0) -> Room:
        return Room(
            self._cloud,
            self._wanted,
            verdict,
            exact,
            tried=len(self._clearings.looked_at),
            ended=ended,
            least=least,
        )

    def _budget(self) -> Budget:
        """Return what the next search may cost. Raises OutOfTime."""
        budget = self._budgets()
        if self._end is not None:
            left = self._end - time.thread_time()
            if left <= 0:
                raise OutOfTime
            budget.shorten(min(left, _LONGEST))
        if budget.is_abandoned:
            raise Abandoned
        return budget


def _times(state: DraftPlan, changes: Mapping[tuple[int, int], int], place: Place) -> Iterator[int]:
    for key, amount in place.taken.items():
        used, capacity = used_and_capacity(state.cloud, key)
        yield max((capacity - used - changes.get(key, 0)) // amount, 0)
