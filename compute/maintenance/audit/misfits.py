"""Guests of this host that hold less or more in placement than their flavors ask for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compute.maintenance.guests.node_trees import NodeTrees
from compute.maintenance.guests.shortfalls import Misfit, Shortfalls
from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance, allows_resource_removal
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext

#: of how many guests one request reads the allocations
_AT_ONCE = 1000


@dataclass(frozen=True)
class MisfitGuest:
    """A guest, and what it holds too little or too much."""

    instance: Instance
    misfit: Misfit


def misfit_guests(
    client: SchedulerReportClient, context: RequestContext, cell: CellDatabase, host: str
) -> Iterator[MisfitGuest]:
    """Yield the host's guests that lack something or hold too much.

    Those that are being worked on are left out.

    Raises ConsumerAllocationRetrievalFailed, ResourceProviderRetrievalFailed,
    ResourceProviderAllocationRetrievalFailed, and ClientException.
    """
    shortfalls = Shortfalls(NodeTrees(client, context), cell)
    guests = [one for one in cell.instances.by_host(host) if _is_settled(one)]
    for start in range(0, len(guests), _AT_ONCE):
        some = guests[start : start + _AT_ONCE]
        held = client.allocations.of_each(context, [one.uuid for one in some])
        for guest in some:
            if misfit := shortfalls.of(guest, held[guest.uuid]["allocations"]):
                yield MisfitGuest(guest, misfit)


def _is_settled(instance: Instance) -> bool:
    return (
        instance.node is not None
        and instance.task_state is None
        and not instance.deleted
        and not allows_resource_removal(instance.vm_state)
    )
