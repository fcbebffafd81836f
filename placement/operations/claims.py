"""Find candidates for consumers and allocate them, in one step (extensions.md 4)."""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence

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
    with_choice,
    without,
    write,
)
from placement.operations.explanations import names_from
from placement.storage import holdings
from placement.storage.engine import PATIENCE, TRIES, Database
from placement.storage.holdings import Held

#: how many plans are written before a claim is given up
ATTEMPTS = 200
#: how often nothing must be found, or held, at most, if the cloud changes all the time
SEARCHES = 5


@dataclasses.dataclass(frozen=True)
class Claimed:
    """What a consumer has got.

    :param generation: of the consumer
    """

    choice: Choice
    generation: int


class Claim:
    """One claim for some consumers: all of them get a candidate, or none.

    :param wanted: one request for each consumer, without allocations. Their uuids differ and are
        normalised; a type of None is no condition for consumers that exist
    :param current: returns the cloud as of now
    :param budget: returns what a search may cost
    :param tries: how often a transaction is tried when other writers interfere
    :param doubt: called when the database refused a candidate that `current` still offers: another
        service may write without telling
    """

    def __init__(
        self,
        database: Database,
        current: Callable[[], Snapshot],
        chooser: Chooser,
        wanted: Sequence[ConsumerRequest],
        budget: Callable[[], Budget],
        tries: int = TRIES,
        doubt: Callable[[], None] = lambda: None,
    ) -> None:
        self._doubt = doubt
        self.database, self.current, self.chooser = database, current, chooser
        self.wanted, self.budget, self.tries = wanted, budget, tries
        self._done: dict[str, Claimed] = {}
        #: in how many ways the consumers were distributed by the last plan
        self._ways = 1

    def run(self) -> dict[str, Claimed]:
        """Claim, and return what each consumer has got, by uuid in the order of the requests.

        A consumer that holds a candidate of the request already keeps it. Providers that other
        writers have locked are passed over, and those where the database refused a candidate, as
        long as there are others. After another writer took a candidate, the search is repeated.

        Raise NoCandidate if the cloud has no candidates for all consumers; ConcurrentUpdate if a
        consumer holds something else; ClaimUnfinished after too many attempts; and what searches
        and writes of allocations raise.
        """
        end = time.monotonic() + PATIENCE
        snapshot: Snapshot | None = None
        busy: frozenset[str] = frozenset()
        refused: frozenset[str] = frozenset()
        unsure = SEARCHES
        for _ in range(ATTEMPTS):
            if time.monotonic() > end:
                break
            if snapshot is None:
                snapshot, busy = self.current(), refused
            try:
                plan, wait = self._best_plan(snapshot, busy)
                self.settle(snapshot, plan, write(self.database, snapshot, plan, self.tries, wait))
            except Locked as locked:
                busy |= locked.uuids
            except Holding:
                snapshot = self.current()
                unsure -= not self._keep(snapshot)
                if not unsure:
                    # what it holds is older than the table of consumers (rest-api.md 7.3)
                    raise ConcurrentUpdate() from None
            except (NoCandidate, SearchUnfinished):
                # after an earlier try of the same claim, nothing more may be free
                if not self._keep(snapshot):
                    seen, snapshot = snapshot, self.current()
                    unsure -= 1
                    # the consumers may have held something when the search saw the cloud
                    if snapshot.cursor == seen.cursor or not unsure:
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
        budget = self.budget()
        if seconds is not None:
            budget.shorten(seconds)
        left = self._left()
        found = plan_for(cloud, self.chooser, left, budget)
        if len(found.choices) == len(left):
            return found
        self._ways = 1
        if seconds is not None or not found.choices or not distributions.matter(cloud):
            return None
        other, self._ways = distributions.other_plan(cloud, self.chooser, left, self.budget())
        return other

    def after_refusal(self, seen: Snapshot) -> Snapshot:
        """Return the cloud as of now, after the database refused a candidate.

        :param seen: where the candidate was found
        """
        snapshot = self.current()
        if snapshot.cursor != seen.cursor:
            return snapshot
        self._doubt()
        return self.current()

    def settle(self, snapshot: Snapshot, plan: Plan, generations: Mapping[str, int]) -> None:
        """Note that a plan with these consumers was stored.

        :param snapshot: where the candidates were found
        :param generations: of the consumers
        """
        choices = choices_by_consumer(plan)
        for request in self._left():
            choice = self._same_again(snapshot, choices[request.uuid])
            self._done[request.uuid] = Claimed(choice, generations[request.uuid])

    def results(self) -> dict[str, Claimed]:
        """Return what each consumer has got, after all of them are settled."""
        return {request.uuid: self._done[request.uuid] for request in self.wanted}

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

    def _same_again(self, snapshot: Snapshot, choice: Choice) -> Choice:
        """Return, of all candidates with these allocations, the one that a repetition will find."""
        request = self.chooser.request
        # the group without suffix takes each class from one provider, so it alone leaves no choice
        if len(choice.slots) == 1 or all(not group.suffix for group in request.groups):
            return choice
        return held_candidate(snapshot, request, choice.allocations, Budget()) or choice

    def _keep(self, snapshot: Snapshot) -> int:
        """Note the consumers that hold a candidate already; return how many there are.

        Raise ConcurrentUpdate for the first one that holds something else.
        """
        left, before = self._left(), len(self._done)
        uuids = [request.uuid for request in left]
        rows: dict[str, list[Held]] = {}
        for row in self.database.read(lambda read: list(holdings.of_consumers(read, uuids))):
            rows.setdefault(row.consumer.lower(), []).append(row)
        for request in left:
            held = rows.get(request.uuid)
            if not held:
                continue
            found = self._held_candidate(snapshot, request, held)
            generation = held[0].generation
            if found is None:
                check_generation(dataclasses.replace(request, generation=None), generation)
                raise ConcurrentUpdate()
            self._done[request.uuid] = Claimed(found, generation)
        return len(self._done) - before

    def _held_candidate(
        self, snapshot: Snapshot, request: ConsumerRequest, held: list[Held]
    ) -> Choice | None:
        """Return the candidate that a consumer holds with the attributes of the request, if any."""
        owner = held[0]
        same_type = request.type_name in (None, owner.type_name)
        if not same_type or (request.project, request.user) != (owner.project, owner.user):
            return None
        amounts: dict[str, dict[str, int]] = {}
        for row in held:
            amounts.setdefault(row.provider_uuid, {})[row.resource_class] = row.used
        return held_candidate(snapshot, self.chooser.request, amounts, self.budget())

    def _why_none(self, snapshot: Snapshot) -> str:
        """Say why there is no candidate for all consumers."""
        request, budget = self.chooser.request, self.budget()
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
