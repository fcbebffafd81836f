"""Giving instances a share of a node, and taking it back (compute.md §4.11)."""

import logging
from dataclasses import replace
from typing import Any

from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.consumers import held_shares
from compute.consumers.held_shares import Holding, Side
from compute.pci import devices as pci_devices
from compute.provider_tree import Resource
from compute.records import migration as migration_record
from compute.records.compute_node import ComputeNode
from compute.records.instance import (
    DELETED,
    Flavor,
    Instance,
    MigrationContext,
    allows_resource_removal,
)
from compute.records.migration import Migration
from compute.report.context import RequestContext
from compute.resource_tracker.claim import Claim, MoveClaim
from compute.resource_tracker.written_allocations import WrittenAllocations

LOG = logging.getLogger(__name__)

Given = dict[str, Any] | None


class Claiming(WrittenAllocations):
    """The claims of a node are made and dropped one after the other, under its lock.

    `allocations` is what the scheduler allocated, `{provider: {"resources": {class: amount}}}`.
    """

    # New instances

    def instance_claim(
        self,
        context: RequestContext,
        instance: Instance,
        nodename: str,
        allocations: Given = None,
        limits: Given = None,
    ) -> Claim:
        """Give a new instance its share of the node and return the claim.

        An instance without a record gets one: what is counted must outlive the process.

        Raises ComputeResourcesUnavailable if the node is disabled or the instance doesn't fit, and
        what `update_available_resource` raises, a need to reshape included; nothing is claimed
        then.
        """
        with self._locks.of(nodename):
            node = self._enabled_node(nodename)
            claim = Claim(
                context, instance, nodename, self, node, *self._room_for(instance, nodename), limits
            )
            before = (instance.numa_topology, instance.pci_devices, instance.resources)
            instance.resources = self._claim_resources(allocations, nodename)
            if instance.pci_requests:
                instance.pci_devices = self._choose_pci(instance, nodename) or []
            instance.numa_topology = claim.claimed_numa_topology or instance.numa_topology
            self._set_instance_host_and_node(instance, node)
            self._track(instance, nodename)
            self._hold(held_shares.built(instance), nodename)
            try:
                self._report_claim(context, instance, node, allocations)
            except Exception:
                self._forget_instance(context, instance, node, *before)
                raise
            return claim

    def abort_instance_claim(
        self, context: RequestContext, instance: Instance, nodename: str
    ) -> None:
        """Take back what `instance_claim` gave; the instance is on no host any more."""
        with self._locks.of(nodename):
            node = self.compute_nodes[nodename]
            self._forget_instance(context, instance, node, None, [], [])
            self._update_after_release(context, node)

    def update_usage(self, context: RequestContext, instance: Instance, nodename: str) -> None:
        """Count a tracked instance as it is now; one that is deleted gives its share back."""
        with self._locks.of(nodename):
            if self.disabled(nodename) or instance.uuid not in self._state(nodename).instances:
                return
            node = self.compute_nodes[nodename]
            if allows_resource_removal(instance.vm_state, instance.task_state):
                self._untrack(instance, nodename)
                is_deleted = instance.vm_state == DELETED
                self._release(context, instance.uuid, node, is_deleted)
                self._update_after_release(context, node)
            else:
                self._track(instance, nodename)
                self._note_usage(nodename)
                self._update(context, node)

    # Moves

    def resize_claim(
        self,
        context: RequestContext,
        instance: Instance,
        flavor: Flavor,
        nodename: str,
        migration: Migration | None,
        allocations: Given,
        image_meta: Any = None,
        limits: Given = None,
    ) -> MoveClaim:
        """Give an instance that comes as `flavor` its share; raises as `instance_claim`.

        Without a `migration` one is made. The source's share is untouched. What the image says of
        it has to be in the instance's topology and requests already.
        """
        return self._move_claim(
            context,
            instance,
            flavor,
            nodename,
            migration,
            allocations,
            limits,
            migration_record.RESIZE,
        )

    def rebuild_claim(
        self,
        context: RequestContext,
        instance: Instance,
        nodename: str,
        allocations: Given,
        limits: Given = None,
        image_meta: Any = None,
        migration: Migration | None = None,
    ) -> MoveClaim:
        """As `resize_claim`, for an instance that is built anew here, as after an evacuation."""
        return self._move_claim(
            context,
            instance,
            instance.flavor,
            nodename,
            migration,
            allocations,
            limits,
            migration_record.EVACUATION,
        )

    def live_migration_claim(
        self,
        context: RequestContext,
        instance: Instance,
        nodename: str,
        migration: Migration,
        limits: Given,
        allocs: Given,
    ) -> MoveClaim:
        """As `resize_claim`, for an instance that comes running."""
        return self._move_claim(
            context,
            instance,
            instance.flavor,
            nodename,
            migration,
            allocs,
            limits,
            migration_record.LIVE_MIGRATION,
        )

    def _move_claim(
        self,
        context: RequestContext,
        instance: Instance,
        flavor: Flavor,
        nodename: str,
        migration: Migration | None,
        allocations: Given,
        limits: Given,
        kind: str,
    ) -> MoveClaim:
        with self._locks.of(nodename):
            node = self._enabled_node(nodename)
            claim = MoveClaim(
                context, instance, nodename, self, node, *self._room_for(instance, nodename), limits
            )
            claim.flavor = flavor
            resources = self._claim_resources(allocations, nodename)
            claim.migration = migration = self._adopt_migration(instance, node, migration, kind)
            if migration.is_resize:
                instance.old_flavor, instance.new_flavor = instance.flavor, flavor
            instance.migration_context = MigrationContext(
                migration_id=migration.id,
                old_numa_topology=instance.numa_topology,
                new_numa_topology=claim.claimed_numa_topology,
                old_pci_devices=list(instance.pci_devices),
                new_pci_devices=self._choose_pci(instance, nodename) or [],
                old_resources=list(instance.resources),
                new_resources=resources,
            )
            self._save(instance)
            self._hold(held_shares.claimed(instance, migration, self.host, nodename), nodename)
            try:
                self._report_claim(context, instance, node, allocations)
            except Exception:
                self._abort_move(context, instance, node, migration)
                raise
            return claim

    def _adopt_migration(
        self, instance: Instance, node: ComputeNode, migration: Migration | None, kind: str
    ) -> Migration:
        """Make the migration, or the one that was handed in, lead here."""
        if migration is None:
            migration = Migration(instance_uuid=instance.uuid, migration_type=kind)
        if migration.source_compute is None:
            migration.source_compute, migration.source_node = instance.host, instance.node
        migration.dest_compute = self.host
        migration.dest_node = node.hypervisor_hostname
        migration.dest_compute_id = node.id
        migration.dest_host = node.host_ip
        if not migration.is_live_migration:
            migration.status = migration_record.PRE_MIGRATING
        elif not migration.in_progress:
            # A destination gave it up before.
            migration.status = migration_record.ACCEPTED
        if migration.id is None:
            self.cell.migrations.create(migration)
        else:
            self.cell.migrations.save(migration)
        return migration

    def drop_move_claim(
        self,
        context: RequestContext,
        instance: Instance,
        nodename: str,
        flavor: Flavor | None = None,
        prefix: str = "new_",
    ) -> None:
        """Give back what a move holds here: `new_` at its destination, `old_` at its source."""
        with self._locks.of(nodename):
            if nodename not in self.compute_nodes:
                return
            node = self.compute_nodes[nodename]
            migration = self._migration_of(instance, nodename)
            if prefix == "new_":
                self._abort_move(context, instance, node, migration)
            else:
                self._leave_source(context, instance, node, migration)
            self._update_after_release(context, node)

    def drop_move_claim_at_source(
        self, context: RequestContext, instance: Instance, migration: Migration
    ) -> None:
        """Confirm the move: the source gives up what the instance had."""
        nodename = migration.source_node or ""
        with self._locks.of(nodename):
            self._end(migration, migration_record.CONFIRMED)
            if nodename not in self.compute_nodes:
                return
            node = self.compute_nodes[nodename]
            self._leave_source(context, instance, node, migration)
            self._update_after_release(context, node)

    def drop_move_claim_at_dest(
        self, context: RequestContext, instance: Instance, migration: Migration
    ) -> None:
        """Revert the move: the destination gives up what the instance would have had.

        Until the source has taken the instance back, its share stays with it there.
        """
        nodename = migration.dest_node or ""
        with self._locks.of(nodename):
            instance.revert_migration_context()
            instance.migration_context = None
            self._save(instance)
            self._end(migration, migration_record.REVERTED)
            if nodename not in self.compute_nodes:
                return
            node = self.compute_nodes[nodename]
            self._give_up(context, instance, node, Side.NEW, migration)
            self._update_after_release(context, node)

    def _end(self, migration: Migration, status: str) -> None:
        migration.status = status
        self.cell.migrations.save(migration)

    def _abort_move(
        self,
        context: RequestContext,
        instance: Instance,
        node: ComputeNode,
        migration: Migration | None,
    ) -> None:
        """Undo a claim of a move here: it is over, and nothing of it stays in the records."""
        if migration is not None and migration.in_progress:
            self._end(migration, migration_record.ERROR)
        instance.migration_context = None
        if migration is None or migration.is_resize:
            instance.old_flavor = instance.new_flavor = None
        self._save(instance)
        self._give_up(context, instance, node, Side.NEW, migration)

    def _leave_source(
        self,
        context: RequestContext,
        instance: Instance,
        node: ComputeNode,
        migration: Migration | None,
    ) -> None:
        """Take from the source what the instance had there; it is its destination's for good."""
        instance.apply_migration_context()
        instance.migration_context = None
        self._save(instance)
        self._give_up(context, instance, node, Side.OLD, migration)

    def _give_up(
        self,
        context: RequestContext,
        instance: Instance,
        node: ComputeNode,
        side: Side,
        migration: Migration | None,
    ) -> None:
        """Count one side of a move no longer, and see to it that placement doesn't, either."""
        nodename = node.hypervisor_hostname
        known = self._state(nodename).holdings.get(instance.uuid) or Holding(instance)
        left = replace(known.without(side, migration), instance=instance)
        if left.shares:
            self._hold(left, nodename)
            if self._writes_all() or instance.uuid in self._state(nodename).own:
                self._settle(context, left, node)
        else:
            self._untrack(instance, nodename)
            self._release(context, instance.uuid, node)

    def _migration_of(self, instance: Instance, nodename: str) -> Migration | None:
        """The migration that the instance was last claimed for; else what is held here is for."""
        context = instance.migration_context
        if context is None or context.migration_id is None:
            return self._state(nodename).migrations.get(instance.uuid)
        return self.cell.migrations.by_id(context.migration_id)

    # Allocations of instances that left

    def delete_allocation_for_evacuated_instance(
        self, context: RequestContext, instance: Instance, node: str, node_type: str = "source"
    ) -> None:
        """Remove what an evacuated instance still holds of the node; a failure is logged."""
        uuid = self.get_node_by_name(node).uuid
        try:
            removed = self.reportclient.remove_provider_tree_from_instance_allocation(
                context, instance.uuid, uuid
            )
        except (
            exceptions.ConsumerAllocationRetrievalFailed,
            exceptions.ResourceProviderRetrievalFailed,
            ClientException,
        ) as failure:
            LOG.warning("%s", failure)
            removed = False
        if not removed:
            LOG.error(
                "Failed to clean allocation of evacuated instance %s on the %s node %s",
                instance.uuid,
                node_type,
                uuid,
            )

    def delete_allocation_for_shelve_offloaded_instance(
        self, context: RequestContext, instance: Instance
    ) -> None:
        """Remove all that a shelved instance holds. Raises AllocationDeleteFailed."""
        self.reportclient.delete_allocation_for_instance(context, instance.uuid, force=True)

    # What claims have in common

    def _enabled_node(self, nodename: str) -> ComputeNode:
        if self.disabled(nodename):
            raise exceptions.ComputeResourcesUnavailable(
                reason=f"node {nodename} is not available on host {self.host}"
            )
        node = self.compute_nodes[nodename]
        if self._state(nodename).mark is None:
            # The update that found the node failed before it counted.
            self._count_holdings(self._read_records(node), nodename)
        return node

    def _room_for(self, instance: Instance, nodename: str) -> tuple[list[dict[str, Any]], bool]:
        """Return the NUMA topologies that are placed there, and whether PCI requests can be met."""
        placed = [
            dict(share.numa_topology)
            for share in self._state(nodename).shares()
            if share.numa_topology
        ]
        return placed, self._choose_pci(instance, nodename) is not None

    def _choose_pci(self, instance: Instance, nodename: str) -> list[dict[str, Any]] | None:
        state = self._state(nodename)
        taken = state.taken_devices()
        return pci_devices.choose(state.pci_devices, taken, instance.pci_requests, instance.uuid)

    def _report_claim(
        self,
        context: RequestContext,
        instance: Instance,
        node: ComputeNode,
        allocations: Given,
    ) -> None:
        """Write the claim's allocations, unless the scheduler did, and the node's record."""
        if allocations and not self._writes_all():
            self._disown(instance.uuid, node)
        else:
            held = self._state(node.hypervisor_hostname).holdings[instance.uuid]
            if not self._settle(context, held, node):
                raise exceptions.ComputeResourcesUnavailable(
                    reason="placement refused the allocation"
                )
        self._update(context, node)

    def _update_after_release(self, context: RequestContext, node: ComputeNode) -> None:
        """Report what is left. The share is given back already: a failure is logged."""
        try:
            self._update(context, node)
        except (exceptions.NovaException, ClientException) as failure:
            LOG.warning(
                "Node %s will be reported at the next update: %s",
                node.hypervisor_hostname,
                failure,
            )

    def _set_instance_host_and_node(self, instance: Instance, node: ComputeNode) -> None:
        instance.host = instance.launched_on = self.host
        instance.node = node.hypervisor_hostname
        instance.compute_id = node.id
        if instance.id is None:
            self.cell.instances.create(instance)
        else:
            self._save(instance)

    def _forget_instance(
        self,
        context: RequestContext,
        instance: Instance,
        node: ComputeNode,
        numa_topology: dict[str, Any] | None,
        devices: list[dict[str, Any]],
        resources: list[Resource],
    ) -> None:
        """Undo the claim of a new instance, which then is on no host and has what it had before."""
        instance.host = instance.node = instance.compute_id = None
        instance.numa_topology, instance.pci_devices = numa_topology, devices
        instance.resources = resources
        self._save(instance)
        self._untrack(instance, node.hypervisor_hostname)
        self._release(context, instance.uuid, node)

    def _save(self, instance: Instance) -> None:
        """Keep the instance's record, if it has one: not every caller's instances are recorded."""
        if instance.id is not None:
            self.cell.instances.save(instance)
