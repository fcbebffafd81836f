"""Find candidates for consumers and allocate them, in one step (extensions.md 4)."""

import dataclasses
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, TypeVar

from placement.candidates.budget import Budget
from placement.candidates.cloud.snapshot import Snapshot
from placement.domain.consumer import ConsumerRequest, check_generation
from placement.errors import ConcurrentUpdate, PlacementError
from placement.extensions.claims import distributions
from placement.extensions.claims.choice import Choice, Chooser
from placement.extensions.claims.claim_plan import (
    ClaimPlan,
    choices_by_consumer,
    plan_for,
    repeatable,
    with_choice,
    without,
)
from placement.extensions.claims.held_candidate import held_candidate
from placement.extensions.explain import explanation
from placement.extensions.explain.operation import names_from
from placement.storage import allocations, holdings
from placement.storage.database.engine import PATIENCE, TRIES, Connection, Database
from placement.storage.holdings import HeldRow

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Claimed:
    """What a consumer has got.

    :param generation: of the consumer
    """

    choice: Choice
    generation: int


class ClaimSnapshots(Protocol):
    """Where claims get the cloud from: `placement.candidates.live.live_snapshot.LiveSnapshot`."""

    def current(self) -> Snapshot:
        """Return the cloud as of now."""

    def at_once(self, question: Callable[[Connection], T]) -> tuple[Snapshot, T]:
        """Return the cloud and the answer to a question, both of one moment."""

    def look_for_others(self) -> None:
        """Look whether others wrote without telling: the tables contradict what `current` said."""


class ClaimRequest:
    """One claim for some consumers: all of them get a candidate, or none.

    A consumer that holds a candidate of the request already keeps it. `claim_batch.Batch` makes
    claims.

    :param wanted: one request for each consumer, without allocations. Their uuids differ and are
        normalised; a type of None is no condition for consumers that exist
    :param cloud: where searches get the cloud from
    :param budget: returns what a search may cost
    :param tries: how often a transaction is tried when other writers interfere
    """

    def __init__(
        self,
        database: Database,
        cloud: ClaimSnapshots,
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
        #: the cloud of a moment in which the consumers that are left held nothing
        self._empty: Snapshot | None = None

    @property
    def left(self) -> float:
        """Return the seconds after which the claim is given up."""
        return self.end - time.monotonic()

    @property
    def is_abandoned(self) -> bool:
        """Say whether nobody waits for the answer any more."""
        return self.budget().is_abandoned

    def plan(
        self,
        cloud: Snapshot,
        busy: Collection[str] = (),
        trees: Collection[str] = (),
        seconds: float | None = None,
    ) -> ClaimPlan | None:
        """Choose candidates for the consumers that hold none; None if there aren't any for all.

        Raise what searches raise.

        :param busy: uuids of providers that must not be chosen
        :param trees: uuids of roots of trees of which nothing must be chosen
        :param seconds: how long the search may take at most, if that is less than the budget; only
            one distribution of the consumers is tried then
        """
        request = self.chooser.request
        cloud = without(cloud, request, request.avoid.union(trees), busy)
        budget = self._budget()
        if seconds is not None:
            budget.shorten(seconds)
        left = self._left()
        found = plan_for(cloud, self.chooser, left, budget)
        if len(found.choices) == len(left):
            return repeatable(found, cloud, request, budget)
        self._ways = 1
        if seconds is not None or not found.choices or not distributions.matter(cloud):
            return None
        other, self._ways = distributions.other_plan(cloud, self.chooser, left, self._budget())
        return other and repeatable(other, cloud, request, budget)

    def after_refusal(self, seen: Snapshot) -> Snapshot:
        """Return the cloud as of now, after the database refused a candidate.

        :param seen: where the candidate was found
        """
        snapshot = self.cloud.current()
        if snapshot.cursor != seen.cursor:
            return snapshot
        self.cloud.look_for_others()
        return self.cloud.current()

    def settle(self, plan: ClaimPlan, generations: Mapping[str, int]) -> None:
        """Note that a plan with these consumers was stored.

        :param generations: of the consumers
        """
        choices = choices_by_consumer(plan)
        for request in self._left():
            self._done[request.uuid] = Claimed(choices[request.uuid], generations[request.uuid])

    @property
    def is_made(self) -> bool:
        """Say whether each consumer has got its candidate."""
        return len(self._done) == len(self.wanted)

    def results(self) -> dict[str, Claimed]:
        """Return what each consumer has got, by uuid, in the order of the requests."""
        return {request.uuid: self._done[request.uuid] for request in self.wanted}

    def _budget(self) -> Budget:
        """Return what a search may cost that begins now."""
        budget = self.budget()
        budget.shorten(max(self.left, 0))
        return budget

    def _left(self) -> list[ConsumerRequest]:
        return [request for request in self.wanted if request.uuid not in self._done]

    def after_failure(self, seen: Snapshot, failure: PlacementError) -> Snapshot:
        """Return another cloud to search in, after a search found nothing.

        The consumers may have held something when the search saw the cloud, for example after an
        earlier try of the same claim. Raise the failure if they didn't.

        :param seen: where the search found nothing
        """
        if seen is self._empty:
            raise failure
        left = self._left()
        snapshot = self._empty = self.keep()
        if snapshot.cursor == seen.cursor and left == self._left():
            raise failure
        return snapshot

    def keep(self) -> Snapshot:
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
        rows: dict[str, list[HeldRow]] = {entry.consumer.lower(): [] for entry in entries}
        for row in found:
            rows[row.consumer.lower()].append(row)
        for request in left:
            if request.uuid in rows:
                self._done[request.uuid] = self._kept(snapshot, request, rows[request.uuid])
        return snapshot

    def _kept(
        self, snapshot: Snapshot, request: ConsumerRequest, held: Sequence[HeldRow]
    ) -> Claimed:
        """Return the candidate that a consumer holds. Raise ConcurrentUpdate for something else."""
        choice = self._held_candidate(snapshot, request, held) if held else None
        if choice is not None:
            return Claimed(choice, held[0].generation)
        if held:
            check_generation(dataclasses.replace(request, generation=None), held[0].generation)
        raise ConcurrentUpdate()

    def _held_candidate(
        self, snapshot: Snapshot, request: ConsumerRequest, held: Sequence[HeldRow]
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

    def why_none(self, snapshot: Snapshot) -> str:
        """Say why there is no candidate for all consumers."""
        request, budget = self.chooser.request, self._budget()
        cloud = without(snapshot, request, request.avoid)
        left = self._left()
        placed = plan_for(cloud, self.chooser, left[:-1], budget).choices
        for choice in placed:
            cloud = with_choice(cloud, choice)
        reason = explanation.why_none(cloud, request, budget, names_from(self.database))
        if not placed:
            return reason
        told = f"There is room for {len(placed)} of {len(left)} consumers, then: {reason}"
        if self._ways == 1:
            return told
        return (
            f"{told} The consumers were placed one after the other, in {self._ways} ways; "
            "another distribution may fit."
        )
