"""Finding allocations of instances that are gone (compute.md §4.9, §4.10)."""

import logging
import time
from collections.abc import Collection

from keystoneauth1.exceptions import ClientException
from oslo_config import cfg

from compute import exceptions
from compute.consumers.evidence import RecordedEvidence
from compute.consumers.rules import LEFTOVER, ConsumerKind
from compute.consumers.running import RunningGuests
from compute.records.cell_database import CellDatabase
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.report.wire.failures import why
from compute.resource_tracker.allocations.allocation_mode import AllocationMode
from compute.resource_tracker.allocations.consumer_audit import ConsumerAudit
from compute.resource_tracker.allocations.guest_audit import GuestAudit, LackingNotes
from compute.resource_tracker.node.node import TrackedNode

LOG = logging.getLogger(__name__)


class AllocationAudit:
    """Looks through the consumers of every provider of a node's own tree."""

    def __init__(
        self,
        host: str,
        driver: object,
        conf: cfg.ConfigOpts,
        reportclient: SchedulerReportClient,
        cell: CellDatabase,
        mode: AllocationMode,
        notes: LackingNotes,
    ) -> None:
        self._guests = GuestAudit(driver, conf, reportclient, notes)
        self._host = host
        self._conf = conf
        self._reportclient = reportclient
        self._cell = cell
        self._mode = mode
        self._running = RunningGuests(lambda: driver)

    def run_if_due(self, context: RequestContext, node: TrackedNode) -> set[str] | Exception | None:
        """Remove what consumers hold of the node and no longer need, if it is time to look.

        It is time if the node's consumers are others than at the last audit, or if that was long
        ago. So an idle node costs no request. A tracker that writes all allocations looks each
        time.

        Return the consumers of the node; None if nobody looked; the failure if they can't be read.
        """
        return self._run(context, node) if self._is_due(node) else None

    def skipped(self, node: TrackedNode, failure: Exception) -> None:
        """Log that the consumers of the node could not be read."""
        LOG.error(
            "Skipping removal of allocations for deleted instances of %s: %s. Nothing was removed; "
            "the next update tries again.",
            node.name,
            why(failure).rstrip("."),
        )

    def note(self, node: TrackedNode) -> None:
        """Remember that the node's allocations are in order now."""
        node.audited = (_holders(node), time.monotonic())

    def _is_due(self, node: TrackedNode) -> bool:
        if self._mode.is_tracker or node.audited is None:
            return True
        known, when = node.audited
        period = self._conf.compute.resource_provider_association_refresh
        return known != _holders(node) or bool(period and time.monotonic() - when > period)

    def _run(self, context: RequestContext, node: TrackedNode) -> set[str] | Exception | None:
        try:
            tree = self._reportclient.get_provider_subtree_and_ensure_root(
                context, node.uuid, name=node.name, with_sharing=True
            )
            consumers = self._reportclient.get_holders_in_provider_tree(
                context, node.uuid, is_start=node.audited is None
            )
        except (
            exceptions.ResourceProviderAllocationRetrievalFailed,
            exceptions.ConsumerAllocationRetrievalFailed,
            exceptions.ResourceProviderRetrievalFailed,
            exceptions.ResourceProviderCreationFailed,
            exceptions.ResourceProviderAggregateRetrievalFailed,
            exceptions.ResourceProviderTraitRetrievalFailed,
            ClientException,
        ) as failure:
            return failure
        kept = _holders(node)
        ConsumerAudit(
            self._reportclient,
            context,
            RecordedEvidence(self._cell, self._host),
            node.record,
            tree,
            # Otherwise the scheduler's allocations may come before the record of their instance.
            LEFTOVER if self._mode.is_tracker else {ConsumerKind.GONE},
            node.told,
            self._running,
        ).run({uuid: held for uuid, held in consumers.items() if uuid not in kept})
        ours = {uuid for uuid in node.holdings if self._is_ours(uuid, node, consumers)}
        self._guests.run(context, node, tree, consumers, ours)
        return set(consumers)

    def _is_ours(self, uuid: str, node: TrackedNode, consumers: Collection[str]) -> bool:
        """Say whether the tracker writes what a guest holds, now or at the end of this update."""
        if self._mode.writes_none:
            return False
        return self._mode.writes_all or uuid in node.own or uuid not in consumers


def _holders(node: TrackedNode) -> frozenset[str]:
    """Return the instances and migrations that the records know on the node."""
    return frozenset(
        [
            *(instance.uuid for instance in node.recorded.instances),
            *node.holdings,
            *(migration.uuid for migration in node.recorded.migrations),
        ]
    )
