"""Find candidates for consumers and allocate them, in one step (extensions.md 4)."""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from placement.candidates.budget import Budget
from placement.candidates.choice import Choice, Chooser
from placement.candidates.explanation import why_none
from placement.candidates.holdings import held_candidate
from placement.candidates.snapshot import Snapshot
from placement.domain.consumer import ConsumerRequest, check_generation
from placement.errors import (
    AllocationRefused,
    ClaimUnfinished,
    ConcurrentUpdate,
    NoCandidate,
    SearchUnfinished,
)
from placement.operations import distributions
from placement.operations.claim_plan import (
    OVERTAKEN,
    Holding,
    Locked,
    Plan,
    choices_by_consumer,
    plan_for,
    repeatable,
    with_choice,
    without,
    write,
)
from placement.operations.explanations import names_from
from placement.operations.tree_lines import TreeLines
from placement.storage import allocations, holdings
from placement.storage.dialects import LONGEST_LOCK
from placement.storage.engine import PATIENCE, TRIES, Connection, Database
from placement.storage.holdings import Held

#: how many plans are written before a claim is given up
ATTEMPTS = 200
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Claimed:
    """What a consumer has got.

    :param generation: of the consumer
    """

    choice: Choice
    generation: int


class Cloud(Protocol):
    """Where claims get the cloud from: `placement.candidates.live_snapshot.LiveSnapshot`."""

    def current(self) -> Snapshot:
        """Return the cloud as of now."""

    def at_once(self, question: Callable[[Connection], T]) -> tuple[Snapshot, T]:
        """Return the cloud and the answer to a question, both of one moment."""

    def look_for_others(self) -> None:
        """Look whether others wrote without telling: the tables contradict what `current` said."""


