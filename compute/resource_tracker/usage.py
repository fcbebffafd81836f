"""Counting what a node's instances and migrations use (compute.md §4.9)."""

import logging
from typing import Any

from compute import exceptions, instances, migration_record, pci_devices
from compute.compute_node import ComputeNode
from compute.context import RequestContext
from compute.instance_resources import usage_of
from compute.instances import Flavor, Instance, allows_resource_removal
from compute.migration_record import Migration
from compute.provider_tree import Resource
from compute.resource_tracker import root_inventory
from compute.resource_tracker.node_records import NodeState, moving_key
from compute.resource_tracker.reporting import Reporting

LOG = logging.getLogger(__name__)


class UsageTracking(Reporting):
    """Keeps the used amounts, the stats and the assigned resources of each node's record."""

    # From the cell database

    def _read_records(self, node: ComputeNode) -> tuple[list[Instance], list[Migration]]:
        """Return the instances and the live migrations of the node; as last time while nothing
        in the database changed.

        An instance on its way here is shown as it will be.
        """
        nodename = node.hypervisor_hostname
        state = self._state(nodename)
        mark = self.cell.mark()
        if state.mark is None or state.mark != mark:
            found = self.cell.instances.by_host_and_node(self.host, nodename)
            for instance in found:
                if instance.compute_id != node.id:
                    instance.compute_id = node.id
                    self.cell.instances.save(instance)
            migrations = self.cell.migrations.in_progress_and_error(self.host, nodename)
            arriving = {m.instance_uuid for m in migrations if self._arrives(m, nodename)}
            for instance in found:
                if instance.uuid in arriving:
                    instance.apply_migration_context()
            state.records = (found, migrations)
            state.mark = mark
        return state.records

    def _arrives(self, migration: Migration, nodename: str) -> bool:
        return (
            self._is_to(migration, nodename)
            and not self._is_from(migration, nodename)
            and migration.status not in (migration_record.FINISHED, migration_record.ERROR)
        )

    def _is_to(self, migration: Migration, nodename: str) -> bool:
        return (migration.dest_compute, migration.dest_node) == (self.host, nodename)

    def _is_from(self, migration: Migration, nodename: str) -> bool:
        return (migration.source_compute, migration.source_node) == (self.host, nodename)

    # All of a node

    def _update_usage_from_instances(
        self, context: RequestContext, found: list[Instance], nodename: str
    ) -> None:
        """Count anew: what the host keeps for itself, and each instance that holds something."""
        node, state = self.compute_nodes[nodename], self._state(nodename)
        node.reset_usage(
            vcpus=self.conf.reserved_host_cpus,
            memory_mb=self.conf.reserved_host_memory_mb,
            local_gb=root_inventory.reserved_disk_gb(self.conf),
        )
        for tracked in (state.instances, state.numa, state.pci_taken, state.assigned):
            tracked.clear()
        self.stats[nodename].start_over()
        for instance in found:
            if not allows_resource_removal(instance.vm_state, instance.task_state):
                self._update_usage_from_instance(context, instance, nodename)

    def _update_usage_from_migrations(
        self, context: RequestContext, migrations: list[Migration], nodename: str
    ) -> None:
        """Count what migrations hold beside the instances: the newest of each instance."""
        state = self._state(nodename)
        state.migrations.clear()
        moved = {
            instance.uuid: instance
            for instance in self.cell.instances.by_uuids(m.instance_uuid for m in migrations)
        }
        newest = {m.instance_uuid: m for m in sorted(migrations, key=lambda m: m.id or 0)}
        for uuid, migration in newest.items():
            instance = moved.get(uuid)
            if instance is None or not _is_moving(instance, migration):
                continue
            if _is_stale(instance, migration):
                LOG.warning("Migration %s of instance %s is out of date", migration.uuid, uuid)
                migration.status = migration_record.ERROR
                self.cell.migrations.save(migration)
                continue
            self._update_usage_from_migration(instance, migration, nodename)

    # One instance

    def _update_usage_from_instance(
        self, context: RequestContext, instance: Instance, nodename: str, is_removed: bool = False
    ) -> int:
        """Count the instance if it is new, or no longer if it is gone. Returns 1, -1 or 0."""
        state = self._state(nodename)
        known = state.instances.get(instance.uuid)
        if known is None and is_removed:
            return 0
        gone = known is not None and (
            is_removed or allows_resource_removal(instance.vm_state, instance.task_state)
        )
        self.stats[nodename].update_for_instance(instance, is_removed=gone)
        if known is None:
            state.instances[instance.uuid] = instance
            self._hold(state, instance.uuid, instance.numa_topology, instance)
            self._add_usage(nodename, instance.flavor, instance, 1)
            return 1
        if gone:
            del state.instances[instance.uuid]
            self._release(state, instance.uuid)
            self._add_usage(nodename, known.flavor, instance, -1)
            return -1
        return 0

    def _update_usage_from_migration(
        self, instance: Instance, migration: Migration, nodename: str
    ) -> None:
        """Count what the migration holds here beside what the instance does."""
        state = self._state(nodename)
        tracked = instance.uuid in state.instances
        moving_in = self._is_to(migration, nodename)
        moving_out = self._is_from(migration, nodename)
        if moving_in and moving_out:
            finished = instance.old_flavor is not None and instance.flavor != instance.old_flavor
            flavor = instance.old_flavor if finished else instance.new_flavor
        elif moving_in and not tracked:
            flavor = instance.new_flavor or instance.flavor
        elif moving_out and not tracked:
            flavor = instance.old_flavor or instance.flavor
        else:
            return
        state.migrations[instance.uuid] = migration
        context = instance.migration_context
        if context is not None:
            new = moving_in
            topology = context.new_numa_topology if new else context.old_numa_topology
            share = Instance(
                pci_devices=context.new_pci_devices if new else context.old_pci_devices,
                resources=context.new_resources if new else context.old_resources,
            )
            self._hold(state, moving_key(instance.uuid), topology, share)
        self._add_usage(nodename, flavor or instance.flavor, instance, 1)

    def _hold(
        self, state: NodeState, holder: str, topology: dict[str, Any] | None, share: Instance
    ) -> None:
        if topology:
            state.numa[holder] = topology
        state.pci_taken[holder] = {device["address"] for device in share.pci_devices}
        state.assigned[holder] = set(share.resources)

    def _release(self, state: NodeState, holder: str) -> None:
        for held in (state.numa, state.pci_taken, state.assigned):
            held.pop(holder, None)

    def _add_usage(self, nodename: str, flavor: Flavor, instance: Instance, sign: int) -> None:
        node = self.compute_nodes[nodename]
        usage = usage_of(flavor, instance.booted_from_volume)
        node.vcpus_used += sign * usage.vcpus
        node.memory_mb_used += sign * usage.memory_mb
        node.local_gb_used += sign * usage.disk_gb
        self._note_usage(nodename)

    def _note_usage(self, nodename: str) -> None:
        """Bring what follows from the counts up to date in the record."""
        node, state = self.compute_nodes[nodename], self._state(nodename)
        node.free_ram_mb = node.memory_mb - node.memory_mb_used
        node.free_disk_gb = node.local_gb - node.local_gb_used
        node.stats = dict(self.stats[nodename])
        node.pci_device_pools = pci_devices.pools(state.pci_devices, _taken(state))

    # Assigned resources

    def _check_resources(self, nodename: str) -> None:
        """Raise AssignedResourceNotFound if an instance has what the node has no longer."""
        state = self._state(nodename)
        tree = state.tree
        missing = sorted(
            f"{resource.resource_class} {resource.identifier} of {resource.provider_uuid}"
            for resource in set().union(*state.assigned.values())
            if tree is None
            or not tree.exists(resource.provider_uuid)
            or resource
            not in tree.data(resource.provider_uuid).resources.get(resource.resource_class, ())
        )
        if missing:
            raise exceptions.AssignedResourceNotFound(reason=", ".join(missing))

    def _claim_resources(self, allocations: dict[str, Any] | None, nodename: str) -> list[Resource]:
        """Choose free resources for each amount allocated of a class that has them.

        Raises ComputeResourcesUnavailable if there are too few. What isn't in the tree, as it was
        at the last update, is another's business.
        """
        state = self._state(nodename)
        tree, chosen = state.tree, []
        taken = set().union(*state.assigned.values())
        for provider, part in (allocations or {}).items():
            if tree is None or not tree.exists(provider):
                continue
            resources = tree.data(provider).resources
            for name, amount in part["resources"].items():
                if name not in resources:
                    continue
                free = sorted(resources[name] - taken, key=lambda resource: resource.identifier)
                if len(free) < amount:
                    raise exceptions.ComputeResourcesUnavailable(
                        reason=f"{amount} {name} of provider {provider} asked, {len(free)} free"
                    )
                chosen += free[:amount]
        return chosen


def _taken(state: NodeState) -> set[str]:
    return set().union(*state.pci_taken.values())


def _is_moving(instance: Instance, migration: Migration) -> bool:
    return (
        instance.vm_state == instances.RESIZED
        or instance.task_state in instances.RESIZING | instances.REBUILDING_STATES
        or (migration.is_live_migration and instance.task_state == instances.MIGRATING)
    )


def _is_stale(instance: Instance, migration: Migration) -> bool:
    context = instance.migration_context
    return context is not None and context.migration_id != migration.id
