"""PCI devices for instances that exist already, such as for a port that is attached to a guest.

A device is first claimed and then allocated. Claims are kept in memory only: they belong to a
request that this process works on. Allocated devices are kept in the instance's record.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from compute import exceptions
from compute.consumers.held_shares import Side
from compute.pci.devices import Device
from compute.records.instance import Instance
from compute.report.wire.context import RequestContext
from compute.resource_tracker.claims.claim_recorder import ClaimRecorder
from compute.resource_tracker.node.node import TrackedNode
from compute.resource_tracker.node.nodes import Nodes

LOG = logging.getLogger(__name__)


class PciRequests(Protocol):
    """The requests of one instance, each a dict as `compute.pci.devices` describes it."""

    instance_uuid: str
    requests: list[dict[str, Any]]


class PciTracker:
    """Claims, allocates and frees devices of the nodes.

    A claim of devices that placement has is reported at once; the next update of the node reports
    the other changes.
    """

    def __init__(self, host: str, nodes: Nodes, recorder: ClaimRecorder) -> None:
        self._host = host
        self._nodes = nodes
        self._recorder = recorder

    @property
    def pci_devs(self) -> list[Device]:
        """The devices that the driver listed at the last update."""
        return [device for node in self._nodes.all() for device in node.pci_devices]

    @property
    def stats(self) -> list[dict[str, object]]:
        """The pools of free devices, each with its `count`."""
        return [pool for node in self._nodes.all() for pool in node.record.pci_device_pools]

    def claim_instance(
        self, context: RequestContext, pci_requests: PciRequests, instance_numa_topology: object
    ) -> list[Device]:
        """Claim devices for all requests and return them; return none if there are too few.

        They are devices of the instance's node, or of the first node that has enough if no node
        has the instance. `instance_numa_topology` has no effect: a request chooses by tags alone.
        """
        uuid = pci_requests.instance_uuid
        homes = [node for node in self._nodes.all() if _has(node, uuid)]
        for node in homes or self._nodes.all():
            with self._nodes.lock(node.name):
                claimed = self._claim(context, node, uuid, pci_requests.requests)
                if claimed:
                    return claimed
        return []

    def _claim(
        self,
        context: RequestContext,
        node: TrackedNode,
        uuid: str,
        requests: Sequence[Mapping[str, object]],
    ) -> list[Device]:
        """Claim devices of the node, all or none. What placement has is reported at once."""
        before = node.pci_claims.get(uuid)
        try:
            chosen = self._recorder.choose_more_devices(context, uuid, node, requests)
            if not chosen.devices:
                LOG.info("Node %s: %s", node.name, chosen.problem or "no devices are requested")
                return []
            claimed = [{**device, "status": "claimed"} for device in chosen.devices]
            node.pci_claims[uuid] = [*(before or ()), *claimed]
            self._recorder.reserve_devices(context, uuid, node, claimed)
        except Exception as failure:
            node.pci_claims.pop(uuid, None)
            if before is not None:
                node.pci_claims[uuid] = before
            if isinstance(failure, exceptions.ComputeResourcesUnavailable):
                LOG.warning("Node %s: %s", node.name, failure)
                return []
            raise
        self._recorder.count(node)
        return claimed

    def allocate_instance(self, instance: Instance) -> None:
        """Make the devices that are claimed for the instance its own."""
        for node in self._nodes.all():
            with self._nodes.lock(node.name):
                claimed = node.pci_claims.pop(instance.uuid, [])
                if claimed:
                    allocated = [{**device, "status": "allocated"} for device in claimed]
                    for devices in self._device_lists(node, instance):
                        devices += allocated
                    self._keep(node, instance)

    def free_device(self, dev: Device, instance: Instance) -> None:
        """Give one device back, whether it is claimed for the instance or allocated to it."""
        for node in self._nodes.all():
            with self._nodes.lock(node.name):
                self._free_claims(node, instance, {dev["address"]})
                self._free_allocations(node, instance, {dev["address"]})

    def free_instance(self, context: RequestContext, instance: Instance) -> None:
        """Give all devices of the instance back."""
        self.free_instance_claims(context, instance)
        self.free_instance_allocations(context, instance)

    def free_instance_claims(self, context: RequestContext, instance: Instance) -> None:
        """Give the devices back that are claimed for the instance and not allocated."""
        for node in self._nodes.all():
            with self._nodes.lock(node.name):
                self._free_claims(node, instance)

    def free_instance_allocations(self, context: RequestContext, instance: Instance) -> None:
        """Give the devices back that are allocated to the instance."""
        for node in self._nodes.all():
            with self._nodes.lock(node.name):
                self._free_allocations(node, instance)

    def _free_claims(
        self, node: TrackedNode, instance: Instance, addresses: set[str] | None = None
    ) -> None:
        """Give back claimed devices with these addresses; None: all of them."""
        claimed = node.pci_claims.pop(instance.uuid, [])
        kept = _without(claimed, addresses)
        if kept:
            node.pci_claims[instance.uuid] = kept
        if len(kept) < len(claimed):
            self._recorder.count(node)

    def _free_allocations(
        self, node: TrackedNode, instance: Instance, addresses: set[str] | None = None
    ) -> None:
        """Give back allocated devices with these addresses; None: all of them."""
        freed = False
        for devices in self._device_lists(node, instance):
            kept = _without(devices, addresses)
            freed = freed or len(kept) < len(devices)
            devices[:] = kept
        if freed:
            self._keep(node, instance)

    def _device_lists(self, node: TrackedNode, instance: Instance) -> list[list[Device]]:
        """Return the lists of the instance's record that have devices of this node.

        While an instance moves, its migration context has what it has at each end of the move.
        """
        context = instance.migration_context
        held = node.holdings.get(instance.uuid)
        sides = {share.side for share in held.shares} if held is not None else set()
        lists = []
        if (instance.host, instance.node) == (self._host, node.name):
            lists.append(instance.pci_devices)
        if context is not None and Side.OLD in sides:
            lists.append(context.old_pci_devices)
        if context is not None and Side.NEW in sides:
            lists.append(context.new_pci_devices)
        return lists

    def _keep(self, node: TrackedNode, instance: Instance) -> None:
        """Save the instance's record, and count its devices as the record has them now."""
        self._recorder.save(instance)
        held = node.holdings.get(instance.uuid)
        if held is not None:
            self._recorder.hold(node, held.with_devices_of(instance))
        else:
            self._recorder.count(node)


def _has(node: TrackedNode, instance_uuid: str) -> bool:
    return instance_uuid in node.instances or instance_uuid in node.holdings


def _without(devices: list[Device], addresses: set[str] | None) -> list[Device]:
    return [one for one in devices if addresses is not None and one["address"] not in addresses]
