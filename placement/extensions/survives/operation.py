"""Finds out which losses of hosts a cloud can absorb (extensions.rst)."""

import dataclasses
import time
from collections.abc import Callable, Collection, Iterable, Sequence

from placement.candidates.budget import Budget, OutOfTime, SearchEnded
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.ended_search import error_of
from placement.domain.uuids import normalised
from placement.extensions.plans.terms import Terms, check_terms
from placement.extensions.survives import sets as lost_sets
from placement.extensions.survives.alike import Likeness
from placement.extensions.survives.holders import Holders
from placement.extensions.survives.judging import ABSORBED, UNKNOWN, Loss, LossJudge
from placement.extensions.survives.rules import Askers
from placement.extensions.survives.sets import LostSet
from placement.extensions.survives.telling import Survival, Telling
from placement.extensions.what_if.changed_cloud import Naming, WhatIf
from placement.storage import holdings
from placement.storage.database.engine import Connection
from placement.storage.holdings import HeldRow

#: seconds of processor time that an answer takes at most, without its explanations
_SECONDS = 20.0


@dataclasses.dataclass(frozen=True)
class Question:
    """Which losses are asked about.

    :param each: `root`, `aggregate`, or sets of normalised uuids of roots
    :param among: a value of `member_of` that the roots have to meet; not for given sets
    :param together: how many sets are lost together
    :param limit: how many sets the answer tells of, and how many consumers of each
    """

    each: str | Sequence[Sequence[str]] = "root"
    among: str | None = None
    together: int = 1
    terms: Terms = dataclasses.field(default_factory=Terms)
    limit: int = 100

    @property
    def what(self) -> str:
        """What one of its sets is called"""
        names = {"root": "host", "aggregate": "aggregate"}
        return names[self.each] if isinstance(self.each, str) else "set"

    def concerned(self, stored: Snapshot, regrouped: Collection[str]) -> list[int]:
        """Return the roots of the trees that may be lost, as far as the stored cloud shows it.

        :param regrouped: see `WhatIf`: these may be in other sets than in the stored cloud
        """
        if not isinstance(self.each, str):
            return [int(root) for root in stored.roots(uuid for one in self.each for uuid in one)]
        sets = lost_sets.few_enough(self.sets(stored))
        return sorted({root for one in sets for root in one.roots}.union(stored.roots(regrouped)))

    def sets(self, cloud: Snapshot) -> list[LostSet]:
        """Return the sets of a cloud. Raises BadRequest."""
        if not isinstance(self.each, str):
            return lost_sets.given_sets(cloud, self.each)
        if self.each == "root":
            return lost_sets.each_host(cloud, self.among)
        return lost_sets.each_aggregate(cloud, self.among)


def survives(
    naming: Naming,
    what_if: WhatIf,
    question: Question,
    budgets: Callable[[], Budget],
) -> Survival:
    """Say which of the losses can be absorbed.

    Raises BadRequest if a provider doesn't exist or is no root, or a query can't be used, and
    SearchAbandoned if the client left.

    :param naming: returns the names of providers by uuid
    :param what_if: the cloud, perhaps as if it were different
    :param budgets: returns what a search may cost, whose time starts when it is called
    """
    freed, constraints = what_if.freed, question.terms.constraints
    end = time.thread_time() + min(_SECONDS, budgets().seconds or _SECONDS)

    def read(connection: Connection, stored: Snapshot) -> tuple[list[int], int, list[HeldRow]]:
        roots = question.concerned(stored, what_if.regrouped)
        ids = stored.register.ids[roots].tolist() if roots else []
        held = [row for row in holdings.of_trees(connection, ids) if row.consumer not in freed]
        elsewhere = constraints.named.difference(freed, (row.consumer for row in held))
        if elsewhere:
            held += holdings.of_consumers(connection, sorted(elsewhere))
        return roots, stored.size, held

    cloud, (roots, size, held) = what_if.at_once(read)
    all_sets = question.sets(cloud)
    lost_sets.check_enough(cloud, question.among, all_sets, question.together)
    check_terms(cloud, question.terms)
    # it isn't known who is on hosts that weren't drawn by lot; nobody is on those that are added
    known = {*roots, *range(size, cloud.size)}
    sets = lost_sets.few_enough([one for one in all_sets if known.issuperset(one.roots)])
    holders = Holders(cloud, held, question.terms.movable)
    del held
    askers = Askers(cloud, holders, question.terms)
    likeness = Likeness(
        cloud, holders, askers.named, _named_roots(cloud, question.terms), askers.given, end
    )
    chosen = lost_sets.chosen(sets, len(all_sets), question.together, likeness.of)
    try:
        judge = LossJudge(cloud, holders, askers, budgets, end)
        losses = _judged(judge, chosen.sets, question.limit)
        unfit = sorted((one for one in losses if one.verdict != ABSORBED), key=lambda one: one.rank)
        telling = Telling(cloud, judge, budgets, naming, question.limit)
        worst = telling.worst([judge.detailed(one) for one in unfit[: question.limit]])
    except SearchEnded as ended:
        raise error_of(ended, cloud, budgets()) from ended
    return Survival(
        sets=chosen.looked_at,
        of=chosen.of,
        absorbed=_count(losses, ABSORBED),
        unknown=_count(losses, UNKNOWN),
        worst=worst,
        constraints=constraints.count,
        what=question.what,
        together=question.together,
    )


def _count(losses: Iterable[Loss], verdict: str) -> int:
    return sum(1 + one.alike for one in losses if one.verdict == verdict)


def _judged(judge: LossJudge, sets: Sequence[tuple[LostSet, int]], limit: int) -> list[Loss]:
    """Judge all sets, first quickly, then those closely that need it, as long as there is time.

    Raises Abandoned if the client left.
    """
    found: list[Loss] = []
    try:
        for lost, count in sets:
            found.append(judge.quickly(lost, count - 1))
        # what isn't known yet may be known then; those that are told of are looked at closely, too
        open_ones = [number for number, one in enumerate(found) if one.verdict == UNKNOWN]
        for number in sorted(open_ones, key=lambda number: -found[number].alike):
            found[number] = judge.closely(found[number])
        bad = [number for number, one in enumerate(found) if one.verdict != ABSORBED]
        for number in sorted(bad, key=lambda number: found[number].rank)[:limit]:
            if not found[number].looked:
                found[number] = judge.closely(found[number])
    except OutOfTime:
        pass
    unseen = sets[len(found) :]
    return found + [judge.unseen(lost, count - 1) for lost, count in unseen]


def _named_roots(cloud: Snapshot, terms: Terms) -> list[int]:
    """Return the roots of all trees that the terms name."""
    uuids = {root for roots in terms.constraints.not_on.values() for root in roots}
    given = {one.text: one.request for asked in terms.requests.values() for one in asked.given}
    for request in given.values():
        uuids.update(group.in_tree for group in request.groups if group.in_tree)
    return [int(root) for root in cloud.roots(map(normalised, uuids))]
