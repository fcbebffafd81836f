"""What every claim does with its node: find it, count, keep the records, report the change."""

import logging
from typing import Any

from keystoneauth1.exceptions import ClientException
from oslo_config import cfg

from compute import exceptions
from compute.consumers.held_shares import InstanceHolding
from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.report.wire.context import RequestContext
from compute.resource_tracker.allocations.allocations import AllocationWriter
from compute.resource_tracker.node import usage
from compute.resource_tracker.node.node import TrackedNode
from compute.resource_tracker.node.node_records import NodeRecords
from compute.resource_tracker.node.nodes import Nodes
from compute.resource_tracker.reporting.reporting import Reporting

LOG = logging.getLogger(__name__)


class ClaimRecorder:
    """Counts what is claimed and given back, and reports it. Call it under the node's lock."""

    def __init__(
        self,
        host: str,
        conf: cfg.ConfigOpts,
        cell: CellDatabase,
        nodes: Nodes,
        records: NodeRecords,
        allocations: AllocationWriter,
        reporting: Reporting,
    ) -> None:
        self._host = host
        self._conf = conf
        self._cell = cell
        self._nodes = nodes
        self._records = records
        self._allocations = allocations
        self._reporting = reporting

    def available_node(self, nodename: str) -> TrackedNode:
        """Return a node that takes claims. Raises ComputeResourcesUnavailable."""
        node = self._nodes.find_available(nodename)
        if node is None:
            raise exceptions.ComputeResourcesUnavailable(
                reason=f"node {nodename} is not available on host {self._host}"
            )
        if node.mark is None:
            # The update that found the node failed before it counted.
            node.follow(self._records.read(node))
            self.count(node)
        return node

    # Counting

    def hold(self, node: TrackedNode, held: InstanceHolding) -> None:
        """Count what the instance holds now, in place of what it held before."""
        node.hold(held)
        self.count(node)

    def untrack(self, node: TrackedNode, instance: Instance) -> None:
        """Count the instance no longer, and nothing that it held."""
        node.untrack(instance)
        self.count(node)

    def count(self, node: TrackedNode) -> None:
        """Bring the numbers of the record up to date."""
        usage.count(node, self._conf)

    # Records

    def save(self, instance: Instance) -> None:
        """Keep the instance's record, if it has one: a caller may hand in instances without."""
        if instance.id is not None:
            self._cell.instances.save(instance)

    def save_or_create(self, instance: Instance) -> None:
        """Keep the instance's record, or make one."""
        if instance.id is None:
            self._cell.instances.create(instance)
        else:
            self._cell.instances.save(instance)

    # Reporting

    def report_claim(
        self,
        context: RequestContext,
        instance: Instance,
        node: TrackedNode,
        allocations: dict[str, Any] | None,
    ) -> None:
        """Write the claim's allocations, unless the scheduler did, and report the node.

        :param allocations: those of the scheduler, if it wrote any

        Raises ComputeResourcesUnavailable if placement refused the allocations, and what an update
        of the node raises.
        """
        held = node.holdings[instance.uuid]
        if not self._allocations.settle_claim(context, held, node, allocations):
            raise exceptions.ComputeResourcesUnavailable(reason="placement refused the allocation")
        self._reporting.update(context, node)

    def report_release(self, context: RequestContext, node: TrackedNode) -> None:
        """Report what is left of the node. The share is given back already: log a failure."""
        try:
            self._reporting.update(context, node)
        except (exceptions.NovaException, ClientException) as failure:
            LOG.warning("Node %s will be reported at the next update: %s", node.name, failure)
