"""Candidates for the consumers of claims: choose them in one snapshot, store them in one write."""

import collections
import dataclasses
from collections.abc import Collection, Mapping, Sequence

from placement.candidates.budget import Budget
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.live.apply_changes import advance
from placement.candidates.request import CandidateRequest
from placement.domain.consumer import ConsumerRequest
from placement.errors import (
    AllocationRefused,
    LostRace,
    PlacementError,
    ResourceClassNotFound,
    SearchUnfinished,
)
from placement.errors import UnknownProviderNamed as UnknownProvider
from placement.extensions.claims.choice import Choice, Chooser
from placement.extensions.claims.held_candidate import held_candidate
from placement.operations.allocations import ProviderRoom, lock, store
from placement.operations.locked_consumers import LockedConsumers
from placement.storage import providers
from placement.storage.database.engine import Connection, Database
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import ChangeKind

#: used in place of the usage of providers that must not be chosen: more than any capacity
_ALL = 1 << 62
#: changes of a provider that the write itself checks
_CHECKED = ChangeKind.USAGE | ChangeKind.INVENTORY
#: changes after which a provider may be in another tree, or gone
_STRUCTURE = ChangeKind.ROW | ChangeKind.DELETED
#: of how many changed providers, for how many seconds, and with how many bytes candidates are
#: judged again while their trees are locked
_MOST_JUDGED, _LONGEST_JUDGING, _LARGEST_JUDGING = 100, 0.2, 1 << 24


@dataclasses.dataclass(frozen=True)
class ClaimPlan:
    """Candidates for some consumers, found together in one snapshot.

    :param requests: what is to be stored; no consumer twice
    :param choices: the candidates, in the order of the requests
    :param queries: what each of them is a candidate of
    :param claims: how many claims take something of each provider, by uuid
    """

    requests: Sequence[ConsumerRequest] = ()
    choices: Sequence[Choice] = ()
    queries: Sequence[CandidateRequest] = ()
    claims: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def of_claim(
        cls,
        requests: Sequence[ConsumerRequest],
        choices: Sequence[Choice],
        query: CandidateRequest,
    ) -> "ClaimPlan":
        """Return the plan of one claim."""
        named = (uuid for request in requests for uuid in request.allocations)
        return cls(requests, choices, [query] * len(choices), dict.fromkeys(named, 1))

    def __add__(self, other: "ClaimPlan") -> "ClaimPlan":
        """Return the plan for the consumers of both."""
        return ClaimPlan(
            (*self.requests, *other.requests),
            (*self.choices, *other.choices),
            (*self.queries, *other.queries),
            collections.Counter(self.claims) + collections.Counter(other.claims),
        )

    def anchors(self, snapshot: Snapshot) -> set[str]:
        """Return the roots of the trees that candidates were found for and take nothing of."""
        root, register = snapshot.forest.root, snapshot.register
        found = set()
        for choice in self.choices:
            taken = {root[register.slot_of_uuid[uuid]] for uuid in choice.allocations}
            if choice.anchor not in taken:
                found.add(register.uuids[choice.anchor])
        return found

    def trees(self, snapshot: Snapshot) -> dict[str, str]:
        """Return what the write locks: the uuids of providers, each with that of its root."""
        root, register = snapshot.forest.root, snapshot.register
        named = {uuid for choice in self.choices for uuid in choice.allocations}
        slots = register.slot_of_uuid
        return {uuid: register.uuids[root[slots[uuid]]] for uuid in named | self.anchors(snapshot)}

    def tree_ids(self, snapshot: Snapshot) -> set[int]:
        """Return the ids of all providers of the trees that the candidates are from or for."""
        forest, ids = snapshot.forest, snapshot.register.ids
        roots = {choice.anchor for choice in self.choices}
        roots |= {int(forest.root[slot]) for choice in self.choices for slot in choice.slots}
        return {key for root in roots for key in ids[forest.members(root)].tolist()}


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


def plan_for(
    cloud: Snapshot, chooser: Chooser, wanted: Sequence[ConsumerRequest], budget: Budget
) -> ClaimPlan:
    """Choose a candidate for each consumer, as if one claimed after the other.

    The plan ends before the first consumer that has none. Raise what the search raises.

    :param wanted: requests without allocations
    """
    requests: list[ConsumerRequest] = []
    choices: list[Choice] = []
    for consumer in wanted:
        if choices:
            cloud = with_choice(cloud, choices[-1])
        choice = chooser.choose(cloud, budget)
        if choice is None:
            break
        requests.append(dataclasses.replace(consumer, allocations=choice.allocations))
        choices.append(choice)
    return ClaimPlan.of_claim(requests, choices, chooser.request)


def repeatable(
    plan: ClaimPlan, cloud: Snapshot, request: CandidateRequest, budget: Budget
) -> ClaimPlan:
    """Return the plan with the mappings that a repetition of its claim will find.

    Nothing stores which provider serves which group. So this is found out before the write, within
    the budget of the plan: with many groups that take unequal amounts of one class, it is bin
    packing. Raise SearchUnfinished, or SearchAbandoned.
    """
    choices = [_repeatable(choice, cloud, request, budget) for choice in plan.choices]
    return dataclasses.replace(plan, choices=choices)


