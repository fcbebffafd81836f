"""Plans candidates for the consumers of claims, in one snapshot (extensions.md 4).

`plan_for` chooses a candidate for each consumer, as if one claimed after the other. Where that
leaves no room for some of them, `other_plan` tries other distributions. `repeatable` then settles
which provider serves which group, with `held_candidate`, which finds the candidate that a consumer
holds.
"""

import collections
import dataclasses
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Column
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest
from placement.candidates.slots import WholeSlot
from placement.domain.consumer import ConsumerRequest
from placement.errors import SearchUnfinished
from placement.extensions.claims.choice import Choice, Chooser, Within

#: more than any capacity: as if so much were used of providers that must not be chosen
_FULL = 1 << 62
#: how many distributions are tried in all, and seconds that those after the first take together
_DISTRIBUTIONS, _SECONDS = 50, 1.0

#: amounts by class name, by provider uuid
Held = Mapping[str, Mapping[str, int]]


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

    def by_consumer(self) -> Mapping[str, Choice]:
        """Return the candidates by consumer uuid."""
        return {
            request.uuid: choice
            for request, choice in zip(self.requests, self.choices, strict=True)
        }

    def anchors(self, snapshot: Snapshot) -> set[str]:
        """Return the roots of trees that have a candidate which takes nothing of them, by uuid."""
        root, register = snapshot.forest.root, snapshot.register
        found = set()
        for choice in self.choices:
            taken = {root[register.slot_of_uuid[uuid]] for uuid in choice.allocations}
            if choice.anchor not in taken:
                found.add(register.uuids[WholeSlot(choice.anchor)])
        return found

    def trees(self, snapshot: Snapshot) -> dict[str, str]:
        """Return the uuids of the providers that the write locks, each with that of its root."""
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


def plan_for(
    cloud: Snapshot, chooser: Chooser, consumers: Sequence[ConsumerRequest], budget: Budget
) -> ClaimPlan:
    """Choose a candidate for each consumer, as if one claimed after the other.

    The plan ends before the first consumer for which there is none. Raises what the search raises.

    :param consumers: requests without allocations
    """
    requests: list[ConsumerRequest] = []
    choices: list[Choice] = []
    for consumer in consumers:
        if choices:
            cloud = with_choice(cloud, choices[-1])
        choice = chooser.choose(cloud, budget)
        if choice is None:
            break
        requests.append(dataclasses.replace(consumer, allocations=choice.allocations))
        choices.append(choice)
    return ClaimPlan.of_claim(requests, choices, chooser.request)


def distribution_matters(cloud: Snapshot) -> bool:
    """Say whether it can matter who gets what: it can't where each tree is one provider.

    All consumers of a claim ask for the same, so each takes as much of such a tree as any other.
    """
    return cloud.forest.nested or len(cloud.sharing) > 0


def other_plan(
    cloud: Snapshot, chooser: Chooser, consumers: Sequence[ConsumerRequest], budget: Budget
) -> tuple[ClaimPlan | None, int]:
    """Distribute the consumers in other ways than `plan_for` does with the same chooser.

    What one consumer gets may block another although both would fit: it takes of a device that only
    the other's group can use, or of a sharing provider that the other needs. The best distribution
    isn't looked for: that is bin packing.

    Return a plan for all of them, or None; and how many ways were tried, the first included.

    :param budget: of all ways together; it is shortened. If it is used up, no more ways are tried
    """
    budget.shorten(_SECONDS)
    for tried in range(1, _DISTRIBUTIONS):
        within = Within.SPARING if tried == 1 else Within.CHANCE
        try:
            plan = plan_for(cloud, dataclasses.replace(chooser, within=within), consumers, budget)
        except SearchUnfinished:
            return None, tried
        if len(plan.choices) == len(consumers):
            return plan, tried + 1
    return None, _DISTRIBUTIONS


def repeatable(
    plan: ClaimPlan, cloud: Snapshot, request: CandidateRequest, budget: Budget
) -> ClaimPlan:
    """Return the plan with the mappings that a repetition of its claim will find.

    Nothing stores which provider serves which group. So this is found out before the write, within
    the budget of the plan: with many groups that take unequal amounts of one class, it is bin
    packing. Raises SearchUnfinished, or SearchAbandoned if the client left.
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


def held_candidate(
    snapshot: Snapshot, request: CandidateRequest, held: Held, budget: Budget
) -> Choice | None:
    """Return the candidate whose allocations are what is held; None if there is none.

    All conditions of the request are checked, but not whether the amounts are free: they are taken
    already. If several candidates have these allocations, it is always the same one, as long as the
    providers don't change.

    Raises what a search raises.
    """
    if _sums(held) != request.demand:
        return None
    amounts_of: dict[int, dict[int, int]] = {
        snapshot.names.class_ids.get(name, -1): {} for name in request.demand
    }
    for uuid, amounts in held.items():
        slot = snapshot.slot(uuid)
        if slot is None:
            return None
        for name, amount in amounts.items():
            amounts_of[snapshot.names.class_ids[name]][slot] = amount
    # In this cloud the inventories are exactly what is held. The sums are equal, so a candidate has
    # to take all of it: any candidate is the one that is held.
    columns = {class_id: _column(amounts) for class_id, amounts in amounts_of.items()}
    return Chooser.first(request).choose(dataclasses.replace(snapshot, columns=columns), budget)


def _sums(held: Held) -> dict[str, int]:
    sums: dict[str, int] = {}
    for amounts in held.values():
        for name, amount in amounts.items():
            sums[name] = sums.get(name, 0) + amount
    return sums


def _column(amounts: Mapping[int, int]) -> Column:
    """Return inventories with these totals by slot, of which any amount can be allocated."""
    slots = sorted(amounts)
    total = [amounts[slot] for slot in slots]
    ones, zeros = np.ones(len(slots)), np.zeros(len(slots))
    return Column.of(slots, [total, zeros, ones, total, ones, ones, zeros])


def as_if_full(
    snapshot: Snapshot,
    request: CandidateRequest,
    trees: Collection[str] = (),
    uuids: Collection[str] = (),
) -> Snapshot:
    """Return the cloud as if some providers had nothing left of what the request asks for.

    :param trees: uuids of any providers of trees: all providers of these trees are full
    :param uuids: uuids of single providers that are full
    """
    if not trees and not uuids:
        return snapshot
    forest = snapshot.forest
    slots = {slot for root in snapshot.roots(trees) for slot in forest.members(root).tolist()}
    slots |= {slot for slot in map(snapshot.slot, uuids) if slot is not None}
    ids = snapshot.names.class_ids
    full = dict.fromkeys(slots, _FULL)
    return snapshot.using({ids[name]: full for name in request.demand if name in ids})


def with_choice(snapshot: Snapshot, choice: Choice) -> Snapshot:
    """Return the cloud as if a candidate had been claimed."""
    used: dict[int, dict[int, int]] = {}
    for uuid, amounts in choice.allocations.items():
        slot = snapshot.register.slot_of_uuid[uuid]
        for name, amount in amounts.items():
            class_id = snapshot.names.class_ids[name]
            used.setdefault(class_id, {})[slot] = snapshot.used(class_id, slot) + amount
    return snapshot.using(used)
