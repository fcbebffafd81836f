"""Giving new instances a share of a node, and taking it back (compute.md §4.11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compute.consumers import held_shares
from compute.provider_tree import Resource
from compute.records.instance import DELETED, Instance, allows_resource_removal
from compute.report.wire.context import RequestContext
from compute.resource_tracker.allocations.allocations import AllocationWriter
from compute.resource_tracker.claims import named_resources
from compute.resource_tracker.claims.claim import Claim, ClaimKeeper
from compute.resource_tracker.claims.claim_recorder import ClaimRecorder
from compute.resource_tracker.node.node import TrackedNode
from compute.resource_tracker.node.nodes import Nodes
from compute.resource_tracker.reporting.reporting import Reporting


class Claims:
    """Makes and aborts the claims of new instances, one after the other for each node."""

    def __init__(
        self,
        host: str,
        nodes: Nodes,
        recorder: ClaimRecorder,
        allocations: AllocationWriter,
        reporting: Reporting,
    ) -> None:
        self._host = host
        self._nodes = nodes
        self._recorder = recorder
        self._allocations = allocations
        self._reporting = reporting

    def claim(
        self,
        context: RequestContext,
        instance: Instance,
        nodename: str,
        allocations: Mapping[str, object] | None,
        limits: Mapping[str, object] | None,
        keeper: ClaimKeeper,
    ) -> Claim:
        """Give the instance its share and return the claim, which `keeper` takes back.

        The instance becomes one of the node. Without a record it gets one: what is counted must
        outlive the process. If this raises, nothing is claimed.
        """
        with self._nodes.lock(nodename):
            node = self._recorder.available_node(nodename)
            orders = self._recorder.orders(context, instance, node, allocations)
            chosen = self._recorder.choose_devices(context, instance, node, orders, limits)
            claim = Claim(
                context,
                instance,
                nodename,
                keeper,
                node.record,
                instance.pci_requests,
                limits=limits,
                room=self._recorder.room(node, instance, orders, chosen),
            )
            before = (instance.numa_topology, instance.pci_devices, instance.resources)
            instance.resources = named_resources.choose(node, instance.uuid, orders)
            if instance.pci_requests or chosen.devices:
                instance.pci_devices = chosen.devices
            instance.numa_topology = claim.claimed_numa_topology or instance.numa_topology
            instance.host = instance.launched_on = self._host
            instance.node, instance.compute_id = node.name, node.record.id
            self._recorder.save_or_create(instance)
            node.track(instance)
            self._recorder.hold(node, held_shares.built(instance))
            try:
                self._recorder.settle_claim(context, instance, node, allocations)
                more = self._recorder.named_later(context, instance, node, orders)
                if more:
                    instance.resources = more
                    self._recorder.save(instance)
                    self._recorder.hold(node, held_shares.built(instance))
                self._recorder.report_claim(context, instance, node)
            except Exception:
                self._take_back(context, instance, node, *before)
                raise
            return claim

    def abort(self, context: RequestContext, instance: Instance, nodename: str) -> None:
        """Take the share back; the instance is on no host any more."""
        with self._nodes.lock(nodename):
            node = self._nodes.get(nodename)
            self._take_back(context, instance, node, None, [], [])
            self._recorder.report_release(context, node)

    def update_usage(self, context: RequestContext, instance: Instance, nodename: str) -> None:
        """Count a tracked instance as it is now; a deleted one gives its share back."""
        with self._nodes.lock(nodename):
            node = self._nodes.find_available(nodename)
            if node is None or instance.uuid not in node.instances:
                return
            if allows_resource_removal(instance.vm_state, instance.task_state):
                self._recorder.untrack(node, instance)
                is_deleted = instance.vm_state == DELETED
                self._allocations.release(context, instance.uuid, node, is_deleted)
                self._recorder.report_release(context, node)
            else:
                node.track(instance)
                self._recorder.count(node)
                self._reporting.update(context, node)

    def _take_back(
        self,
        context: RequestContext,
        instance: Instance,
        node: TrackedNode,
        numa_topology: dict[str, Any] | None,
        devices: list[dict[str, Any]],
        resources: list[Resource],
    ) -> None:
        """Undo the claim: the instance is on no host and has what it had before."""
        instance.host = instance.node = instance.compute_id = None
        instance.numa_topology, instance.pci_devices = numa_topology, devices
        instance.resources = resources
        self._recorder.save(instance)
        self._recorder.untrack(node, instance)
        self._allocations.release(context, instance.uuid, node)
