"""One claim, and the transaction that stores the plans of several (extensions.md 4).

`claim_batch` asks each `ClaimRequest` for its plan, and stores the plans together with `write`.
"""

import dataclasses
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from placement.candidates.budget import Budget
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.live.apply_changes import advance
from placement.domain.consumer import ConsumerRequest, check_generation
from placement.errors import (
    AllocationRefused,
    ConcurrentUpdate,
    LostRace,
    PlacementError,
    ResourceClassNotFound,
)
from placement.errors import UnknownProviderNamed as UnknownProvider
from placement.extensions.claims.choice import Choice, Chooser
from placement.extensions.claims.claim_plan import (
    ClaimPlan,
    as_if_full,
    distribution_matters,
    held_candidate,
    other_plan,
    plan_for,
    repeatable,
    with_choice,
)
from placement.extensions.explain import explanation
from placement.extensions.explain.operation import names_from
from placement.http.services import Snapshots
from placement.operations.allocations import ProviderRoom, store
from placement.operations.locked_consumers import LockedConsumers
from placement.storage import allocations, holdings, providers
from placement.storage.database.engine import PATIENCE, TRIES, Connection, Database
from placement.storage.feed import change_feed, feed_lanes
from placement.storage.feed.change_feed import ChangeKind
from placement.storage.holdings import HeldRow

T = TypeVar("T")

#: changes of a provider that the write itself checks
_CHECKED = ChangeKind.USAGE | ChangeKind.INVENTORY
#: changes after which a provider may be in another tree, or gone
_STRUCTURE = ChangeKind.ROW | ChangeKind.DELETED
#: candidates are judged again, while their trees are locked, if at most so many providers changed,
#: and for at most so many seconds and bytes: other writers wait for these locks
_MOST_JUDGED, _LONGEST_JUDGING, _LARGEST_JUDGING = 100, 0.2, 1 << 24


@dataclasses.dataclass(frozen=True)
class Claimed:
    """What a consumer has got.

    :param generation: of the consumer
    """

    choice: Choice
    generation: int


