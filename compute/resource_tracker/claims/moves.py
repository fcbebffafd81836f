"""Giving instances that move a share of a node, and taking it back (compute.md §4.11).

While an instance moves it holds two shares: the old one at its source and the new one at its
destination; see `compute.consumers.held_shares`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from compute.consumers import held_shares
from compute.consumers.held_shares import InstanceHolding, Side
from compute.records import migration as migration_record
from compute.records.cell_database import CellDatabase
from compute.records.instance import Flavor, Instance, MigrationContext
from compute.records.migration import Migration
from compute.report.wire.context import RequestContext
from compute.resource_tracker.allocations.allocations import AllocationWriter
from compute.resource_tracker.claims import named_resources
from compute.resource_tracker.claims.claim import ClaimKeeper, MoveClaim
from compute.resource_tracker.claims.claim_recorder import ClaimRecorder
from compute.resource_tracker.node.node import TrackedNode
from compute.resource_tracker.node.nodes import Nodes


class Moves:
    """Makes, ends and aborts the claims of moves, one after the other for each node."""

    def __init__(
        self,
        host: str,
        cell: CellDatabase,
        nodes: Nodes,
        recorder: ClaimRecorder,
        allocations: AllocationWriter,
    ) -> None:
        self._host = host
        self._cell = cell
        self._nodes = nodes
        self._recorder = recorder
        self._allocations = allocations

    def claim(
        self,
        context: RequestContext,
        instance: Instance,
        flavor: Flavor,
        nodename: str,
        migration: Migration | None,
        allocations: Mapping[str, object] | None,
        limits: Mapping[str, object] | None,
        kind: str,
        keeper: ClaimKeeper,
    ) -> MoveClaim:
        """Give an instance that comes with `flavor` its share; the source's share stays.

        :param migration: the migration, which gets its destination here; None: one is made
        :param kind: the type of a migration that is made
        :param keeper: takes the claim back
        """
        with self._nodes.lock(nodename):
            node = self._recorder.available_node(nodename)
            if migration is None:
                migration = Migration(instance_uuid=instance.uuid, migration_type=kind)
            orders = self._recorder.orders(context, instance, node, allocations, migration)
            chosen = self._recorder.choose_devices(context, instance, node, orders, limits)
            claim = MoveClaim(
                context,
                instance,
                nodename,
                flavor,
                None,
                keeper,
                node.record,
                instance.pci_requests,
                migration,
                limits,
                room=self._recorder.room(node, instance, orders, chosen),
            )
            resources = named_resources.choose(node, instance.uuid, orders)
            self._lead_here(instance, node, migration)
            if migration.is_resize:
                instance.old_flavor, instance.new_flavor = instance.flavor, flavor
            instance.migration_context = MigrationContext(
                migration_id=migration.id,
                old_numa_topology=instance.numa_topology,
                new_numa_topology=claim.claimed_numa_topology,
                old_pci_devices=list(instance.pci_devices),
                new_pci_devices=chosen.devices,
                old_resources=list(instance.resources),
                new_resources=resources,
            )
            self._recorder.save(instance)
            held = held_shares.claimed(instance, migration, self._host, node.name)
            self._recorder.hold(node, held)
            try:
                self._recorder.settle_claim(context, instance, node, allocations)
                more = self._recorder.named_later(context, instance, node, orders, migration)
                if more:
                    instance.migration_context.new_resources = more
                    self._recorder.save(instance)
                    held = held_shares.claimed(instance, migration, self._host, node.name)
                    self._recorder.hold(node, held)
                self._recorder.report_claim(context, instance, node)
            except Exception:
                self._abort(context, instance, node, migration)
                raise
            return claim

    def drop(self, context: RequestContext, instance: Instance, nodename: str, prefix: str) -> None:
        """Give back what a move holds here: `new_` at its destination, `old_` at its source."""
        with self._nodes.lock(nodename):
            node = self._nodes.find(nodename)
            if node is None:
                return
            migration = self._migration_of(instance, node)
            if prefix == "new_":
                self._abort(context, instance, node, migration)
            else:
                self._leave_source(context, instance, node, migration)
            self._recorder.report_release(context, node)

    def confirm(self, context: RequestContext, instance: Instance, migration: Migration) -> None:
        """End the move at its source, which gives up what the instance had there."""
        nodename = migration.source_node or ""
        with self._nodes.lock(nodename):
            self._end(migration, migration_record.CONFIRMED)
            node = self._nodes.find(nodename)
            if node is None:
                return
            self._leave_source(context, instance, node, migration)
            self._recorder.report_release(context, node)

    def revert(self, context: RequestContext, instance: Instance, migration: Migration) -> None:
        """End the move at its destination, which gives up what the instance would have had.

        Until the source has taken the instance back, the instance keeps its share there.
        """
        nodename = migration.dest_node or ""
        with self._nodes.lock(nodename):
            instance.revert_migration_context()
            instance.migration_context = None
            self._recorder.save(instance)
            self._end(migration, migration_record.REVERTED)
            node = self._nodes.find(nodename)
            if node is None:
                return
            self._give_up(context, instance, node, Side.NEW, migration)
            self._recorder.report_release(context, node)

    def finish_evacuation(
        self, instance: Instance, nodename: str, migration: Migration | None
    ) -> None:
        """Make an instance that was rebuilt here an instance of the node; end its migration.

        The share that was claimed for the evacuation becomes the instance's own. Nothing is
        reported: the node's inventory stays, and the share's allocations are written already.

        Raises ComputeHostNotFound for a node that isn't tracked.
        """
        with self._nodes.lock(nodename):
            node = self._nodes.get(nodename)
            instance.apply_migration_context()
            instance.migration_context = None
            instance.host, instance.node = self._host, node.name
            instance.compute_id = node.record.id
            self._recorder.save(instance)
            # End the migration last: until then the node counts its share, in any state of the
            # instance.
            if migration is not None:
                self._end(migration, migration_record.DONE)
            node.track(instance)
            self._recorder.hold(node, held_shares.built(instance))

    def _lead_here(self, instance: Instance, node: TrackedNode, migration: Migration) -> None:
        """Make the node the migration's destination, and keep its record."""
        if migration.source_compute is None:
            migration.source_compute, migration.source_node = instance.host, instance.node
        migration.dest_compute = self._host
        migration.dest_node = node.name
        migration.dest_compute_id = node.record.id
        migration.dest_host = node.record.host_ip
        if not migration.is_live_migration:
            migration.status = migration_record.PRE_MIGRATING
        elif not migration.in_progress:
            # It was reverted at another destination before.
            migration.status = migration_record.ACCEPTED
        if migration.id is None:
            self._cell.migrations.create(migration)
        else:
            self._cell.migrations.save(migration)

    def _end(self, migration: Migration, status: str) -> None:
        migration.status = status
        self._cell.migrations.save(migration)

    def _abort(
        self,
        context: RequestContext,
        instance: Instance,
        node: TrackedNode,
        migration: Migration | None,
    ) -> None:
        """Undo a claim of a move here: it is over, and nothing of it stays in the records."""
        if migration is not None and migration.in_progress:
            self._end(migration, migration_record.ERROR)
        instance.migration_context = None
        if migration is None or migration.is_resize:
            instance.old_flavor = instance.new_flavor = None
        self._recorder.save(instance)
        self._give_up(context, instance, node, Side.NEW, migration)

    def _leave_source(
        self,
        context: RequestContext,
        instance: Instance,
        node: TrackedNode,
        migration: Migration | None,
    ) -> None:
        """Take from the source what the instance had there; it is its destination's for good."""
        instance.apply_migration_context()
        instance.migration_context = None
        self._recorder.save(instance)
        self._give_up(context, instance, node, Side.OLD, migration)

    def _give_up(
        self,
        context: RequestContext,
        instance: Instance,
        node: TrackedNode,
        side: Side,
        migration: Migration | None,
    ) -> None:
        """Count one side of a move no longer, and take its allocations back."""
        known = node.holdings.get(instance.uuid) or InstanceHolding(instance)
        left = replace(known.without(side, migration), instance=instance)
        if left.shares:
            self._recorder.hold(node, left)
            if self._allocations.writes(instance.uuid, node):
                self._allocations.settle(context, left, node)
        else:
            self._recorder.untrack(node, instance)
            self._allocations.release(context, instance.uuid, node)

    def _migration_of(self, instance: Instance, node: TrackedNode) -> Migration | None:
        """Return the migration that the instance was last claimed for."""
        context = instance.migration_context
        if context is None or context.migration_id is None:
            return node.migrations.get(instance.uuid)
        return self._cell.migrations.by_id(context.migration_id)
