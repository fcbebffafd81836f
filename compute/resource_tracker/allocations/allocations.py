"""Allocations written by the tracker itself (compute.md §4.10)."""

import logging
from collections.abc import Mapping
from typing import Any

from keystoneauth1.exceptions import ClientException
from oslo_config import cfg

from compute import exceptions
from compute.consumers.held_shares import InstanceHolding, Share, Side
from compute.consumers.running import RunningGuests
from compute.provider_tree.allocation_records import Held, ProviderAmounts
from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.resource_tracker.allocations.allocation_mode import AllocationMode
from compute.resource_tracker.allocations.allocation_places import wish
from compute.resource_tracker.allocations.guest_audit import LackingNotes
from compute.resource_tracker.allocations.own_notes import OwnNotes
from compute.resource_tracker.allocations.share_plans import Plan, SharePlanner
from compute.resource_tracker.node.node import SettledShares, TrackedNode

LOG = logging.getLogger(__name__)

# How often a write is tried while others change the same consumer.
_TRIES = 4

_UNREACHABLE = (exceptions.PlacementAPIConnectFailure, ClientException)

_FAILURES = (
    exceptions.AllocationUpdateFailed,
    exceptions.AllocationDeleteFailed,
    exceptions.ConsumerAllocationRetrievalFailed,
    exceptions.ResourceProviderRetrievalFailed,
    exceptions.ResourceProviderCreationFailed,
    exceptions.ResourceProviderAggregateRetrievalFailed,
    exceptions.ResourceProviderTraitRetrievalFailed,
    *_UNREACHABLE,
)


class _NoRoom(Exception):
    """A claim doesn't fit; the text says why."""