class ClaimRequest:
    """One claim for some consumers: all of them get a candidate, or none.

    A consumer that holds a candidate of the request already keeps it.

    :param consumers: one request for each consumer, without allocations. Their uuids differ and are
        normalised; a type of None is no condition for consumers that exist
    :param cloud: where searches get the cloud from
    :param budget: returns what a search may cost
    :param tries: how often a transaction is tried when other writers interfere
    :param stand_in: lets other requests have a thread while this claim waits for a locked tree
    """

    def __init__(
        self,
        database: Database,
        cloud: Snapshots,
        chooser: Chooser,
        consumers: Sequence[ConsumerRequest],
        budget: Callable[[], Budget],
        tries: int = TRIES,
        stand_in: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.stand_in = stand_in
        self.database, self.cloud, self.chooser = database, cloud, chooser
        self.consumers, self.budget, self.tries = consumers, budget, tries
        #: when the claim is given up: it came now
        self.end = time.monotonic() + PATIENCE
        #: what consumers have got, by uuid
        self._claimed: dict[str, Claimed] = {}
        #: in how many ways the last plan distributed the consumers
        self._distributions = 1
        #: the cloud of a moment at which the consumers that have nothing yet held nothing
        self._seen_empty: Snapshot | None = None

    @property
    def seconds_left(self) -> float:
        """Return the seconds after which the claim is given up."""
        return self.end - time.monotonic()

    @property
    def is_abandoned(self) -> bool:
        """Say whether nobody waits for the answer any more."""
        return self.budget().is_abandoned

    @property
    def is_made(self) -> bool:
        """Say whether each consumer has got its candidate."""
        return len(self._claimed) == len(self.consumers)

    def plan(
        self,
        cloud: Snapshot,
        busy: Collection[str] = (),
        trees: Collection[str] = (),
        seconds: float | None = None,
    ) -> ClaimPlan | None:
        """Choose candidates for the consumers that have none; None if there aren't any for all.

        Raises what searches raise.

        :param busy: uuids of providers that must not be chosen
        :param trees: uuids of roots of trees of which nothing must be chosen
        :param seconds: how long the search may take at most, if that is less than the budget; only
            one distribution of the consumers is tried then
        """
        request = self.chooser.request
        cloud = as_if_full(cloud, request, request.avoid.union(trees), busy)
        budget = self._budget()
        if seconds is not None:
            budget.shorten(seconds)
        consumers = self._unserved()
        plan = plan_for(cloud, self.chooser, consumers, budget)
        if len(plan.choices) == len(consumers):
            return repeatable(plan, cloud, request, budget)
        self._distributions = 1
        if seconds is not None or not plan.choices or not distribution_matters(cloud):
            return None
        other, self._distributions = other_plan(cloud, self.chooser, consumers, self._budget())
        return other and repeatable(other, cloud, request, budget)

    def settle(self, plan: ClaimPlan, generations: Mapping[str, int]) -> None:
        """Note that a plan with these consumers was stored.

        :param generations: of the consumers
        """
        choices = plan.by_consumer()
        for request in self._unserved():
            self._claimed[request.uuid] = Claimed(choices[request.uuid], generations[request.uuid])

    def results(self) -> dict[str, Claimed]:
        """Return what each consumer has got, by uuid, in the order of the requests."""
        return {request.uuid: self._claimed[request.uuid] for request in self.consumers}

    def after_refusal(self, seen: Snapshot) -> Snapshot:
        """Return the cloud as of now, after the database refused a candidate.

        :param seen: where the candidate was found
        """
        snapshot = self.cloud.current()
        if snapshot.cursor != seen.cursor:
            return snapshot
        self.cloud.look_for_others()
        return self.cloud.current()

    def after_failure(self, seen: Snapshot, failure: PlacementError) -> Snapshot:
        """Return another cloud to search in, after a search found nothing.

        The consumers may have held something when the search saw the cloud, for example after an
        earlier try of the same claim. Raises the failure if they didn't.

        :param seen: where the search found nothing
        """
        if seen is self._seen_empty:
            raise failure
        before = self._unserved()
        snapshot = self._seen_empty = self.keep()
        if snapshot.cursor == seen.cursor and before == self._unserved():
            raise failure
        return snapshot

    def keep(self) -> Snapshot:
        """Note the consumers that hold a candidate; return the cloud of the same moment.

        Raises ConcurrentUpdate if a consumer holds something else.
        """
        consumers = self._unserved()
        uuids = [request.uuid for request in consumers]
        snapshot, (entries, held) = self.cloud.at_once(
            lambda connection, _: (
                allocations.entries_of(connection, uuids)[0],
                list(holdings.of_consumers(connection, uuids)),
            )
        )
        # allocations from before the table of consumers (rest-api.md 7.3) have no row in `held`
        rows: dict[str, list[HeldRow]] = {entry.consumer.lower(): [] for entry in entries}
        for row in held:
            rows[row.consumer.lower()].append(row)
        for request in consumers:
            if request.uuid in rows:
                self._claimed[request.uuid] = self._kept(snapshot, request, rows[request.uuid])
        return snapshot

    def why_none(self, snapshot: Snapshot) -> str:
        """Say why there is no candidate for all consumers."""
        request, budget = self.chooser.request, self._budget()
        cloud = as_if_full(snapshot, request, request.avoid)
        consumers = self._unserved()
        placed = plan_for(cloud, self.chooser, consumers[:-1], budget).choices
        for choice in placed:
            cloud = with_choice(cloud, choice)
        reason = explanation.why_none(cloud, request, budget, names_from(self.database))
        if not placed:
            return reason
        text = f"There is room for {len(placed)} of {len(consumers)} consumers, then: {reason}"
        if self._distributions == 1:
            return text
        return (
            f"{text} The consumers were placed one after the other, in {self._distributions} ways; "
            "another distribution may fit."
        )

    def _budget(self) -> Budget:
        """Return what a search may cost that begins now."""
        budget = self.budget()
        budget.shorten(max(self.seconds_left, 0))
        return budget

    def _unserved(self) -> list[ConsumerRequest]:
        """Return the requests of the consumers that have no candidate yet."""
        return [request for request in self.consumers if request.uuid not in self._claimed]

    def _kept(
        self, snapshot: Snapshot, request: ConsumerRequest, held: Sequence[HeldRow]
    ) -> Claimed:
        """Return the candidate that a consumer holds. Raises ConcurrentUpdate if it holds none."""
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


class Locked(Exception):
    """Other writers have locked some of the plan's providers."""

    def __init__(self, uuids: Collection[str]) -> None:
        super().__init__()
        self.uuids = frozenset(uuids)


class ConsumerHolds(Exception):
    """Some of the plan's consumers hold something already."""

    def __init__(self, uuids: Collection[str]) -> None:
        super().__init__()
        self.uuids = frozenset(uuids)


class Outdated(Exception):
    """A provider of the plan has changed since the snapshot."""


#: other writers made the plan impossible: search again in a new snapshot
OVERTAKEN = (Outdated, AllocationRefused, LostRace, UnknownProvider, ResourceClassNotFound)


def write(
    database: Database,
    snapshot: Snapshot,
    plan: ClaimPlan,
    tries: int,
    patience: float,
    line: str | None = None,
) -> tuple[ClaimPlan, dict[str, int]]:
    """Store the plan in one transaction; return it as stored, and the consumers' generations.

    Raises Locked, ConsumerHolds or one of OVERTAKEN if other writers are in the way.

    :param snapshot: where the candidates were found
    :param patience: seconds after which no further try begins
    :param line: the root of the tree, by uuid, whose locks it waits for; it waits for no others, so
        that it keeps nobody from anything meanwhile
    """
    named = {uuid for request in plan.requests for uuid in request.allocations}
    # A move of a provider locks all providers of its tree. This write locks a provider of each tree
    # that a candidate is for: the root, if the candidate takes nothing of the tree. So one of the
    # two writes waits for the other, and sees what it did.
    needed = named | plan.anchors(snapshot)
    awaited = {uuid for uuid, root in plan.trees(snapshot).items() if root == line}

    def operation(connection: Connection) -> tuple[ClaimPlan, dict[str, int]]:
        # nothing is locked yet, so nobody waits meanwhile, and there is no order to keep
        if len(providers.lock(connection, awaited)) < len(awaited):
            raise Outdated
        # consumers that hold something are refused, so there are no more providers to lock, and no
        # reason to wait for such a consumer
        feed_lanes.ask_along(connection)
        locked, (found, *answers) = LockedConsumers.lock_and_ask(
            connection,
            plan.requests,
            providers.lock_free_question(needed),
            *ProviderRoom.questions(named, ()),
            wait=False,
        )
        nodes, room = providers.nodes_in(found), ProviderRoom.of(answers)
        if locked.held:
            raise ConsumerHolds({entry.consumer.lower() for entry in locked.held})
        missing = needed - nodes.keys()
        if missing:
            raise Locked(missing)
        valid = still_valid(connection, snapshot, plan)
        store(connection, locked, nodes, room, plan.claims)
        known = {uuid.lower(): consumer for uuid, consumer in locked.stored.items()}
        return valid, {
            request.uuid: known[request.uuid].generation + 1 if request.uuid in known else 1
            for request in plan.requests
        }

    return database.write(operation, tries, patience)


def still_valid(connection: Connection, snapshot: Snapshot, plan: ClaimPlan) -> ClaimPlan:
    """Return the plan if its choices are still candidates, now that their trees are locked.

    If a tree of the plan isn't as the search saw it, what changed is read, and each candidate is
    judged again. Usage and inventories don't matter here: the write checks them itself. Raises
    Outdated if a choice isn't a candidate any more, and if finding out would take long.
    """
    if snapshot.cursor is None:
        return plan
    news = change_feed.read(connection, snapshot.cursor)
    if news is None:
        raise Outdated
    concerned = plan.tree_ids(snapshot)
    kinds = {key: kind for key, kind in news.kinds.items() if key in concerned and kind & ~_CHECKED}
    if not kinds:
        return plan
    if len(kinds) > _MOST_JUDGED or any(kind & _STRUCTURE for kind in kinds.values()):
        raise Outdated
    now = advance(connection, snapshot, kinds)
    budget = Budget(_LONGEST_JUDGING, _LARGEST_JUDGING)
    try:
        judged = [
            held_candidate(now, query, choice.allocations, budget)
            for query, choice in zip(plan.queries, plan.choices, strict=True)
        ]
    except PlacementError as unfinished:
        raise Outdated from unfinished
    choices = [choice for choice in judged if choice is not None]
    if len(choices) < len(judged):
        raise Outdated
    return dataclasses.replace(plan, choices=choices)