def _repeatable(
    choice: Choice, cloud: Snapshot, request: CandidateRequest, budget: Budget
) -> Choice:
    # the group without suffix takes each class from one provider, so it alone leaves no choice
    if len(choice.slots) == 1 or all(not group.suffix for group in request.groups):
        return choice
    try:
        again = held_candidate(cloud, request, choice.allocations, budget)
    except SearchUnfinished as unfinished:
        raise SearchUnfinished(
            ended=unfinished.facts["ended"],
            what="There is a candidate. But it wasn't found out which group gets what of which "
            "provider if the claim is repeated, so nothing was claimed.",
        ) from unfinished
    return dataclasses.replace(choice, mappings=again.mappings) if again else choice


def write(
    database: Database,
    snapshot: Snapshot,
    plan: ClaimPlan,
    tries: int,
    patience: float,
    wait: bool = False,
) -> tuple[ClaimPlan, dict[str, int]]:
    """Store the plan in one transaction; return it as stored, and the consumers' generations.

    Raise Locked, Holding, or one of OVERTAKEN, if other writers are in the way.

    :param snapshot: where the candidates were found
    :param patience: seconds after which no further try begins
    :param wait: whether to wait for what others have locked
    """
    named = {uuid for request in plan.requests for uuid in request.allocations}
    # a move locks all providers of a tree, so it and such a claim can't pass each other
    anchors = plan.anchors(snapshot)

    def operation(connection: Connection) -> tuple[ClaimPlan, dict[str, int]]:
        if wait:
            locked, nodes, room = lock(connection, plan.requests, anchors)
        else:
            # consumers that hold something are refused, so there are no more providers to lock, and
            # no reason to wait for such a consumer
            locked, (found, *answers) = LockedConsumers.lock_and_ask(
                connection,
                plan.requests,
                providers.lock_free_question(named | anchors),
                *ProviderRoom.questions(named, plan.requests),
                wait=False,
            )
            nodes, room = providers.nodes_in(found), ProviderRoom.of(answers)
        if locked.held:
            raise ConsumerHolds({entry.consumer.lower() for entry in locked.held})
        missing = (named | anchors) - nodes.keys()
        if missing and not wait:
            raise Locked(missing)
        holding = still_holding(connection, snapshot, plan)
        store(connection, locked, nodes, room, plan.claims)
        known = {uuid.lower(): consumer for uuid, consumer in locked.stored.items()}
        return holding, {
            request.uuid: known[request.uuid].generation + 1 if request.uuid in known else 1
            for request in plan.requests
        }

    return database.write(operation, tries, patience)


def without(
    snapshot: Snapshot,
    request: CandidateRequest,
    trees: Collection[str] = (),
    uuids: Collection[str] = (),
) -> Snapshot:
    """Return the cloud, with nothing left of what the request asks for in some places.

    :param trees: any providers of whole trees
    :param uuids: single providers
    """
    if not trees and not uuids:
        return snapshot
    forest = snapshot.forest
    slots = {slot for root in snapshot.roots(trees) for slot in forest.members(root).tolist()}
    slots |= {slot for slot in map(snapshot.slot, uuids) if slot is not None}
    ids = snapshot.names.class_ids
    full = dict.fromkeys(slots, _ALL)
    return snapshot.using({ids[name]: full for name in request.demand if name in ids})


def with_choice(snapshot: Snapshot, choice: Choice) -> Snapshot:
    """Return the cloud after a candidate was claimed."""
    used: dict[int, dict[int, int]] = {}
    for uuid, amounts in choice.allocations.items():
        slot = snapshot.register.slot_of_uuid[uuid]
        for name, amount in amounts.items():
            class_id = snapshot.names.class_ids[name]
            used.setdefault(class_id, {})[slot] = snapshot.used(class_id, slot) + amount
    return snapshot.using(used)


def choices_by_consumer(plan: ClaimPlan) -> Mapping[str, Choice]:
    """Return the plan's candidates by consumer uuid."""
    return {
        request.uuid: choice for request, choice in zip(plan.requests, plan.choices, strict=True)
    }


def still_holding(connection: Connection, snapshot: Snapshot, plan: ClaimPlan) -> ClaimPlan:
    """Return the plan if its candidates are candidates still, now that their trees are locked.

    Where a tree of the plan isn't what the search saw, what changed is read, and each candidate is
    judged again. Usage and inventories don't matter here: the write checks them itself. Raise
    Outdated where a candidate isn't one any more, and where to find out would take long.
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
        found = [
            held_candidate(now, query, choice.allocations, budget)
            for query, choice in zip(plan.queries, plan.choices, strict=True)
        ]
    except PlacementError as unfinished:
        raise Outdated from unfinished
    choices = [choice for choice in found if choice is not None]
    if len(choices) < len(found):
        raise Outdated
    return dataclasses.replace(plan, choices=choices)
