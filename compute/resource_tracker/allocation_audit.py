"""Finding allocations of instances that are gone (compute.md §4.9 and §4.10, number 4)."""

import logging
import time

from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.consumers.evidence import RecordedEvidence
from compute.consumers.rules import LEFTOVER, Kind
from compute.provider_tree import ProviderTree
from compute.records.compute_node import ComputeNode
from compute.records.instance import Instance
from compute.records.migration import Migration
from compute.report.context import RequestContext
from compute.resource_tracker.consumer_audit import ConsumerAudit
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
        """Remove what instances hold here that no longer need it.

        Returns the consumers there are; None, after an error in the log, if they can't be read.
        """
        try:
            tree = self.reportclient.get_provider_subtree_and_ensure_root(
                context, node.uuid, name=node.hypervisor_hostname, with_sharing=True
            )
            consumers = self._consumers_of(context, node, tree)
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
        state = self._state(node.hypervisor_hostname)
        writer = self.conf.compute.allocation_writer == TRACKER
        ConsumerAudit(
            self.reportclient,
            context,
            RecordedEvidence(self.cell, self.host, self.driver.manages_instances),
            node,
            tree,
            # Else the scheduler's allocations may come before the record of their instance.
            LEFTOVER if writer else {Kind.GONE},
            state.told,
        ).run({uuid: held for uuid, held in consumers.items() if uuid not in kept})
        return set(consumers)

    def _consumers_of(
        self, context: RequestContext, node: ComputeNode, tree: ProviderTree
    ) -> dict[str, set[str]]:
        """Consumer → the node's providers that it holds something of."""
        consumers: dict[str, set[str]] = {}
        for provider in tree.get_provider_uuids(node.uuid):
            found = self.reportclient.get_allocations_for_resource_provider(context, provider)
            for consumer in found.allocations:
                consumers.setdefault(consumer, set()).add(provider)
        return consumers
