"""Finding allocations of instances that are gone (compute.md §4.9; §4.10, number 4)."""

import logging
import time

from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.compute_node import ComputeNode
from compute.context import RequestContext
from compute.instances import Instance
from compute.migration_record import Migration
from compute.resource_tracker.reporting import TRACKER
from compute.resource_tracker.usage import UsageTracking

LOG = logging.getLogger(__name__)


class AllocationAudit(UsageTracking):
    """Looks through the consumers of every provider of a node's own tree."""

    def _audit_due(self, node: ComputeNode, consumers: set[str]) -> bool:
        """Whether to look: if the node's consumers are others than at the last look, or it was
        long ago. A tracker that writes allocations looks every time.

        So an idle node costs no request.
        """
        audited = self._state(node.hypervisor_hostname).audited
        if self.conf.compute.allocation_writer == TRACKER or audited is None:
            return True
        known, when = audited
        period = self.conf.compute.resource_provider_association_refresh
        return known != frozenset(consumers) or bool(period and time.time() - when > period)

    def _note_audit(self, node: ComputeNode, consumers: set[str]) -> None:
        state = self._state(node.hypervisor_hostname)
        state.audited = (frozenset(consumers), time.time())

    def _remove_deleted_instances_allocations(
        self,
        context: RequestContext,
        node: ComputeNode,
        migrations: list[Migration],
        instance_by_uuid: dict[str, Instance],
    ) -> set[str] | None:
        """Remove allocations of instances that no longer need them.

        Returns the consumers there are; None, after an error in the log, if they can't be read.
        """
        try:
            consumers = self._consumers_of(context, node)
        except (
            exceptions.ResourceProviderAllocationRetrievalFailed,
            exceptions.ResourceProviderRetrievalFailed,
            exceptions.ResourceProviderCreationFailed,
            exceptions.ResourceProviderAggregateRetrievalFailed,
            exceptions.ResourceProviderTraitRetrievalFailed,
            ClientException,
        ) as failure:
            LOG.error(
                "Skipping removal of allocations for deleted instances of %s: %s",
                node.hypervisor_hostname,
                failure,
            )
            return None
        kept = set(instance_by_uuid) | {migration.uuid for migration in migrations}
        unclear = consumers - kept
        found = self.cell.instances.by_uuids(unclear, include_deleted=True)
        records = {instance.uuid: instance for instance in found}
        for uuid in sorted(unclear):
            self._judge(context, node, uuid, records.get(uuid))
        return consumers

    def _consumers_of(self, context: RequestContext, node: ComputeNode) -> set[str]:
        tree = self.reportclient.get_provider_subtree_and_ensure_root(
            context, node.uuid, name=node.hypervisor_hostname, with_sharing=True
        )
        consumers: set[str] = set()
        for provider in tree.get_provider_uuids(node.uuid):
            found = self.reportclient.get_allocations_for_resource_provider(context, provider)
            consumers.update(found.allocations)
        return consumers

    def _judge(
        self, context: RequestContext, node: ComputeNode, uuid: str, instance: Instance | None
    ) -> None:
        """Keep or remove what a consumer holds that is neither an instance here nor a migration."""
        writer = self.conf.compute.allocation_writer == TRACKER
        if instance is None:
            if writer and self.cell.migrations.by_uuid(uuid) is None:
                self._remove(context, node, uuid, elsewhere=False)
            else:
                LOG.info("Consumer %s isn't known (yet); its allocations stay", uuid)
        elif instance.deleted and not instance.hidden:
            self._remove(context, node, uuid, elsewhere=False)
        elif not instance.host:
            LOG.debug("Instance %s is on its way here", uuid)
        elif (instance.host, instance.node) == (self.host, node.hypervisor_hostname):
            level = logging.DEBUG if instance.task_state else logging.WARNING
            LOG.log(level, "Instance %s is not tracked here; its allocations stay", uuid)
        elif writer and not self._moves(uuid):
            self._remove(context, node, uuid, elsewhere=True)
        else:
            LOG.warning(
                "Instance %s is on host %s, yet has allocations on %s; they stay",
                uuid,
                instance.host,
                node.hypervisor_hostname,
            )

    def _moves(self, uuid: str) -> bool:
        return any(
            migration.instance_uuid == uuid
            for state in list(self._states.values())
            for migration in state.records[1]
        )

    def _remove(
        self, context: RequestContext, node: ComputeNode, uuid: str, elsewhere: bool
    ) -> None:
        """Remove what the consumer holds, or only what it holds here. A failure is logged."""
        try:
            if elsewhere:
                self.reportclient.remove_provider_tree_from_instance_allocation(
                    context, uuid, node.uuid
                )
            else:
                self.reportclient.delete_allocation_for_instance(context, uuid)
        except (
            exceptions.AllocationDeleteFailed,
            exceptions.ConsumerAllocationRetrievalFailed,
            exceptions.ResourceProviderRetrievalFailed,
            ClientException,
        ) as failure:
            LOG.warning("Allocations of %s could not be removed: %s", uuid, failure)
