"""Finds out whether all consumers of some trees would fit elsewhere (extensions.md 6)."""

import dataclasses
import random
import time
from collections.abc import Callable, Iterable, Mapping

from placement.candidates.budget import Budget, SearchEnded
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.ended_search import error_of
from placement.candidates.slots import WholeSlot
from placement.extensions.evacuation.given_requests import check_requests
from placement.extensions.evacuation.movers import Demand, TreeDemand, demands_of, emptied
from placement.extensions.evacuation.plan import NewHome, Planner, Rules, Sizes
from placement.extensions.evacuation.proof import (
    Exhaustive,
    asks_for_too_much,
    greedy_is_best,
    hopeless,
    is_small,
)
from placement.extensions.evacuation.reasons import Reasons
from placement.extensions.what_if.changed_cloud import Naming, WhatIf
from placement.extensions.what_if.trees import check_roots
from placement.storage import holdings
from placement.storage.database.engine import Connection
from placement.storage.holdings import HeldRow

#: in how many orders the consumers are placed
_ORDERS = 12
#: seconds of processor time that all searches, and all explanations, take at most
_SECONDS, _EXPLAINING = 20.0, 2.0
#: the same of one search
_LONGEST = 2.0

Amounts = Mapping[str, Mapping[str, int]]


@dataclasses.dataclass(frozen=True)
class ConsumerMove:
    """Where a consumer would go.

    :param root: uuid of the root of its new tree
    :param allocations: all that it then holds: amounts by class, by provider uuid
    """

    root: str
    allocations: Amounts


@dataclasses.dataclass(frozen=True)
class Evacuation:
    """The moves that empty trees.

    :param moves: by consumer, in the order in which they can be made one after the other
    :param unfit: by consumer without a new home, the reason
    :param exact: whether it is certain that all fit, or that not all of them do
    """

    moves: Mapping[str, ConsumerMove]
    unfit: Mapping[str, str]
    exact: bool

    @property
    def fits(self) -> bool:
        """Say whether all consumers have a new home."""
        return not self.unfit

    @property
    def verdict(self) -> str:
        """Return `possible`, `impossible` or `unknown`: whether all can have a new home."""
        if self.fits:
            return "possible"
        return "impossible" if self.exact else "unknown"


def evacuated(
    naming: Naming,
    what_if: WhatIf,
    without: Iterable[str],
    requests: Mapping[str, TreeDemand],
    budgets: Callable[[], Budget],
) -> Evacuation:
    """Find a new home for each consumer that holds anything of some trees.

    Raises BadRequest if a provider doesn't exist or is no root, or if a request can't be used, and
    SearchAbandoned if the client left.

    :param naming: returns the names of providers by uuid
    :param what_if: the cloud, perhaps as if it were different
    :param without: normalised uuids of the roots of these trees
    :param requests: what consumers ask for, by uuid, in place of once more what they hold
    :param budgets: returns what a search may cost, whose time starts when it is called
    """
    roots = frozenset(without)

    def read(connection: Connection, cloud: Snapshot) -> list[HeldRow]:
        ids = cloud.register.ids[cloud.roots(roots)].tolist()
        rows = holdings.of_trees(connection, ids)
        return [row for row in rows if row.consumer not in what_if.freed]

    snapshot, held = what_if.at_once(read)
    check_roots(snapshot, sorted(roots))
    check_requests(snapshot, requests)
    leaving = frozenset(snapshot.roots(roots))
    wanted = demands_of(snapshot, held, leaving, requests)
    evacuation = HomeSearch(emptied(snapshot, leaving), roots, wanted, budgets)
    try:
        evacuation.run()
        unfit, exact = evacuation.reasons(naming), evacuation.exact
    except SearchEnded as ended:
        raise error_of(ended, snapshot, budgets()) from ended
    moves = {consumer: _move(snapshot, home) for consumer, home in evacuation.best.homes.items()}
    return Evacuation(moves, unfit, exact)


