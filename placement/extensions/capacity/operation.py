"""Tell how many more of some requests fit, by tree and by aggregate (extensions.md 6)."""

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from placement.candidates.budget import Budget, SearchEnded
from placement.candidates.cloud.free_amounts import FreeAmounts
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.ended_search import refusal
from placement.candidates.request import CandidateRequest
from placement.errors import BadRequest
from placement.extensions.capacity.count import Capacity, Fits, without
from placement.extensions.capacity.tree_roots import check_roots
from placement.extensions.explain.operation import names_from
from placement.storage.database.engine import Database

#: what it costs to count for one aggregate, in steps of the budget
_AGGREGATE = 50


@dataclasses.dataclass(frozen=True)
class Breakdown:
    """What is told besides the sum.

    :param by_aggregate: whether each aggregate is told
    :param by_root: whether single trees are told
    :param limit: how many aggregates, and how many trees, are told: those into which most fit
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

    def as_json(self) -> dict[str, Any]:
        """Return it as an answer has it."""
        found: dict[str, Any] = {
            "uuid": self.uuid,
            "name": self.name,
            "fits": self.fits.count,
            "limited_by": next(iter(self.fits.limited_by), None),
        }
        return found if self.fits.exact else found | {"upper": self.fits.upper}


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

    def as_json(self) -> dict[str, Any]:
        """Return it as an answer has it (extensions.md 6)."""
        found = _shown(self.fits) | {"stranded": dict(self.stranded)}
        if self.by_aggregate is not None:
            found["by_aggregate"] = {uuid: _shown(fits) for uuid, fits in self.by_aggregate.items()}
        if self.by_root is not None:
            found["by_root"] = [tree.as_json() for tree in self.by_root]
        return found


def _shown(fits: Fits) -> dict[str, Any]:
    found: dict[str, Any] = {
        "fits": fits.count,
        "exact": fits.exact,
        "trees": fits.trees,
        "limited_by": dict(fits.limited_by),
    }
    return found if fits.exact else found | {"upper": fits.upper}


def rooms(
    database: Database,
    current: Callable[[], Snapshot],
    requests: Mapping[str, CandidateRequest],
    budgets: Callable[[], Budget],
    refining: Callable[[], Budget],
    gone: Collection[str] = (),
    breakdown: Breakdown | None = None,
) -> dict[str, CountedRoom]:
    """Return how many of each request fit if all others stay away, by the names of the requests.

    Raise UnknownProviderNamed, BadRequest for a provider that is no root, and what searches raise.

    :param budgets: returns what all searches together may cost; called when the cloud was read
    :param refining: returns what better results than the first ones may cost
    :param gone: normalised uuids of the roots of trees that are left out
    """
    snapshot = current()
    if gone:
        check_roots(snapshot, gone)
        snapshot = without(snapshot, snapshot.roots(gone))
    budget, patience, free = budgets(), refining(), FreeAmounts(snapshot)
    telling = _Telling(snapshot, breakdown or Breakdown())
    try:
        found = {}
        for number, (name, request) in enumerate(requests.items()):
            share = budget.share(len(requests) - number)
            with refusals_of(name):
                capacity = Capacity(snapshot, request, budget, share, patience, free)
            found[name] = telling.room(capacity, budget)
    except SearchEnded as ended:
        raise refusal(ended, snapshot, budget) from ended
    return telling.named(found, names_from(database))


@contextlib.contextmanager
def refusals_of(name: str) -> Iterator[None]:
    """Say in refusals which request they are about, unless its name is empty."""
    try:
        yield
    except BadRequest as refused:
        if not name:
            raise
        raise type(refused)(f"Request {name!r}: {refused.message}", **refused.facts) from refused


class _Telling:
    """Tells of capacities in one snapshot."""

    def __init__(self, snapshot: Snapshot, breakdown: Breakdown) -> None:
        self._snapshot, self._breakdown = snapshot, breakdown
        self._aggregates = list(self._members()) if breakdown.by_aggregate else []

    def _members(self) -> Iterable[tuple[str, np.ndarray]]:
        """Yield the aggregates that roots are in, with these roots."""
        is_root = self._snapshot.forest.is_root
        for uuid, aggregate_id in self._snapshot.aggregate_ids.items():
            members = self._snapshot.in_aggregate.get(aggregate_id)
            if members is not None:
                slots = members.slots()
                roots = slots[is_root[slots]]
                if len(roots):
                    yield uuid, roots

    def room(self, capacity: Capacity, budget: Budget) -> CountedRoom:
        """Return how many fit; the trees have no names yet."""
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

    def named(
        self, rooms: Mapping[str, CountedRoom], naming: Callable[[Iterable[str]], Mapping[str, str]]
    ) -> dict[str, CountedRoom]:
        """Return it with the names of trees, which are read at once."""
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
