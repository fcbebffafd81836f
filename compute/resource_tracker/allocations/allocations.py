"""Allocations written by the tracker itself (compute.md §4.10)."""

import logging
from collections.abc import Mapping
from typing import Any

from keystoneauth1.exceptions import ClientException
from oslo_config import cfg

from compute import exceptions
from compute.consumers.held_shares import InstanceHolding, Share, Side
from compute.provider_tree import ProviderTree
from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.resource_tracker.allocations.allocation_mode import AllocationMode
from compute.resource_tracker.allocations.allocation_places import merged, placed, wish
from compute.resource_tracker.node.node import TrackedNode

LOG = logging.getLogger(__name__)

# How often a write is tried while others change the same consumer.
_TRIES = 4

_FAILURES = (
    exceptions.AllocationUpdateFailed,
    exceptions.AllocationDeleteFailed,
    exceptions.ConsumerAllocationRetrievalFailed,
    exceptions.PlacementAPIConnectFailure,
    ClientException,
)


class AllocationWriter:
    """Makes placement hold what instances hold of a node, where the tracker writes that.

    The cell database has the consumers that the tracker writes for, from before the first request
    until they hold nothing. So a failure is only logged, and a later update of this process or of
    the next one tries again.
    """

    def __init__(
        self,
        driver: Any,
        conf: cfg.ConfigOpts,
        reportclient: SchedulerReportClient,
        cell: CellDatabase,
        mode: AllocationMode,
    ) -> None:
        self._driver = driver
        self._conf = conf
        self._reportclient = reportclient
        self._cell = cell
        self._mode = mode

    def writes(self, consumer: str, node: TrackedNode) -> bool:
        """Say whether the tracker writes what the consumer has of the node."""
        return self._mode.writes_all or consumer in node.own

    def settle_all(
        self, context: RequestContext, node: TrackedNode, consumers: set[str] | None
    ) -> None:
        """Give the node's instances what they should have; take back what others have of it.

        :param consumers: those found to hold something of the node; None: nobody looked
        """
        if self._mode.writes_none or node.tree is None:
            return
        for uuid, held in list(node.holdings.items()):
            if self._is_due(uuid, held, node, consumers):
                self.settle(context, held, node)
        for uuid in sorted(node.own - node.holdings.keys()):
            self.release(context, uuid, node)

    def settle(self, context: RequestContext, held: InstanceHolding, node: TrackedNode) -> bool:
        """Make placement hold what the instance holds here, in one request if any is needed.

        Return False only if placement refused it, most likely for want of room. A placement that
        can't be reached, or other writers who keep changing the consumer, are logged and left to
        the next update.
        """
        uuid = held.instance.uuid
        if self._mode.writes_none or node.tree is None:
            return True
        try:
            for _ in range(_TRIES):
                try:
                    settled = self._try_to_settle(context, held, node, node.tree)
                except exceptions.AllocationUpdateFailed as conflict:
                    # The instance's other host writes its own part of the same consumer.
                    LOG.debug("Trying again: %s", conflict)
                    continue
                if settled:
                    node.settled[uuid] = wish(held)
                return settled
            LOG.warning("Allocations of %s keep changing; they are left for later", uuid)
        except _FAILURES as failure:
            LOG.warning("Allocations of %s could not be written: %s", uuid, failure)
        return True

    def settle_claim(
        self,
        context: RequestContext,
        held: InstanceHolding,
        node: TrackedNode,
        given: Mapping[str, Any] | None,
    ) -> bool:
        """Write what a claim gives the instance, unless the scheduler wrote it; see `settle`.

        :param given: the scheduler's allocations, if there are any
        """
        if not given or self._mode.writes_all:
            return self.settle(context, held, node)
        # The scheduler writes what this instance has of the node from now on.
        if held.instance.uuid in node.own:
            self._cell.own_allocations.discard(held.instance.uuid, node.uuid)
            node.own.discard(held.instance.uuid)
        return True

    def release(
        self, context: RequestContext, uuid: str, node: TrackedNode, is_deleted: bool = False
    ) -> bool:
        """Remove what the consumer has of the node, if the tracker writes it.

        Its allocations on another host stay, and so does what both hosts share. All allocations of
        a deleted instance go. Return False if that is left to a later update.
        """
        if self._mode.writes_none or not self.writes(uuid, node):
            return True
        node.settled.pop(uuid, None)
        tree = node.tree
        here = set(tree.get_provider_uuids()) if tree is not None else {node.uuid}
        try:
            current = self._reportclient.get_allocs_for_consumer(context, uuid)["allocations"]
            if is_deleted or (current and here.issuperset(current)):
                # None: placement can't be reached
                gone = None is not self._reportclient.delete_allocation_for_instance(
                    context, uuid, force=is_deleted
                )
            elif here.isdisjoint(current):
                gone = True
            else:
                gone = self._reportclient.remove_provider_tree_from_instance_allocation(
                    context, uuid, node.uuid
                )
        except (*_FAILURES, exceptions.ResourceProviderRetrievalFailed) as failure:
            LOG.warning("Allocations of %s could not be removed: %s", uuid, failure)
            return False
        if gone and uuid in node.own:
            node.own.discard(uuid)
            self._cell.own_allocations.discard(uuid, node.uuid)
        return gone

    def remove_evacuated(
        self, context: RequestContext, instance: Instance, node_uuid: str, node_type: str
    ) -> None:
        """Remove what an evacuated instance still holds of the node; a failure is logged.

        :param node_type: "source" or "destination", for the log
        """
        try:
            removed = self._reportclient.remove_provider_tree_from_instance_allocation(
                context, instance.uuid, node_uuid
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
                node_uuid,
            )

    def _is_due(
        self, uuid: str, held: InstanceHolding, node: TrackedNode, consumers: set[str] | None
    ) -> bool:
        if self._mode.writes_all:
            return True
        if uuid in node.own:
            return consumers is not None or node.settled.get(uuid) != wish(held)
        holders = {uuid} if held.migration is None else {uuid, held.migration.uuid}
        return consumers is not None and holders.isdisjoint(consumers)

    def _try_to_settle(
        self, context: RequestContext, held: InstanceHolding, node: TrackedNode, tree: ProviderTree
    ) -> bool:
        instance = held.instance
        current = self._reportclient.get_allocs_for_consumer(context, instance.uuid)
        has = {rp: dict(part["resources"]) for rp, part in current["allocations"].items()}
        own_tree = set(tree.get_provider_uuids(node.uuid))
        if not own_tree.isdisjoint(has) and not self.writes(instance.uuid, node):
            return True
        shares = self.shares_of_instance(context, held, node)
        if not shares:
            return self.release(context, instance.uuid, node)
        shared = self._is_on_shared_storage(instance)
        wanted = merged(has, placed(held, shares, node.uuid, tree, has, shared), tree)
        self._note_own(instance.uuid, node)
        if wanted == has or not wanted:
            return True
        payload = {
            "allocations": {rp: {"resources": part} for rp, part in wanted.items()},
            "project_id": instance.project_id,
            "user_id": instance.user_id,
            "consumer_generation": current.get("consumer_generation"),
        }
        return self._reportclient.put_allocations(context, instance.uuid, payload)

    def shares_of_instance(
        self, context: RequestContext, held: InstanceHolding, node: TrackedNode
    ) -> list[Share]:
        """Return the shares that the instance itself shall have allocations of.

        The old share of a move is the migration's, if somebody gave it the allocations.
        """
        shares = list(held.shares)
        if (
            node.tree is not None
            and held.migration is not None
            and not held.migration.is_completed
            and any(share.side is not Side.NEW for share in shares)
        ):
            found = self._reportclient.get_allocs_for_consumer(context, held.migration.uuid)
            if not found["allocations"].keys().isdisjoint(node.tree.get_provider_uuids(node.uuid)):
                shares = [share for share in shares if share.side is Side.NEW]
        return shares

    def _note_own(self, uuid: str, node: TrackedNode) -> None:
        """Keep in the records, before the first write, that the tracker writes for the consumer."""
        if uuid not in node.own:
            self._cell.own_allocations.add(uuid, node.uuid)
            node.own.add(uuid)

    def _is_on_shared_storage(self, instance: Instance) -> bool:
        shared = self._conf.berth.instances_on_shared_storage or getattr(
            self._driver, "instances_on_shared_storage", False
        )
        return bool(shared) and not instance.booted_from_volume
