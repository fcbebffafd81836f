"""Allocations of PCI devices that the tracker chose (compute.md §4.10, §6.11)."""

import logging
from collections.abc import Collection, Mapping
from typing import Any

from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.consumers.held_shares import InstanceHolding
from compute.pci.device_healing import DeviceProvider
from compute.records.cell_database import CellDatabase
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.resource_tracker.allocations.allocations import AllocationWriter
from compute.resource_tracker.node.node import TrackedNode

LOG = logging.getLogger(__name__)

# How often a write is tried while others change the same consumer.
_TRIES = 4


class DeviceNotes:
    """Which allocations of devices the tracker gave, whoever writes the others of the consumer.

    The cell database has them beside the consumers that a tracker writes for, with the uuid of the
    device's provider in place of the node's.
    """

    def __init__(self, cell: CellDatabase) -> None:
        self._cell = cell

    def add(self, consumer: str, provider: str) -> None:
        """Note an allocation, before it is written."""
        self._cell.own_allocations.add(consumer, provider)

    def has(self, consumer: str, provider: str) -> bool:
        """Say whether the tracker gave the consumer what it has of the provider."""
        return consumer in self._cell.own_allocations.of_node(provider)

    def discard(self, consumer: str, provider: str) -> None:
        """Forget an allocation that is gone."""
        self._cell.own_allocations.discard(consumer, provider)

    def forget_all_but(self, provider: str, consumers: Collection[str]) -> None:
        """Forget who has nothing of the provider any more."""
        for consumer in self._cell.own_allocations.of_node(provider) - set(consumers):
            self.discard(consumer, provider)


class DeviceShares:
    """Gives instances allocations of the devices that they have and lack in placement."""

    def __init__(
        self, reportclient: SchedulerReportClient, writer: AllocationWriter, notes: DeviceNotes
    ) -> None:
        self._reportclient = reportclient
        self._writer = writer
        self._notes = notes

    def give(
        self,
        context: RequestContext,
        uuid: str,
        held: InstanceHolding | None,
        node: TrackedNode,
        places: Mapping[str, DeviceProvider],
    ) -> str | None:
        """Have placement allocate the instance's devices; return why that can't be done.

        An instance without any allocations gets none: nobody writes them. What it has of other
        devices of the node would be an order that came after the choice: then nothing is written.
        """
        if not places or node.tree is None:
            return None
        try:
            for _ in range(_TRIES):
                try:
                    return self._try_to_give(context, uuid, held, node, places)
                except exceptions.AllocationUpdateFailed as conflict:
                    LOG.debug("Trying again: %s", conflict)
        except (
            exceptions.ConsumerAllocationRetrievalFailed,
            exceptions.PlacementAPIConnectFailure,
            ClientException,
        ) as failure:
            return f"the devices could not be allocated: {failure}"
        return f"the allocations of {uuid} keep changing"

    def _try_to_give(
        self,
        context: RequestContext,
        uuid: str,
        held: InstanceHolding | None,
        node: TrackedNode,
        places: Mapping[str, DeviceProvider],
    ) -> str | None:
        current = self._reportclient.get_allocs_for_consumer(context, uuid)
        if not current["allocations"]:
            return None
        parts: dict[str, Any] = {
            provider: {"resources": dict(part["resources"])}
            for provider, part in current["allocations"].items()
        }
        addresses = {device["address"] for device in node.pci_claims.get(uuid, ())}
        if held is not None:
            for share in self._writer.shares_of_instance(context, held, node):
                addresses |= share.addresses
        lacking = []
        for provider, place in places.items():
            amount = len(addresses.intersection(place.addresses))
            part = parts.get(provider, {}).get("resources", {})
            has = part.get(place.resource_class, 0)
            if has > amount and not self._writer.writes(uuid, node):
                return f"placement has allocated {place.name} to it meanwhile"
            if has < amount:
                lacking.append(provider)
                parts[provider] = {"resources": {**part, place.resource_class: amount}}
        if not lacking:
            return None
        for provider in lacking:
            self._notes.add(uuid, provider)
        payload = {
            "allocations": parts,
            "project_id": current["project_id"],
            "user_id": current["user_id"],
            "consumer_generation": current.get("consumer_generation"),
        }
        if self._reportclient.put_allocations(context, uuid, payload):
            return None
        names = ", ".join(places[provider].name for provider in lacking)
        return f"placement refused the allocation of {names}"
