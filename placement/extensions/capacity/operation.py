"""Counts how many more of some requests fit, in all, by tree and by aggregate (extensions.md 6)."""

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping

from placement.candidates.budget import Abandoned, Budget, OutOfMemory, OutOfTime
from placement.candidates.cloud.columns import Slots
from placement.candidates.cloud.free_amounts import FreeAmounts
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.ended_search import error_of
from placement.candidates.request import CandidateRequest
from placement.extensions.capacity.count import Capacity, Fits, at_most
from placement.extensions.what_if.changed_cloud import Naming
from placement.extensions.what_if.refusals import refused_at
from placement.extensions.what_if.trees import check_roots, without
from placement.schemas.json_schema import Json

#: what it costs to count for one aggregate, in steps of the budget
_AGGREGATE = 50


@dataclasses.dataclass(frozen=True)
class Breakdown:
    """What the answer has besides the sum.

    :param by_aggregate: whether it has how many fit into each aggregate
    :param by_root: whether it has how many fit into single trees
    :param limit: how many aggregates, and how many trees, it has: those into which most fit
    """

    by_aggregate: bool = False
    by_root: bool = False
    limit: int = 100


@dataclasses.dataclass(frozen=True)
class OfTree:
    """How many fit into one tree."""

    uuid: str
    name: str
    fits: Fits

    def as_json(self) -> Json:
        """Return it as an answer has it."""
        shown: Json = {
            "uuid": self.uuid,
            "name": self.name,
            "fits": self.fits.count,
            "limited_by": next(iter(self.fits.limited_by), None),
        }
        return shown if self.fits.exact else shown | {"upper": self.fits.upper}


@dataclasses.dataclass(frozen=True)
class CountedRoom:
    """How many more of a request fit.

    :param stranded: what then stays free of each class on suitable providers
    :param by_aggregate: by uuid
    """

    fits: Fits
    stranded: Mapping[str, int]
    by_aggregate: Mapping[str, Fits] | None = None
    by_root: list[OfTree] | None = None

    def as_json(self) -> Json:
        """Return it as an answer has it (extensions.md 6)."""
        shown = _shown(self.fits) | {"stranded": dict(self.stranded)}
        shown["verdict"] = self.fits.verdict
        if self.by_aggregate is not None:
            shown["by_aggregate"] = {uuid: _shown(fits) for uuid, fits in self.by_aggregate.items()}
        if self.by_root is not None:
            shown["by_root"] = [tree.as_json() for tree in self.by_root]
        return shown


def _shown(fits: Fits) -> Json:
    shown: Json = {
        "fits": fits.count,
        "exact": fits.exact,
        "trees": fits.trees,
        "limited_by": dict(fits.limited_by),
    }
    return shown if fits.exact else shown | {"upper": fits.upper}


def rooms(
    naming: Naming,
    current: Callable[[], Snapshot],
    requests: Mapping[str, CandidateRequest],
    budgets: Callable[[], Budget],
    refining: Callable[[], Budget],
    gone: Collection[str] = (),
    breakdown: Breakdown | None = None,
) -> dict[str, CountedRoom]:
    """Return how many more of each request fit by itself, by the names of the requests.

    Equal requests are counted once. Each has its share of what is left of the budget; if that is
    used up before the trees are found, the room has bounds only. Raises BadRequest if a provider
    doesn't exist or is no root, SearchAbandoned if the client left, and what a search raises of a
    wrong request.

    :param naming: returns the names of providers by uuid
    :param budgets: returns what all searches together may cost; called after the cloud was read
    :param refining: returns what better results than the first ones may cost
    :param gone: normalised uuids of the roots of trees that are left out
    """
    snapshot = current()
    if gone:
        check_roots(snapshot, gone)
        snapshot = without(snapshot, snapshot.roots(gone))
    budget, patience, free = budgets(), refining(), FreeAmounts(snapshot)
    counting = _RoomCount(snapshot, breakdown or Breakdown())
    try:
        found: dict[str, CountedRoom] = {}
        counted: list[tuple[CandidateRequest, CountedRoom]] = []
        for number, (name, request) in enumerate(requests.items()):
            room = next((room for other, room in counted if other == request), None)
            if room is None:
                share = budget.share(len(requests) - number)
                with refusals_of(name):
                    room = counting.room(request, share, patience, free)
                counted.append((request, room))
            found[name] = room
    except Abandoned as ended:
        raise error_of(ended, snapshot, budget) from ended
    return counting.named(found, naming)


def refusals_of(name: str) -> contextlib.AbstractContextManager[None]:
    """Name the request in a BadRequest that is raised within, unless its name is empty."""
    return refused_at(f"Request {name!r}") if name else contextlib.nullcontext()


class _RoomCount:
    """Counts the room in one snapshot, as a breakdown wants it."""

    def __init__(self, snapshot: Snapshot, breakdown: Breakdown) -> None:
        self._snapshot, self._breakdown = snapshot, breakdown
        self._aggregates = list(self._roots_by_aggregate()) if breakdown.by_aggregate else []

    def _roots_by_aggregate(self) -> Iterable[tuple[str, Slots]]:
        """Yield the aggregates that roots are in, with these roots."""
        is_root = self._snapshot.forest.is_root
        for uuid, aggregate_id in self._snapshot.aggregate_ids.items():
            members = self._snapshot.in_aggregate.get(aggregate_id)
            if members is not None:
                slots = members.slots()
                roots = slots[is_root[slots]]
                if len(roots):
                    yield uuid, roots

    def room(
        self, request: CandidateRequest, budget: Budget, refining: Budget, free: FreeAmounts
    ) -> CountedRoom:
        """Return how many fit; in it, trees have their uuids as names (see `named`)."""
        try:
            return self._counted(request, budget, refining, free)
        except (OutOfTime, OutOfMemory):
            upper, asked = at_most(self._snapshot, request, free), self._breakdown
            return CountedRoom(
                Fits(0, upper, 0, {}),
                {},
                {} if asked.by_aggregate else None,
                [] if asked.by_root else None,
            )

    def _counted(
        self, request: CandidateRequest, budget: Budget, refining: Budget, free: FreeAmounts
    ) -> CountedRoom:
        capacity = Capacity(self._snapshot, request, budget, budget, refining, free)
        fits = capacity.fits()
        by_aggregate = by_root = None
        if self._breakdown.by_aggregate:
            found = []
            for uuid, roots in self._aggregates:
                budget.spend(_AGGREGATE)
                found.append((uuid, capacity.fits(roots)))
            found.sort(key=lambda one: (-one[1].count, one[0]))
            by_aggregate = dict(found[: self._breakdown.limit])
        if self._breakdown.by_root:
            uuids = self._snapshot.register.uuids
            by_root = [
                OfTree(uuids[root], uuids[root], capacity.of_tree(root))
                for root in capacity.largest(self._breakdown.limit)
            ]
        return CountedRoom(fits, capacity.stranded(fits.count), by_aggregate, by_root)

    def named(self, rooms: Mapping[str, CountedRoom], naming: Naming) -> dict[str, CountedRoom]:
        """Return the same with the names of all trees, which are read with one statement."""
        trees = [tree for room in rooms.values() for tree in room.by_root or ()]
        names = naming(dict.fromkeys(tree.uuid for tree in trees))
        return {
            key: dataclasses.replace(
                room,
                by_root=room.by_root
                and [
                    dataclasses.replace(tree, name=names.get(tree.uuid, tree.uuid))
                    for tree in room.by_root
                ],
            )
            for key, room in rooms.items()
        }
