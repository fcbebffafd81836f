"""Whether all consumers of some hosts would fit elsewhere (extensions.md 6)."""

import dataclasses
import random
import time
from collections.abc import Callable, Iterable, Mapping

from placement.candidates.budget import Budget, SearchEnded
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.ended_search import refusal
from placement.extensions.capacity.operation import check_roots
from placement.extensions.evacuation.movers import Demand, TreeDemand, emptied, wishes
from placement.extensions.evacuation.plan import NewHome, Planner
from placement.extensions.evacuation.proof import (
    Exhaustive,
    asks_for_too_much,
    greedy_is_best,
    hopeless,
    is_small,
)
from placement.extensions.explain.as_if_released import held_in_trees
from placement.extensions.explain.explanation import explain
from placement.extensions.explain.operation import names_from
from placement.storage.database.engine import Database

#: in how many orders the consumers are placed
_ORDERS = 12
#: seconds that all searches, and all explanations, take at most
_SECONDS, _EXPLAINING = 20.0, 2.0
#: seconds that one search takes at most
_LONGEST = 2.0

_NOT_LOOKED = "the time was over before a place was found"
_NOT_EXPLAINED = "there is no place; the time was over before the reason was known"
_KEPT = "there is no place for what it holds of {} trees at the same time"

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
    """What emptying hosts comes to.

    :param moves: by consumer, in the order in which they can be made one after the other
    :param unfit: the reason by consumer for those that stay
    :param exact: whether it is certain that all fit, or that not all do
    """

    moves: Mapping[str, ConsumerMove]
    unfit: Mapping[str, str]
    exact: bool

    @property
    def fits(self) -> bool:
        """Say whether all consumers have a place."""
        return not self.unfit


def evacuated(
    database: Database,
    current: Callable[[], Snapshot],
    without: Iterable[str],
    budgets: Callable[[], Budget],
) -> Evacuation:
    """Find a place elsewhere for each consumer that holds anything in some trees.

    Raise UnknownProviderNamed, BadRequest for a provider that is no root, SearchAbandoned.

    :param without: normalised uuids of the roots of these trees
    :param budgets: returns what a search may cost, whose time starts when it is called
    """
    roots = frozenset(without)
    snapshot, held = held_in_trees(database, current, sorted(roots), check_roots)
    leaving = frozenset(snapshot.roots(roots))
    evacuation = _Evacuation(
        emptied(snapshot, leaving), roots, wishes(snapshot, held, leaving), budgets
    )
    try:
        evacuation.run()
        unfit, exact = evacuation.reasons(database), evacuation.exact
    except SearchEnded as ended:
        raise refusal(ended, snapshot, budgets()) from ended
    moves = {consumer: _move(snapshot, place) for consumer, place in evacuation.best.places.items()}
    return Evacuation(moves, unfit, exact)


def _move(snapshot: Snapshot, place: NewHome) -> ConsumerMove:
    uuids, names = snapshot.register.uuids, snapshot.names.classes
    allocations: dict[str, dict[str, int]] = {}
    for (slot, class_id), amount in sorted(place.taken.items()):
        allocations.setdefault(uuids[slot], {})[names[class_id]] = amount
    return ConsumerMove(uuids[place.roots[0]], allocations)


