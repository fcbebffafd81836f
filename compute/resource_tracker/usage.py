"""Counting what a node's instances and migrations use (compute.md §4.9)."""

import logging
from typing import Any

from compute import exceptions
from compute.consumers import held_shares
from compute.consumers.held_shares import Holding, Side
from compute.consumers.instance_resources import usage_of
from compute.pci import devices as pci_devices
from compute.provider_tree import Resource
from compute.records import migration as migration_record
from compute.records.compute_node import ComputeNode
from compute.records.instance import Instance, allows_resource_removal
from compute.records.migration import Migration
from compute.resource_tracker import root_inventory
from compute.resource_tracker.node_records import Records
from compute.resource_tracker.reporting import Reporting

LOG = logging.getLogger(__name__)


class UsageTracking(Reporting):
    """Keeps the used amounts, the stats and the holdings of each node up to date."""

    # From the cell database

    def _read_records(self, node: ComputeNode) -> Records:
        """Return what the records say of the node; as last time while nothing there changed."""
        state = self._state(node.hypervisor_hostname)
        mark = self.cell.mark()
        if state.mark is None or state.mark != mark:
            state.records = self._records(node)
            state.own = self.cell.own_allocations.of_node(node.uuid)
            state.mark = mark
        return state.records

    def _records(self, node: ComputeNode) -> Records:
        nodename = node.hypervisor_hostname
        found = self.cell.instances.by_host_and_node(self.host, nodename)
        for instance in found:
            if instance.compute_id != node.id:
                instance.compute_id = node.id
                self.cell.instances.save(instance)
        near = self.cell.migrations.unsettled(self.host, nodename)
        here = {instance.uuid: instance for instance in found}
        passing = {migration.instance_uuid for migration in near} - here.keys()
        concerned = [*found, *self.cell.instances.by_uuids(passing)]
        moved = {*passing, *(i.uuid for i in found if i.migration_context is not None)}
        moved.update(migration.instance_uuid for migration in near)
        migrations = self.cell.migrations.of_instances(moved)
        self._end_stale(concerned, migrations)
        holdings = [
            held_shares.holding(
                instance, held_shares.relevant(instance, migrations), self.host, nodename
            )
            for instance in concerned
        ]
        for held in holdings:
            # An instance that arrives is shown as it will be.
            if [share.side for share in held.shares] == [Side.NEW]:
                held.instance.apply_migration_context()
        return Records(
            found,
            [m for m in near if m.status not in migration_record.ENDED],
            {held.instance.uuid: held for held in holdings},
        )

    def _end_stale(self, concerned: list[Instance], migrations: list[Migration]) -> None:
        """Give up the migrations that their instances have gone on from."""
        by_uuid = {instance.uuid: instance for instance in concerned}
        for migration in migrations:
            instance = by_uuid.get(migration.instance_uuid)
            if (
                instance is not None
                and held_shares.is_under_way(instance, migration)
                and held_shares.is_stale(instance, migration)
            ):
                LOG.warning(
                    "Migration %s of instance %s is out of date", migration.uuid, instance.uuid
                )
                migration.status = migration_record.ERROR
                self.cell.migrations.save(migration)

    # All of a node

    def _count_holdings(self, records: Records, nodename: str) -> None:
        """Count anew each instance that holds something."""
        state, stats = self._state(nodename), self.stats[nodename]
        state.instances = {
            instance.uuid: instance
            for instance in records.instances
            if not allows_resource_removal(instance.vm_state, instance.task_state)
        }
        state.holdings = {uuid: held for uuid, held in records.holdings.items() if held.shares}
        stats.start_over()
        for instance in state.instances.values():
            stats.update_for_instance(instance)
        self._note_usage(nodename)

    # One instance

    def _hold(self, held: Holding, nodename: str) -> None:
        """Count what the instance holds now, in place of what it held before."""
        state = self._state(nodename)
        if held.shares:
            state.holdings[held.instance.uuid] = held
        else:
            state.holdings.pop(held.instance.uuid, None)
        self._note_usage(nodename)

    def _track(self, instance: Instance, nodename: str) -> None:
        """Count the instance as one of the node, as it is now."""
        self._state(nodename).instances[instance.uuid] = instance
        self.stats[nodename].update_for_instance(instance)

    def _untrack(self, instance: Instance, nodename: str) -> None:
        """Count the instance no longer, and nothing that it held."""
        self._state(nodename).instances.pop(instance.uuid, None)
        self.stats[nodename].update_for_instance(instance, is_removed=True)
        self._hold(Holding(instance), nodename)

    def _note_usage(self, nodename: str) -> None:
        """Bring what follows from the holdings up to date in the record."""
        node, state = self.compute_nodes[nodename], self._state(nodename)
        node.reset_usage(
            vcpus=self.conf.reserved_host_cpus,
            memory_mb=self.conf.reserved_host_memory_mb,
            local_gb=root_inventory.reserved_disk_gb(self.conf),
        )
        for held in state.holdings.values():
            for share in held.shares:
                usage = usage_of(share.flavor, held.instance.booted_from_volume)
                node.vcpus_used += usage.vcpus
                node.memory_mb_used += usage.memory_mb
                node.local_gb_used += usage.disk_gb
        node.free_ram_mb = node.memory_mb - node.memory_mb_used
        node.free_disk_gb = node.local_gb - node.local_gb_used
        node.stats = dict(self.stats[nodename])
        node.pci_device_pools = pci_devices.pools(state.pci_devices, state.taken_devices())

    # Assigned resources

    def _check_resources(self, nodename: str) -> None:
        """Raise AssignedResourceNotFound if an instance has what the node has no longer."""
        state = self._state(nodename)
        tree = state.tree
        missing = sorted(
            f"{resource.resource_class} {resource.identifier} of {resource.provider_uuid}"
            for resource in state.assigned_resources()
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
        taken = state.assigned_resources()
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
