"""Where a consumer could go: allocation candidates that leave room for earlier moves of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import os_traits

from compute.report import SchedulerReportClient
from compute.report.consumers.resource_request import RequestGroup, ResourceRequest
from compute.report.wire.context import RequestContext
from compute.report.wire.failures import Refusal

VERSION = "1.36"

#: provider uuid → class → amount
Amounts = Mapping[str, Mapping[str, int]]


def query_of(own: Amounts, root: str, shared: Mapping[str, int]) -> str:
    """Return the query of GET /allocation_candidates for what a consumer holds of a tree.

    What it holds of the root and of `shared`, class → amount of providers that share, may come from
    anywhere in the new tree; what it holds of a child comes from one provider there. Hosts whose
    service is disabled take nothing new.
    """
    together = dict(own.get(root, {}))
    for name, amount in shared.items():
        together[name] = together.get(name, 0) + amount
    groups = {"": RequestGroup(together)} if together else {}
    children = sorted(uuid for uuid in own if uuid != root)
    groups |= {f"_{number}": RequestGroup(own[uuid]) for number, uuid in enumerate(children, 1)}
    return ResourceRequest(
        groups,
        group_policy="none" if len(children) > 1 else None,
        root_forbidden=frozenset([os_traits.COMPUTE_STATUS_DISABLED]),
    ).to_querystring()


@dataclass(frozen=True)
class CandidatePlace:
    """What a consumer would hold in the tree of `root`, by provider uuid and class."""

    root: str
    allocations: Amounts


@dataclass(frozen=True)
class QueriedPlaces:
    """The candidates of one query.

    :param places: all of them, those in the tree of the drained host included
    :param stock: (provider, class) → (capacity, used)
    :param overfull: roots of trees in which something is over capacity
    :param is_cut: whether the limit may have cut more off
    """

    places: list[CandidatePlace]
    stock: Mapping[tuple[str, str], tuple[int, int]]
    overfull: frozenset[str]
    is_cut: bool


class CandidateSource:
    """Asks placement for candidates, each query once.

    The methods raise Refusal if placement refuses, and ClientException if it is unreachable.

    :param limit: how many candidates are asked for at first
    """

    def __init__(self, client: SchedulerReportClient, context: RequestContext, limit: int) -> None:
        self._client = client
        self._context = context
        self._limit = limit
        self._found: dict[str, QueriedPlaces] = {}

    def candidates(self, query: str) -> QueriedPlaces:
        """Return the candidates, up to the limit unless `all_candidates` was asked before."""
        if query not in self._found:
            self._found[query] = self._ask(query, self._limit)
        return self._found[query]

    def all_candidates(self, query: str) -> QueriedPlaces:
        """Return the candidates without a limit."""
        if self.candidates(query).is_cut:
            self._found[query] = self._ask(query, None)
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