class Claim:
    """One claim for some consumers: all of them get a candidate, or none.

    :param wanted: one request for each consumer, without allocations. Their uuids differ and are
        normalised; a type of None is no condition for consumers that exist
    :param cloud: where searches get the cloud from
    :param budget: returns what a search may cost
    :param tries: how often a transaction is tried when other writers interfere
    """

    def __init__(
        self,
        database: Database,
        cloud: Cloud,
        chooser: Chooser,
        wanted: Sequence[ConsumerRequest],
        budget: Callable[[], Budget],
        tries: int = TRIES,
    ) -> None:
        self.database, self.cloud, self.chooser = database, cloud, chooser
        self.wanted, self.budget, self.tries = wanted, budget, tries
        #: when the claim is given up: it came now
        self.end = time.monotonic() + PATIENCE
        self._done: dict[str, Claimed] = {}
        #: in how many ways the consumers were distributed by the last plan
        self._ways = 1

    def run(self, lines: TreeLines) -> dict[str, Claimed]:
        """Claim, and return what each consumer has got, by uuid in the order of the requests.

        A consumer that holds a candidate of the request already keeps it. Providers that other
        writers have locked are passed over, and those where the database refused a candidate, as
        long as there are others. After another writer took a candidate, the search is repeated.

        Raise NoCandidate if the cloud has no candidates for all consumers; ConcurrentUpdate if a
        consumer holds something else; ClaimUnfinished after too many attempts, and when the time
        is over; and what searches and writes of allocations raise.

        :param lines: of this process, for trees that other writers have locked
        """
        try:
            return self._run(lines)
        except SearchUnfinished:
            if self.left > 0:
                raise
            # not the limit of searches has ended it
            raise ClaimUnfinished() from None

    def _run(self, lines: TreeLines) -> dict[str, Claimed]:
        snapshot: Snapshot | None = None
        #: the cloud of a moment in which the consumers that are left held nothing
        empty: Snapshot | None = None
        busy: frozenset[str] = frozenset()
        refused: frozenset[str] = frozenset()
        for _ in range(ATTEMPTS):
            if self.left <= 0:
                break
            if snapshot is None:
                snapshot, busy = self.cloud.current(), refused
            try:
                plan, wait = self._best_plan(snapshot, busy)
                # `busy` keeps the search from providers, not from a tree of which nothing is taken
                if wait or plan.anchors(snapshot):
                    with lines.turn(plan.first_root(snapshot), self.left):
                        generations = self._write(snapshot, plan, wait=True)
                else:
                    generations = self._write(snapshot, plan, wait=False)
                self.settle(plan, generations)
            except Locked as locked:
                busy |= locked.uuids
            except Holding:
                snapshot = self._keep()
            except (NoCandidate, SearchUnfinished):
                # the consumers may have held something when the search saw the cloud, for example
                # after an earlier try of the same claim
                if snapshot is empty:
                    raise
                seen, left = snapshot.cursor, self._left()
                snapshot = empty = self._keep()
                if snapshot.cursor == seen and left == self._left():
                    raise
                busy = refused
            except AllocationRefused as refusal:
                refused |= refusal.providers
                snapshot, busy = self.after_refusal(snapshot), refused
            except OVERTAKEN:
                snapshot = None
            if len(self._done) == len(self.wanted):
                return self.results()
        raise ClaimUnfinished()

    @property
    def left(self) -> float:
        """Return the seconds after which the claim is given up."""
        return self.end - time.monotonic()

    def plan(
        self, cloud: Snapshot, busy: frozenset[str], seconds: float | None = None
    ) -> Plan | None:
        """Choose candidates for the consumers that hold none; None if there aren't any for all.

        Raise what searches raise.

        :param busy: uuids of providers that must not be chosen
        :param seconds: how long the search may take at most, if that is less than the budget; only
            one distribution of the consumers is tried then
        """
        cloud = without(cloud, self.chooser.request, self.chooser.request.avoid, busy)
        budget = self._budget()
        if seconds is not None:
            budget.shorten(seconds)
        left = self._left()
        found = plan_for(cloud, self.chooser, left, budget)
        if len(found.choices) == len(left):
            return repeatable(found, cloud, self.chooser.request, budget)
        self._ways = 1
        if seconds is not None or not found.choices or not distributions.matter(cloud):
            return None
        other, self._ways = distributions.other_plan(cloud, self.chooser, left, self._budget())
        return other and repeatable(other, cloud, self.chooser.request, budget)

    def after_refusal(self, seen: Snapshot) -> Snapshot:
        """Return the cloud as of now, after the database refused a candidate.

        :param seen: where the candidate was found
        """
        snapshot = self.cloud.current()
        if snapshot.cursor != seen.cursor:
            return snapshot
        self.cloud.look_for_others()
        return self.cloud.current()

    def settle(self, plan: Plan, generations: Mapping[str, int]) -> None:
        """Note that a plan with these consumers was stored.

        :param generations: of the consumers
        """
        choices = choices_by_consumer(plan)
        for request in self._left():
            self._done[request.uuid] = Claimed(choices[request.uuid], generations[request.uuid])

    def results(self) -> dict[str, Claimed]:
        """Return what each consumer has got, after all of them are settled."""
        return {request.uuid: self._done[request.uuid] for request in self.wanted}

    def _write(self, snapshot: Snapshot, plan: Plan, wait: bool) -> dict[str, int]:
        patience = max(self.left, LONGEST_LOCK)
        return write(self.database, snapshot, plan, self.tries, patience, wait)

    def _budget(self) -> Budget:
        """Return what a search may cost that begins now."""
        budget = self.budget()
        budget.shorten(max(self.left, 0))
        return budget

    def _left(self) -> list[ConsumerRequest]:
        return [request for request in self.wanted if request.uuid not in self._done]

    def _best_plan(self, snapshot: Snapshot, busy: frozenset[str]) -> tuple[Plan, bool]:
        """Return a plan, and whether to wait for locks. Raise NoCandidate.

        :param busy: providers to choose only if there are no others
        """
        found = self.plan(snapshot, busy)
        wait = found is None
        if found is None and busy:
            found = self.plan(snapshot, frozenset())
        if found is None:
            raise NoCandidate(self._why_none(snapshot))
        return found, wait

    def _keep(self) -> Snapshot:
        """Note the consumers that hold a candidate; return the cloud of the moment that tells.

        Raise ConcurrentUpdate for the first one that holds something else.
        """
        left = self._left()
        uuids = [request.uuid for request in left]
        snapshot, (entries, found) = self.cloud.at_once(
            lambda connection: (
                allocations.entries_of(connection, uuids)[0],
                list(holdings.of_consumers(connection, uuids)),
            )
        )
        # what is older than the table of consumers (rest-api.md 7.3) has no row in `found`
        rows: dict[str, list[Held]] = {entry.consumer.lower(): [] for entry in entries}
        for row in found:
            rows[row.consumer.lower()].append(row)
        for request in left:
            if request.uuid in rows:
                self._done[request.uuid] = self._kept(snapshot, request, rows[request.uuid])
        return snapshot

    def _kept(self, snapshot: Snapshot, request: ConsumerRequest, held: Sequence[Held]) -> Claimed:
        """Return the candidate that a consumer holds. Raise ConcurrentUpdate for something else."""
        choice = self._held_candidate(snapshot, request, held) if held else None
        if choice is not None:
            return Claimed(choice, held[0].generation)
        if held:
            check_generation(dataclasses.replace(request, generation=None), held[0].generation)
        raise ConcurrentUpdate()

    def _held_candidate(
        self, snapshot: Snapshot, request: ConsumerRequest, held: Sequence[Held]
    ) -> Choice | None:
        """Return the candidate that a consumer holds with the attributes of the request, if any."""
        owner = held[0]
        same_type = request.type_name in (None, owner.type_name)
        if not same_type or (request.project, request.user) != (owner.project, owner.user):
            return None
        amounts: dict[str, dict[str, int]] = {}
        for row in held:
            amounts.setdefault(row.provider_uuid, {})[row.resource_class] = row.used
        return held_candidate(snapshot, self.chooser.request, amounts, self._budget())

    def _why_none(self, snapshot: Snapshot) -> str:
        """Say why there is no candidate for all consumers."""
        request, budget = self.chooser.request, self._budget()
        cloud = without(snapshot, request, request.avoid)
        left = self._left()
        placed = plan_for(cloud, self.chooser, left[:-1], budget).choices
        for choice in placed:
            cloud = with_choice(cloud, choice)
        reason = why_none(cloud, request, budget, names_from(self.database))
        if not placed:
            return reason
        told = f"There is room for {len(placed)} of {len(left)} consumers, then: {reason}"
        if self._ways == 1:
            return told
        return (
            f"{told} The consumers were placed one after the other, in {self._ways} ways; "
            "another distribution may fit."
        )
