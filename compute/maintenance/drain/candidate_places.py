"""Where a consumer could go: allocation candidates that leave room for earlier moves of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import os_traits

from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.report.wire.failures import Refusal

VERSION = "1.36"

#: provider uuid → class → amount
Amounts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class CandidatePlace:
    """What a consumer would hold in the tree of `root`, by provider uuid and class."""

    root: str
    allocations: Amounts


@dataclass(frozen=True)
class QueriedPlaces:
    """The candidates of one query, or of several of which any will do.

    :param places: all of them, those in the tree of the drained host included
    :param stock: (provider, class) → (capacity, used)
    :param overfull: roots of trees in which something is over capacity
    :param is_cut: whether the limit may have cut more off
    """

    places: list[CandidatePlace]
    stock: Mapping[tuple[str, str], tuple[int, int]]
    overfull: frozenset[str]
    is_cut: bool

    @classmethod
    def of_all(cls, parts: Sequence[QueriedPlaces]) -> QueriedPlaces:
        """Return the candidates of several queries as those of one."""
        return cls(
            [place for one in parts for place in one.places],
            {key: amounts for one in parts for key, amounts in one.stock.items()},
            frozenset(root for one in parts for root in one.overfull),
            any(one.is_cut for one in parts),
        )


class CandidateSource:
    """Asks placement for candidates, each query once. Of several queries any answer will do.

    The methods raise Refusal if placement refuses, and ClientException if it is unreachable.

    :param limit: how many candidates are asked for at first
    """

    def __init__(self, client: SchedulerReportClient, context: RequestContext, limit: int) -> None:
        self._client = client
        self._context = context
        self._limit = limit
        self._found: dict[str, QueriedPlaces] = {}

    def candidates(self, queries: Sequence[str]) -> QueriedPlaces:
        """Return the candidates, up to the limit unless `all_candidates` was asked before."""
        return QueriedPlaces.of_all([self._first(query) for query in queries])

    def all_candidates(self, queries: Sequence[str]) -> QueriedPlaces:
        """Return the candidates without a limit."""
        for query in queries:
            if self._first(query).is_cut:
                self._found[query] = self._ask(query, None)
        return self.candidates(queries)

    def _first(self, query: str) -> QueriedPlaces:
        if query not in self._found:
            self._found[query] = self._ask(query, self._limit)
        return self._found[query]

    def _ask(self, query: str, limit: int | None) -> QueriedPlaces:
        limited = query if limit is None else f"{query}&limit={limit}"
        response = self._client.get(
            f"/allocation_candidates?{limited}",
            version=VERSION,
            global_request_id=self._context.global_id,
        )
        if response.status_code != 200:
            raise Refusal(response)
        body = response.json()
        summaries = body["provider_summaries"]
        stock = {
            (uuid, name): (amount["capacity"], amount["used"])
            for uuid, summary in summaries.items()
            for name, amount in summary["resources"].items()
        }
        overfull = {
            summaries[uuid]["root_provider_uuid"]
            for (uuid, _), (capacity, used) in stock.items()
            if used > capacity and not _is_for_one_use(summaries[uuid])
        }
        places = [_place(one["allocations"], summaries) for one in body["allocation_requests"]]
        return QueriedPlaces(
            places, stock, frozenset(overfull), limit is not None and len(places) >= limit
        )


def _is_for_one_use(summary: Mapping[str, Any]) -> bool:
    return os_traits.HW_PCI_ONE_TIME_USE in summary["traits"]


def _place(allocations: Mapping[str, Any], summaries: Mapping[str, Any]) -> CandidatePlace:
    """Return the place of a candidate.

    Its root is that of the first tree of which the candidate uses more than sharing providers.
    """
    roots: dict[str, None] = {}
    for uuid in allocations:
        if os_traits.MISC_SHARES_VIA_AGGREGATE not in summaries[uuid]["traits"]:
            roots[summaries[uuid]["root_provider_uuid"]] = None
    first = next(iter(allocations))
    root = next(iter(roots), summaries[first]["root_provider_uuid"])
    return CandidatePlace(root, {uuid: part["resources"] for uuid, part in allocations.items()})


@dataclass
class Promises:
    """What earlier moves of a plan take: (provider, class) → amount."""

    taken: dict[tuple[str, str], int] = field(default_factory=dict)

    def fitting(self, found: QueriedPlaces, leaving: str) -> Iterator[tuple[float, CandidatePlace]]:
        """Yield the places that still have room, each with the least share that it leaves free.

        For example, a place that leaves 4 of 16 VCPU and half of the memory leaves 0.25. The tree
        `leaving` has no place, nor has a tree in which something is over capacity.
        """
        for place in found.places:
            if place.root == leaving or place.root in found.overfull:
                continue
            shares = list(self._shares(place, found))
            if min(shares, default=-1.0) >= 0:
                yield min(shares), place

    def _shares(self, place: CandidatePlace, found: QueriedPlaces) -> Iterable[float]:
        for uuid, amounts in place.allocations.items():
            for name, amount in amounts.items():
                capacity, used = found.stock[uuid, name]
                left = capacity - used - self.taken.get((uuid, name), 0) - amount
                yield left / capacity if capacity else -1.0

    def take(self, place: CandidatePlace) -> None:
        """Count a move to a place."""
        for uuid, amounts in place.allocations.items():
            for name, amount in amounts.items():
                self.taken[uuid, name] = self.taken.get((uuid, name), 0) + amount