class _Evacuation:
    """One search for places.

    :param cloud: without the trees that are to be emptied
    :param avoid: uuids of their roots
    """

    def __init__(
        self,
        cloud: Snapshot,
        avoid: frozenset[str],
        wanted: Mapping[Demand, list[str]],
        budgets: Callable[[], Budget],
    ) -> None:
        self._cloud, self._avoid, self._budgets = cloud, avoid, budgets
        seconds = budgets().seconds
        self._end = time.monotonic() + min(_SECONDS, seconds or _SECONDS)
        self._wanted = {wish: wanted[wish] for wish in _largest_first(cloud, wanted)}
        self.best = self._planned(self._wanted)
        self.exact = True

    def run(self) -> None:
        """Try orders until all fit, or no other order can be better, or none is left.

        Raise Abandoned.
        """
        cloud, wanted, left = self._cloud, self._wanted, self.best.left
        if not left or (greedy_is_best(cloud, wanted) and not self.best.unsearched):
            return
        lost = hopeless(cloud, wanted, left, self._avoid, self._budget)
        if lost >= left.keys():
            return
        proved = bool(lost) or asks_for_too_much(cloud, wanted) or self._distributed()
        self._try_orders()
        self.exact = proved or not self.best.left

    def _try_orders(self) -> None:
        source = random.Random(len(self._wanted))
        order = list(self._wanted)
        for number in range(1, _ORDERS):
            if not self.best.left or self._budget() is None:
                break
            # who found no place goes first; later it is left to chance
            order = [*self.best.left, *(wish for wish in order if wish not in self.best.left)]
            if number > _ORDERS // 2:
                source.shuffle(order)
            tried = self._planned({wish: self._wanted[wish] for wish in order}, number % 2 == 1)
            if len(tried.places) > len(self.best.places):
                self.best = tried

    def _distributed(self) -> bool:
        """Try all distributions of few consumers; return whether the answer is certain then."""
        if not is_small(self._cloud, self._wanted):
            return False
        exhaustive = Exhaustive(self._avoid, self._budget)
        places = exhaustive.places(self._cloud, self._wanted)
        if places is None:
            return exhaustive.finished
        self.best.places, self.best.left = places, {}
        return True

    def reasons(self, database: Database) -> dict[str, str]:
        """Return why each consumer has no place. Raise Abandoned."""
        end = time.monotonic() + _EXPLAINING
        nearest: set[str] = set()

        def noting(uuids: Iterable[str]) -> Mapping[str, str]:
            nearest.update(uuids)
            return {}

        told = {wish: self._reason(wish, end, noting) for wish in self.best.left}
        # uuids stand in the place of names, which are read at once
        names = names_from(database)(nearest)
        for wish, text in told.items():
            for uuid in nearest:
                text = text.replace(uuid, names.get(uuid, uuid))
            told[wish] = text
        return {consumer: told[wish] for wish, left in self.best.left.items() for consumer in left}

    def _reason(
        self, wish: Demand, end: float, noting: Callable[[Iterable[str]], Mapping[str, str]]
    ) -> str:
        if wish in self.best.unsearched:
            return _NOT_LOOKED
        cloud = self.best.ledger.seen_by(dict(wish.own))
        for part in wish.parts:
            left = end - time.monotonic()
            if left <= 0:
                return _NOT_EXPLAINED
            budget = self._budgets()
            budget.shorten(left)
            request = part.request(self._avoid)
            found = explain(cloud, request, budget, naming=noting, relaxations=False)
            if found.verdict != "some":
                return found.message
        return _KEPT.format(len(wish.parts) + bool(wish.kept))

    def _planned(self, wanted: Mapping[Demand, list[str]], fullest: bool = False) -> Planner:
        planner = Planner(self._cloud, self._avoid, self._budget, fullest)
        planner.place_all(wanted)
        return planner

    def _budget(self) -> Budget | None:
        """Return what the next search may cost; None if the time is over."""
        left = self._end - time.monotonic()
        if left <= 0:
            return None
        budget = self._budgets()
        budget.shorten(min(left, _LONGEST))
        return budget


def _largest_first(cloud: Snapshot, wanted: Iterable[Demand]) -> list[Demand]:
    """Return those first that ask for the largest share of what the cloud has of a class."""
    free = {
        name: max(float((column.capacities - column.used).clip(0).sum()), 1.0)
        for class_id, column in cloud.columns.items()
        if (name := cloud.names.classes.get(class_id)) is not None
    }

    def share(wish: Demand) -> tuple[float, float, tuple[TreeDemand, ...]]:
        shares = [amount / free.get(name, 1.0) for name, amount in wish.demand().items()]
        return -max(shares, default=0.0), -sum(shares), wish.parts

    return sorted(wanted, key=share)
