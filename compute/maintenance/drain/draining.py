"""Plan the moves that empty a host, first those that end what is over capacity.

Nothing is moved. What is over capacity may only shrink: each move takes something away from the
host, and goes where there is room after all moves before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from keystoneauth1.exceptions import ClientException

from compute.maintenance.devices import TRAIT
from compute.maintenance.drain.candidate_places import (
    Amounts,
    CandidatePlace,
    CandidateSource,
    Promises,
    QueriedPlaces,
)
from compute.maintenance.fitting import BadQuestion, NotOffered, Questions
from compute.maintenance.moving.guest_queries import GuestQueries, HeldShare, as_it_is
from compute.maintenance.provider_details import ProviderDetails, read_sharing, read_tree
from compute.records.cell_database import CellDatabase
from compute.report import SchedulerReportClient
from compute.report.consumers.consumer import read_consumer
from compute.report.wire.context import RequestContext
from compute.report.wire.failures import Refusal

MIGRATION = "MIGRATION"


@dataclass(frozen=True)
class Excess:
    """A class of which more is used than the provider's capacity."""

    provider: str
    name: str
    resource_class: str
    capacity: int
    used: int


@dataclass(frozen=True)
class Holder:
    """A consumer of the host, with what it holds there and of providers that share with it.

    `consumer_type` is None where placement knows no types. `queries` ask for its share
    elsewhere: any answer to any of them will do.
    """

    uuid: str
    consumer_type: str | None
    own: Amounts
    shared: Amounts
    queries: tuple[str, ...]


@dataclass(frozen=True)
class PlannedMove:
    """A holder goes to a place; `others` are the roots of other trees that have room for it, too.

    `over` is how many excesses are left after this move and all before it.
    """

    holder: Holder
    place: CandidatePlace
    others: list[str]
    over: int


@dataclass
class DrainPlan:
    """Moves in the order in which they can be made.

    :param over: what is over capacity before the first move
    :param unfit: holders that find no place, with the reason
    :param staying: holders that aren't moved, because they are migrations in progress
    """

    over: list[Excess]
    moves: list[PlannedMove] = field(default_factory=list)
    unfit: list[tuple[Holder, str]] = field(default_factory=list)
    staying: list[Holder] = field(default_factory=list)

    @property
    def mended_after(self) -> int | None:
        """After how many moves nothing is over capacity; None if that is after none of them."""
        if not self.over:
            return 0
        return next((n for n, move in enumerate(self.moves, 1) if not move.over), None)


class DrainedHost:
    """A host with all that is held of it, as read once.

    Raises ResourceProviderNotFound, ResourceProviderRetrievalFailed,
    ConsumerAllocationRetrievalFailed and ClientException.

    :param cell: the records of instances
    :param guests: says what each of them asks for elsewhere; other consumers ask for what they hold
    :param watch: gets the uuids of the host's consumers, and yields them; it may show the progress
    """

    def __init__(
        self,
        client: SchedulerReportClient,
        context: RequestContext,
        root: str,
        cell: CellDatabase,
        guests: GuestQueries,
        watch: Callable[[Sequence[str]], Iterable[str]],
    ) -> None:
        self.providers = read_tree(client, context, root)
        self.root = self.providers[0]
        pools = read_sharing(client, context, self.root)
        here = {one.uuid for one in self.providers}
        sharing = {one.uuid for one in pools} - here
        consumers = sorted({uuid for one in self.providers for uuid in one.holders})
        self.holders: list[Holder] = []
        self._totals = {
            (one.uuid, name): record["total"]
            for one in self.providers
            for name, record in one.inventories.items()
        }
        for uuid in watch(consumers):
            body = read_consumer(client, context, uuid)
            held = {rp: part["resources"] for rp, part in body["allocations"].items()}
            own = {rp: amounts for rp, amounts in held.items() if rp in here}
            if own:
                shared = {rp: amounts for rp, amounts in held.items() if rp in sharing}
                share = HeldShare(self.root.uuid, own, _sums(shared.values()))
                instance = cell.instances.by_uuid(uuid)
                asked = guests.of(instance, share) if instance is not None else ()
                queries = tuple(one.to_querystring() for one in asked or (as_it_is(share),))
                kind = body.get("consumer_type")
                self.holders.append(Holder(uuid, kind, own, shared, queries))

    @property
    def is_drained(self) -> bool:
        """Whether everything is reserved, except devices for one use: it takes nothing new."""
        records = [
            record
            for one in self.providers
            if TRAIT not in one.traits
            for record in one.inventories.values()
        ]
        return bool(records) and all(one["reserved"] >= one["total"] for one in records)

    def size_of(self, holder: Holder) -> float:
        """Return the largest share of an inventory here that a holder has."""
        return max(
            amount / max(self._totals.get((uuid, name), 1), 1)
            for uuid, amounts in holder.own.items()
            for name, amount in amounts.items()
        )