def _move(snapshot: Snapshot, home: NewHome) -> ConsumerMove:
    uuids, names = snapshot.register.uuids, snapshot.names.classes
    allocations: dict[str, dict[str, int]] = {}
    for (slot, class_id), amount in sorted(home.taken.items()):
        allocations.setdefault(uuids[WholeSlot(slot)], {})[names[class_id]] = amount
    return ConsumerMove(uuids[WholeSlot(home.roots[0])], allocations)


class HomeSearch:
    """One search for new homes.

    :param cloud: without the trees that are to be emptied
    :param avoid: uuids of their roots
    :param wanted: the consumers' uuids by their demand
    :param budgets: returns what a search may cost
    :param rules: where consumers may go that others have a say in; None: nobody has
    """

    def __init__(
        self,
        cloud: Snapshot,
        avoid: frozenset[str],
        wanted: Mapping[Demand, list[str]],
        budgets: Callable[[], Budget],
        rules: Rules | None = None,
    ) -> None:
        self._cloud, self._avoid, self._budgets, self._rules = cloud, avoid, budgets, rules
        seconds = budgets().seconds
        self._end = time.thread_time() + min(_SECONDS, seconds or _SECONDS)
        self._wanted = {demand: wanted[demand] for demand in Sizes(cloud).largest_first(wanted)}
        self.best = self._planned(self._wanted)
        self.exact = True

    def run(self) -> None:
        """Try orders until all consumers fit, no other order can be better, or the time is over.

        Raises Abandoned if the client left.
        """
        cloud, wanted, left = self._cloud, self._wanted, self.best.left
        if not left or (greedy_is_best(cloud, wanted) and not self.best.unsearched):
            return
        lost = hopeless(cloud, wanted, left, self._avoid, self._budget)
        if lost >= left.keys():
            return
        # now it may be certain that not all fit; other orders may still find homes for more of them
        proved = bool(lost) or asks_for_too_much(cloud, wanted) or self._distributed()
        self._try_orders()
        self.exact = proved or not self.best.left

    def _try_orders(self) -> None:
        source = random.Random(len(self._wanted))
        order = list(self._wanted)
        for number in range(1, _ORDERS):
            if not self.best.left or self._budget() is None:
                break
            # consumers that found no home go first; the later orders are random ones
            order = [*self.best.left, *(demand for demand in order if demand not in self.best.left)]
            if number > _ORDERS // 2:
                source.shuffle(order)
            tried = self._planned(
                {demand: self._wanted[demand] for demand in order}, number % 2 == 1
            )
            if len(tried.homes) > len(self.best.homes):
                self.best = tried

    def _distributed(self) -> bool:
        """Try all distributions if there are few; return whether the answer is certain then."""
        if not is_small(self._cloud, self._wanted):
            return False
        exhaustive = Exhaustive(self._avoid, self._budget)
        homes = exhaustive.homes(self._cloud, self._wanted)
        if homes is None:
            return exhaustive.finished
        if self._rules is not None:
            # these homes weren't held against the rules
            return False
        self.best.homes, self.best.left = homes, {}
        return True

    def reasons(self, naming: Naming) -> dict[str, str]:
        """Return why each consumer has no new home. Raises Abandoned if the client left."""
        best = self.best
        reasons = Reasons(best.ledger, self._avoid, self._budgets, _EXPLAINING, best.unsearched)
        return reasons.of(best.left, naming)

    def _planned(self, wanted: Mapping[Demand, list[str]], fullest: bool = False) -> Planner:
        planner = Planner(self._cloud, self._avoid, self._budget, fullest, self._rules)
        planner.place_all(wanted)
        return planner

    def _budget(self) -> Budget | None:
        """Return what the next search may cost; None if the time is over."""
        left = self._end - time.thread_time()
        if left <= 0:
            return None
        budget = self._budgets()
        budget.shorten(min(left, _LONGEST))
        return budget
