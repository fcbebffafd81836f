"""Judges whether all that is on some hosts would fit elsewhere."""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence

from placement.candidates.budget import Budget, OutOfTime
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.slots import WholeSlot
from placement.extensions.evacuation.movers import Demand, emptied
from placement.extensions.evacuation.operation import HomeSearch
from placement.extensions.evacuation.plan import Ledger, NewHome, Planner, Sizes
from placement.extensions.survives.holders import Holders, HostHolder
from placement.extensions.survives.quick import QuickPlanner, SharedCandidates
from placement.extensions.survives.rules import Askers
from placement.extensions.survives.sets import LostSet
from placement.extensions.survives.sums import FreeSums

ABSORBED, IMPOSSIBLE, UNKNOWN = "absorbed", "impossible", "unknown"

#: seconds of processor time that one set may take when it is judged by itself
_LONGEST = 2.0


@dataclasses.dataclass(frozen=True)
class Loss:
    """What the loss of a set of hosts means.

    :param verdict: ABSORBED, IMPOSSIBLE or UNKNOWN
    :param alike: how many further sets are like it
    :param consumers: how many are on it
    :param homes: of those that find one, by uuid
    :param left: the others' uuids by their demand
    :param fixed: those that may not move
    :param missing: how much must be added at least, by class
    :param looked: whether the set was judged by itself; if not, more of them may have a home
    """

    lost: LostSet
    verdict: str
    alike: int
    consumers: int
    homes: Mapping[str, NewHome]
    left: Mapping[Demand, Sequence[str]]
    fixed: Sequence[HostHolder]
    missing: Mapping[str, int]
    looked: bool = False
    unsearched: frozenset[Demand] = frozenset()

    @property
    def rank(self) -> tuple[int, int, tuple[int, ...]]:
        """What orders sets that can't be absorbed, the worst first"""
        return self.verdict != IMPOSSIBLE, len(self.homes) - self.consumers, self.lost.roots


class LossJudge:
    """Judges sets of hosts of one cloud.

    :param budgets: returns what a search may cost, whose time starts when it is called
    :param end: when the time is over, as `time.thread_time` has it
    """

    def __init__(
        self,
        cloud: Snapshot,
        holders: Holders,
        askers: Askers,
        budgets: Callable[[], Budget],
        end: float,
    ) -> None:
        self._cloud, self._holders, self._askers = cloud, holders, askers
        self._budgets, self._end = budgets, end
        self._budget = budgets()
        self._budget.shorten(max(end - time.thread_time(), 0.0))
        self._candidates = SharedCandidates(cloud, self._budget)
        self._sums, self._sizes = FreeSums(cloud), Sizes(cloud)

    def budget(self, longest: float | None = None) -> Budget:
        """Return what is left of the time, but not more than `longest`. Raises OutOfTime."""
        left = self._end - time.thread_time()
        if left <= 0:
            raise OutOfTime
        budget = self._budgets()
        budget.shorten(left if longest is None else min(left, longest))
        return budget

    def quickly(self, lost: LostSet, alike: int) -> Loss:
        """Judge a set by candidates that are known, and by sums. Raises OutOfTime or Abandoned."""
        leaving = frozenset(lost.roots)
        holders = self._holders.on(lost.roots)
        # the planner leaves out what it has no time for: it doesn't end this
        self._budget.look()
        fixed = [one for one in holders if one.fixed]
        wanted = self._askers.wanted((one for one in holders if not one.fixed), leaving)
        planner = QuickPlanner(self._candidates, leaving, self._askers.rules(wanted, leaving))
        planner.place_all({one: wanted[one] for one in self._sizes.largest_first(wanted)})
        missing = self._sums.missing(wanted, leaving) if planner.left else {}
        verdict = UNKNOWN if planner.left else ABSORBED
        if fixed or missing:
            verdict = IMPOSSIBLE
        return Loss(
            lost,
            verdict,
            alike,
            len(holders),
            planner.homes,
            planner.left,
            fixed,
            missing,
            unsearched=frozenset(planner.left),
        )

    def unseen(self, lost: LostSet, alike: int) -> Loss:
        """Judge a set for which there was no time: nobody was placed, so nobody counts as left."""
        holders = self._holders.on(lost.roots)
        fixed = [one for one in holders if one.fixed]
        verdict = IMPOSSIBLE if fixed else UNKNOWN if holders else ABSORBED
        return Loss(lost, verdict, alike, len(holders), {}, {}, fixed, {})

    def detailed(self, loss: Loss) -> Loss:
        """Return a loss that is told of, with those who are left, also if there was no time."""
        if loss.left or len(loss.homes) + len(loss.fixed) == loss.consumers:
            return loss
        movers = (one for one in self._holders.on(loss.lost.roots) if not one.fixed)
        left = self._askers.wanted(movers, frozenset(loss.lost.roots))
        return dataclasses.replace(loss, left=left, unsearched=frozenset(left))

    def closely(self, loss: Loss) -> Loss:
        """Judge a set by itself, in several orders. Raises OutOfTime or Abandoned."""
        leaving = frozenset(loss.lost.roots)
        movers = [one for one in self._holders.on(loss.lost.roots) if not one.fixed]
        wanted = self._askers.wanted(movers, leaving)
        longest = self.budget(_LONGEST).seconds or _LONGEST
        end = time.thread_time() + longest

        def budgets() -> Budget:
            budget = self._budgets()
            budget.shorten(max(end - time.thread_time(), 0.0))
            return budget

        search = HomeSearch(
            emptied(self._cloud, leaving),
            self.avoid(loss.lost),
            wanted,
            budgets,
            self._askers.rules(wanted, leaving),
        )
        if loss.verdict == UNKNOWN:
            search.run()
        return _better(loss, search.best, search.exact)

    def avoid(self, lost: LostSet) -> frozenset[str]:
        """Return the uuids of the roots of a set."""
        return frozenset(self._cloud.register.uuids[WholeSlot(root)] for root in lost.roots)

    def resources(self, consumer: str) -> Mapping[str, int]:
        """Return what a consumer holds, by class."""
        return self._holders.known[consumer].resources

    def after(self, loss: Loss) -> Ledger:
        """Return the rest of the cloud after all moves that are possible."""
        leaving = frozenset(loss.lost.roots)
        ledger = Ledger(emptied(self._cloud, leaving))
        movers = [one for one in self._holders.on(loss.lost.roots) if one.consumer in loss.homes]
        for demand, consumers in self._askers.wanted(movers, leaving).items():
            for consumer in consumers:
                ledger.move(loss.homes[consumer].taken, dict(demand.own), 1)
        return ledger


def _better(loss: Loss, found: Planner, exact: bool) -> Loss:
    """Return the loss with what a close look found; as it was if that placed fewer."""
    left = dict(found.left)
    verdict = loss.verdict
    if verdict == UNKNOWN:
        verdict = ABSORBED if not left else IMPOSSIBLE if exact else UNKNOWN
    elif len(found.homes) < len(loss.homes):
        return loss
    return dataclasses.replace(
        loss,
        verdict=verdict,
        homes=found.homes,
        left=left,
        looked=True,
        unsearched=frozenset(found.unsearched),
    )