class _Use:
    """What is used of a host while its holders leave one after the other."""

    def __init__(self, host: DrainedHost) -> None:
        self._used = Counter[tuple[str, str]]()
        for holder in host.holders:
            self._used.update(_amounts(holder))
        #: in the order in which they are told; a device for one use never is over capacity,
        #: although it is reserved and used at the same time, nor is a host that is drained
        self._over = {
            (one.uuid, name): one
            for one in ([] if host.is_drained else host.providers)
            if TRAIT not in one.traits
            for name in sorted(_classes(one))
            if self._used[one.uuid, name] > one.capacity(name)
        }

    def leave(self, holder: Holder) -> None:
        """Count that a holder is gone."""
        for key, amount in _amounts(holder).items():
            self._used[key] -= amount
            if key in self._over and self._used[key] <= self._over[key].capacity(key[1]):
                del self._over[key]

    def excesses(self) -> list[Excess]:
        """Return what is over capacity now."""
        return [
            Excess(one.uuid, one.name, name, one.capacity(name), self._used[one.uuid, name])
            for (_, name), one in self._over.items()
        ]


def _amounts(holder: Holder) -> dict[tuple[str, str], int]:
    return {
        (uuid, name): amount
        for uuid, amounts in holder.own.items()
        for name, amount in amounts.items()
    }


def _classes(provider: ProviderDetails) -> set[str]:
    return {*provider.inventories, *provider.used}


def _sums(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            sums[name] = sums.get(name, 0) + amount
    return sums


def planned(
    host: DrainedHost, cloud: CandidateSource, questions: Questions, only_excess: bool
) -> DrainPlan:
    """Return the moves that empty the host, or with `only_excess` those that end its excesses.

    Each holder goes to the emptiest of the places that placement names within the limit. If some
    find none, all places are asked for, and the plan is made twice: with the emptiest places, and
    with the fullest. The plan that leaves less undone counts. Raises what `CandidateSource` raises.
    """
    plan = _Planner(host, cloud.candidates, only_excess, prefer=max).run()
    if plan.unfit:
        tries = [
            _Planner(host, cloud.all_candidates, only_excess, prefer).run() for prefer in (max, min)
        ]
        plan = min([plan, *tries], key=lambda one: _left_over(host, one))
    plan.unfit = [(holder, _reason(holder, host, cloud, questions)) for holder, _ in plan.unfit]
    return plan


def _left_over(host: DrainedHost, plan: DrainPlan) -> tuple[bool, int, float]:
    """Return how much a plan leaves undone, the most important first: less is better."""
    sizes = sum(host.size_of(holder) for holder, _ in plan.unfit)
    return plan.mended_after is None, len(plan.unfit), sizes


class _Planner:
    """One try of a plan."""

    def __init__(
        self,
        host: DrainedHost,
        candidates: Callable[[Sequence[str]], QueriedPlaces],
        only_excess: bool,
        prefer: Callable[..., tuple[float, str, CandidatePlace]],
    ) -> None:
        self._host = host
        self._candidates = candidates
        self._only_excess = only_excess
        self._prefer = prefer
        self._promises = Promises()
        self._use = _Use(host)
        self._plan = DrainPlan(self._use.excesses())
        self._left = [one for one in host.holders if one.consumer_type != MIGRATION]
        self._plan.staying = [one for one in host.holders if one.consumer_type == MIGRATION]

    def run(self) -> DrainPlan:
        over = self._plan.over
        while over:
            helping = [one for one in self._left if _relief(one, over)]
            if not helping:
                break
            self._place(
                min(
                    helping,
                    key=lambda one: (-_relief(one, over), self._host.size_of(one), one.uuid),
                )
            )
            over = self._use.excesses()
        if not self._only_excess:
            for holder in sorted(self._left, key=lambda one: (-self._host.size_of(one), one.uuid)):
                self._place(holder)
        return self._plan

    def _place(self, holder: Holder) -> None:
        """Move the holder, or note that it finds no place."""
        self._left.remove(holder)
        fitting = self._fitting(holder)
        if not fitting:
            self._plan.unfit.append((holder, ""))
            return
        *_, place = self._prefer(fitting, key=lambda one: one[:2])
        self._promises.take(place)
        others = dict.fromkeys(one.root for _, _, one in sorted(fitting, key=lambda one: one[:2]))
        others.pop(place.root)
        self._use.leave(holder)
        over = len(self._use.excesses())
        self._plan.moves.append(PlannedMove(holder, place, list(others), over))

    def _fitting(self, holder: Holder) -> list[tuple[float, str, CandidatePlace]]:
        found = self._promises.fitting(self._candidates(holder.queries), self._host.root.uuid)
        return [(share, place.root, place) for share, place in found]


def _relief(holder: Holder, over: Iterable[Excess]) -> float:
    """Return how much of the excesses ends when the holder goes, as a sum of shares."""
    return sum(
        min(
            holder.own.get(one.provider, {}).get(one.resource_class, 0) / (one.used - one.capacity),
            1,
        )
        for one in over
    )


def _reason(holder: Holder, host: DrainedHost, cloud: CandidateSource, questions: Questions) -> str:
    """Return why a holder finds no place: Berth's own explanation where it gives one."""
    found = cloud.all_candidates(holder.queries)
    if any(Promises().fitting(found, host.root.uuid)):
        return "the moves before it in this plan take the room"
    if any(place.root != host.root.uuid for place in found.places):
        return "only hosts that are over capacity themselves have room for it"
    if found.places:
        return "only this host itself has room for it"
    try:
        return str(questions.explain(holder.queries[0], None, None)["message"])
    except (NotOffered, BadQuestion, Refusal, ClientException):
        return "no other host has room for it"
