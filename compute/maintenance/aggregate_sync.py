"""Copy host aggregates to placement (compute.md §7.4). Memberships are only added."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compute import exceptions
from compute.records.aggregate import Aggregate
from compute.records.cell_database import CellDatabase
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext


class HostUnmapped(exceptions.NovaException):
    """The host of an aggregate isn't known."""

    msg_fmt = "Host %(host)s has no mapping."


@dataclass(frozen=True)
class Membership:
    """A host in an aggregate. `error` says why the host's provider isn't in the aggregate:

    it is None, HostUnmapped, ComputeHostNotFound or ResourceProviderNotFound.
    """

    aggregate: Aggregate
    host: str
    provider: str | None
    error: exceptions.NovaException | None = None


def sync_aggregates(
    client: SchedulerReportClient, context: RequestContext, cell: CellDatabase
) -> Iterator[Membership]:
    """Put each host's provider into the host's aggregates; yield each membership.

    These failures end it: TooManyComputesForHost, ResourceProviderAggregateRetrievalFailed,
    ResourceProviderUpdateFailed, ResourceProviderUpdateConflict, PlacementAPIConnectFailure.
    """
    for aggregate in cell.aggregates.all():
        for host in aggregate.hosts:
            try:
                provider = _provider_of(cell, host)
                _refuse_missing(client, context, provider)
            except (
                HostUnmapped,
                exceptions.ComputeHostNotFound,
                exceptions.ResourceProviderNotFound,
            ) as error:
                yield Membership(aggregate, host, None, error)
                continue
            client.aggregate_add_host(context, aggregate.uuid, rp_uuid=provider)
            yield Membership(aggregate, host, provider)


def _provider_of(cell: CellDatabase, host: str) -> str:
    if cell.host_mappings.by_host(host) is None:
        raise HostUnmapped(host=host)
    nodes = cell.compute_nodes.by_host(host)
    if not nodes:
        raise exceptions.ComputeHostNotFound(host=host)
    if len(nodes) > 1:
        raise exceptions.TooManyComputesForHost(num_computes=len(nodes), host=host)
    return nodes[0].uuid


def _refuse_missing(client: SchedulerReportClient, context: RequestContext, uuid: str) -> None:
    # A request for its aggregates doesn't distinguish a missing provider from other failures.
    if not client.get_providers_in_tree(context, uuid):
        raise exceptions.ResourceProviderNotFound(name_or_uuid=uuid)