class AllocationWriter:
    """Makes placement hold what instances hold of a node, where the tracker writes that.

    The cell database has the consumers that the tracker writes for, from before the first request
    until they hold nothing. So a failure is only logged, and a later update of this process or of
    the next one tries again.
    """

    def __init__(
        self,
        driver: object,
        conf: cfg.ConfigOpts,
        reportclient: SchedulerReportClient,
        cell: CellDatabase,
        mode: AllocationMode,
        notes: LackingNotes,
    ) -> None:
        self._planner = SharePlanner(driver, conf, reportclient)
        self._reportclient = reportclient
        self._own = OwnNotes(cell)
        self._mode = mode
        self._notes = notes
        self._running = RunningGuests(lambda: driver)

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
        over = sorted(node.own - node.holdings.keys())
        self._running.forget()
        for uuid in over:
            # what the hypervisor has is alive: the records are wrong
            if uuid not in (self._running.listed() or ()):
                self.release(context, uuid, node)

    def settle(
        self,
        context: RequestContext,
        held: InstanceHolding,
        node: TrackedNode,
        given: ProviderAmounts | None = None,
    ) -> str | None:
        """Make placement hold what the instance holds here, in one request if any is needed.

        A guest that runs gets as much as there is; what it lacks, and failures, are logged and left
        to the next update. Return why the share of a claim isn't written: there is no room,
        placement answers with errors, or others keep changing the consumer. Only a placement that
        can't be reached refuses no claim.

        :param given: what a claim was told to take, where there is room; None if nothing is claimed
        """
        uuid = held.instance.uuid
        if self._mode.writes_none or node.tree is None:
            return None
        was_own = uuid in node.own
        refused = self._settle(context, held, node, given)
        if refused is not None and not was_own:
            # Nothing was written: whose allocations they are has not changed.
            self._own.discard(uuid, node)
        return refused

    def _settle(
        self,
        context: RequestContext,
        held: InstanceHolding,
        node: TrackedNode,
        given: ProviderAmounts | None,
    ) -> str | None:
        uuid = held.instance.uuid
        refused: str | None = None
        try:
            for _ in range(_TRIES):
                try:
                    refused = self._try_to_settle(
                        context, held, node, given, uuid in node.lacking or refused is not None
                    )
                except exceptions.AllocationUpdateFailed as conflict:
                    # The instance's other host writes its own part of the same consumer.
                    LOG.debug("Trying again: %s", conflict)
                    continue
                except _NoRoom as no_room:
                    return str(no_room)
                if refused is None:
                    return None
            refused = refused or f"the allocations of {uuid} keep changing"
            LOG.warning("Allocations of %s are left for later: %s", uuid, refused)
        except _UNREACHABLE as failure:
            LOG.warning("Allocations of %s could not be written: %s", uuid, failure)
        except _FAILURES as failure:
            LOG.warning("Allocations of %s could not be written: %s", uuid, failure)
            refused = f"its allocations could not be written: {failure}"
        return None if given is None else refused

    def settle_claim(
        self,
        context: RequestContext,
        held: InstanceHolding,
        node: TrackedNode,
        given: Mapping[str, Any] | None,
    ) -> str | None:
        """Write what a claim gives the instance, unless the scheduler wrote it; see `settle`.

        :param given: the scheduler's allocations, if there are any
        """
        if not given or self._mode.writes_all:
            told = {uuid: part["resources"] for uuid, part in (given or {}).items()}
            return self.settle(context, held, node, told)
        # The scheduler writes what this instance has of the node from now on.
        self._own.discard(held.instance.uuid, node)
        return None

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
        node.lacking.pop(uuid, None)
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
        except _FAILURES as failure:
            LOG.warning("Allocations of %s could not be removed: %s", uuid, failure)
            return False
        if gone:
            self._own.discard(uuid, node)
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
            settled = node.settled.get(uuid)
            return consumers is not None or settled is None or settled.wish != wish(held)
        holders = {uuid} if held.migration is None else {uuid, held.migration.uuid}
        return consumers is not None and holders.isdisjoint(consumers)

    def _try_to_settle(
        self,
        context: RequestContext,
        held: InstanceHolding,
        node: TrackedNode,
        given: ProviderAmounts | None,
        with_usage: bool,
    ) -> str | None:
        """Write what the instance shall hold; return why placement refused it, if it did.

        Raises _NoRoom if it is claimed and there is none.
        """
        instance, claims = held.instance, given is not None
        current = self._reportclient.get_allocs_for_consumer(context, instance.uuid)
        has: Held = {rp: dict(part["resources"]) for rp, part in current["allocations"].items()}
        own_tree = set(node.tree.get_provider_uuids(node.uuid)) if node.tree is not None else set()
        shares = self.shares_of_instance(context, held, node)
        # What another writer gave the old share of a resize here isn't for the new one.
        both = claims and {share.side for share in shares} >= {Side.OLD, Side.NEW}
        if not own_tree.isdisjoint(has) and not self.writes(instance.uuid, node) and not both:
            return None
        if not shares:
            self.release(context, instance.uuid, node)
            return None
        plan = self._planner.plan(context, held, shares, node, has, given, with_usage)
        if claims and plan.lacking:
            raise _NoRoom("; ".join(plan.reasons))
        self._own.add(instance.uuid, node, plan.named)
        if plan.wanted == has or not plan.wanted:
            self._note_settled(held, node, has, plan)
            return None
        payload = {
            "allocations": {rp: {"resources": part} for rp, part in plan.wanted.items()},
            "project_id": instance.project_id,
            "user_id": instance.user_id,
            "consumer_generation": current.get("consumer_generation"),
        }
        if self._reportclient.put_allocations(context, instance.uuid, payload):
            self._note_settled(held, node, plan.wanted, plan)
            return None
        amounts = "; ".join(
            ", ".join(f"{amount} {name}" for name, amount in sorted(part.items()))
            for part in plan.wanted.values()
        )
        return f"placement refused the allocation of {amounts}"

    def _note_settled(
        self, held: InstanceHolding, node: TrackedNode, has: Held, plan: Plan
    ) -> None:
        """Remember what the consumer has, or tell once what it lacks."""
        uuid = held.instance.uuid
        self._own.keep(uuid, node, plan.named)
        if plan.lacking:
            node.settled.pop(uuid, None)
        else:
            node.settled[uuid] = SettledShares(wish(held), has)
        self._notes.note(node, uuid, plan.lacking, {}, "; ".join(plan.reasons))

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
