"""Allocations written by the tracker itself (compute.md §4.10).

`[compute]allocation_writer` says whose they are: `tracker` writes those of all its instances,
`auto` those of instances that have none, `scheduler` none.
"""

import logging
from collections.abc import Hashable, Iterable

import os_traits
from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.consumers.held_shares import Holding, Share, Side
from compute.consumers.instance_resources import (
    PCI_DEVICE,
    generic_pci_devices,
    resources_from_flavor,
)
from compute.provider_tree import ProviderTree
from compute.records.compute_node import ComputeNode
from compute.records.instance import Flavor, Instance
from compute.report.context import RequestContext
from compute.resource_tracker.allocation_audit import AllocationAudit
from compute.resource_tracker.node_records import NodeState
from compute.resource_tracker.reporting import AUTO, SCHEDULER, TRACKER

LOG = logging.getLogger(__name__)

#: provider uuid → class → amount
Held = dict[str, dict[str, int]]

# The classes the tracker knows the place of.
OWNED = ("VCPU", "MEMORY_MB", "DISK_GB", PCI_DEVICE)

# How often a write is tried while others change the same consumer.
_TRIES = 4

_FAILURES = (
    exceptions.AllocationUpdateFailed,
    exceptions.AllocationDeleteFailed,
    exceptions.ConsumerAllocationRetrievalFailed,
    exceptions.PlacementAPIConnectFailure,
    ClientException,
)


class WrittenAllocations(AllocationAudit):
    """Makes placement hold what instances hold here, where that is ours; failures are logged.

    What the tracker wrote is kept in the cell database from before the first request until nothing
    is left, so whatever fails is made up for by a later update, of this process or the next.
    """

    def _writes_all(self) -> bool:
        """Whether the allocations of all instances are ours: that is so for drivers that say it."""
        mode = self.conf.compute.allocation_writer
        return mode == TRACKER or (mode == AUTO and self.driver.requires_allocation_refresh)

    def _writes_none(self) -> bool:
        return self.conf.compute.allocation_writer == SCHEDULER

    def _settle_allocations(
        self, context: RequestContext, node: ComputeNode, consumers: set[str] | None
    ) -> None:
        """See to it that the node's instances have what they should, and others nothing of ours.

        `consumers` are those found to hold something of the node; None: nobody looked.
        """
        state = self._state(node.hypervisor_hostname)
        if self._writes_none() or state.tree is None:
            return
        for uuid, held in list(state.holdings.items()):
            if self._is_due(uuid, held, state, consumers):
                self._settle(context, held, node)
        for uuid in sorted(state.own - state.holdings.keys()):
            self._release(context, uuid, node)

    def _is_due(
        self, uuid: str, held: Holding, state: NodeState, consumers: set[str] | None
    ) -> bool:
        if self._writes_all():
            return True
        if uuid in state.own:
            return consumers is not None or state.settled.get(uuid) != _wish(held)
        holders = {uuid} if held.migration is None else {uuid, held.migration.uuid}
        return consumers is not None and holders.isdisjoint(consumers)

    def _settle(self, context: RequestContext, held: Holding, node: ComputeNode) -> bool:
        """Make placement hold what the instance holds here, in one request if any is needed.

        False only if placement refused it, for want of room most likely. Being unreachable, and
        others who keep changing the consumer, is logged and left to the next update.
        """
        uuid = held.instance.uuid
        state = self._state(node.hypervisor_hostname)
        if self._writes_none() or state.tree is None:
            return True
        try:
            for _ in range(_TRIES):
                try:
                    settled = self._try_to_settle(context, held, node, state, state.tree)
                except exceptions.AllocationUpdateFailed as conflict:
                    # Its other host writes its own part of the same consumer.
                    LOG.debug("Trying again: %s", conflict)
                    continue
                if settled:
                    state.settled[uuid] = _wish(held)
                return settled
            LOG.warning("Allocations of %s keep changing; they are left for later", uuid)
        except _FAILURES as failure:
            LOG.warning("Allocations of %s could not be written: %s", uuid, failure)
        return True

    def _try_to_settle(
        self,
        context: RequestContext,
        held: Holding,
        node: ComputeNode,
        state: NodeState,
        tree: ProviderTree,
    ) -> bool:
        instance = held.instance
        current = self.reportclient.get_allocs_for_consumer(context, instance.uuid)
        has = {rp: dict(part["resources"]) for rp, part in current["allocations"].items()}
        own_tree = set(tree.get_provider_uuids(node.uuid))
        if (
            not own_tree.isdisjoint(has)
            and not self._writes_all()
            and instance.uuid not in state.own
        ):
            return True
        shares = self._shares_of_instance(context, held, own_tree)
        if not shares:
            return self._release(context, instance.uuid, node)
        wanted = merged(has, self._placed(held, shares, node, tree, has), tree)
        self._note_own(instance.uuid, node)
        if wanted == has or not wanted:
            return True
        payload = {
            "allocations": {rp: {"resources": part} for rp, part in wanted.items()},
            "project_id": instance.project_id,
            "user_id": instance.user_id,
            "consumer_generation": current.get("consumer_generation"),
        }
        return self.reportclient.put_allocations(context, instance.uuid, payload)

    def _shares_of_instance(
        self, context: RequestContext, held: Holding, own_tree: set[str]
    ) -> list[Share]:
        """Return what the instance itself is to have allocations of.

        The old share of a move is the migration's, if somebody gave it the allocations.
        """
        shares = list(held.shares)
        if (
            held.migration is not None
            and not held.migration.is_completed
            and any(share.side is not Side.NEW for share in shares)
        ):
            found = self.reportclient.get_allocs_for_consumer(context, held.migration.uuid)
            if not own_tree.isdisjoint(found["allocations"]):
                shares = [share for share in shares if share.side is Side.NEW]
        return shares

    def _release(
        self, context: RequestContext, uuid: str, node: ComputeNode, is_deleted: bool = False
    ) -> bool:
        """Remove what the consumer has here, if it is ours, now that it holds nothing any more.

        What it holds on another host stays, and so does what both share; a deleted instance's
        allocations go as a whole. False if that is left to a later update.
        """
        state = self._state(node.hypervisor_hostname)
        if self._writes_none() or (not self._writes_all() and uuid not in state.own):
            return True
        state.settled.pop(uuid, None)
        tree = state.tree
        here = set(tree.get_provider_uuids()) if tree is not None else {node.uuid}
        try:
            current = self.reportclient.get_allocs_for_consumer(context, uuid)["allocations"]
            if is_deleted or (current and here.issuperset(current)):
                # None: placement is away
                gone = None is not self.reportclient.delete_allocation_for_instance(
                    context, uuid, force=is_deleted
                )
            elif here.isdisjoint(current):
                gone = True
            else:
                gone = self.reportclient.remove_provider_tree_from_instance_allocation(
                    context, uuid, node.uuid
                )
        except (*_FAILURES, exceptions.ResourceProviderRetrievalFailed) as failure:
            LOG.warning("Allocations of %s could not be removed: %s", uuid, failure)
            return False
        if gone and uuid in state.own:
            state.own.discard(uuid)
            self.cell.own_allocations.discard(uuid, node.uuid)
        return gone

    def _note_own(self, uuid: str, node: ComputeNode) -> None:
        """Keep that we write what the consumer has here, before we do."""
        state = self._state(node.hypervisor_hostname)
        if uuid not in state.own:
            self.cell.own_allocations.add(uuid, node.uuid)
            state.own.add(uuid)

    def _disown(self, uuid: str, node: ComputeNode) -> None:
        """What the consumer has here is the scheduler's from now on."""
        state = self._state(node.hypervisor_hostname)
        if uuid in state.own and not self._writes_all():
            self.cell.own_allocations.discard(uuid, node.uuid)
            state.own.discard(uuid)

    def _placed(
        self,
        held: Holding,
        shares: Iterable[Share],
        node: ComputeNode,
        tree: ProviderTree,
        has: Held,
    ) -> Held:
        """Return what the shares take, and of which provider.

        All is the node's own, but for the disk of an instance on shared storage: of that, both ends
        of a move have one and the same, as large as the larger flavor. A class that no flavor
        property of ours names, and the node hasn't, is not for us to place.
        """
        instance = held.instance
        root = tree.data(node.uuid)
        pool = shared_disk(tree, node.uuid, has) if self._on_shared_storage(instance) else None
        places: Held = {}
        for share in shares:
            amounts = resources_from_flavor(share.flavor, instance.booted_from_volume)
            devices = generic_pci_devices(share.pci_devices, instance.uuid)
            if devices:
                amounts[PCI_DEVICE] = devices
            for name, amount in amounts.items():
                if (name == "DISK_GB" and pool) or (
                    name not in OWNED and name not in root.inventory
                ):
                    continue
                part = places.setdefault(node.uuid, {})
                part[name] = part.get(name, 0) + amount
        if pool and (disk := max(_disk(flavor, instance) for flavor in held.flavors)):
            places.setdefault(pool, {})["DISK_GB"] = disk
        return places

    def _on_shared_storage(self, instance: Instance) -> bool:
        shared = self.conf.berth.instances_on_shared_storage or getattr(
            self.driver, "instances_on_shared_storage", False
        )
        return bool(shared) and not instance.booted_from_volume


def _disk(flavor: Flavor, instance: Instance) -> int:
    return resources_from_flavor(flavor, instance.booted_from_volume).get("DISK_GB", 0)


def _wish(held: Holding) -> Hashable:
    """What is to be in placement for the holding; another whenever that is to change."""
    return repr((held.shares, held.flavors, held.migration and held.migration.uuid))


def shared_disk(tree: ProviderTree, root: str, held: Held) -> str | None:
    """Return the provider that shares disk with the root: the one in use, else the lowest uuid."""
    aggregates = tree.data(root).aggregates
    sharing = sorted(
        uuid
        for uuid in tree.get_provider_uuids()
        if os_traits.MISC_SHARES_VIA_AGGREGATE in tree.data(uuid).traits
        and "DISK_GB" in tree.data(uuid).inventory
        and not aggregates.isdisjoint(tree.data(uuid).aggregates)
    )
    in_use = [uuid for uuid in sharing if "DISK_GB" in held.get(uuid, {})]
    return next(iter(in_use or sharing), None)


def merged(held: Held, placed: Held, tree: ProviderTree) -> Held:
    """Return what a consumer shall hold: what we place, and what isn't ours as it is.

    Not ours is what it holds outside `tree`, and classes we don't place. A class that is found,
    in the right amount, on providers below the root or on sharing ones is in its place: a reshape
    put it there. What the root has no inventory of is not placed there: it would be refused, and
    the rest with it.
    """
    root = tree.get_provider_uuids()[0]
    here = tree.get_provider_uuids()
    result = {rp: dict(part) for rp, part in held.items()}
    names = {name for part in placed.values() for name in part} | set(OWNED)
    for name in sorted(names):
        target = {rp: part[name] for rp, part in placed.items() if name in part}
        nested = sum(held.get(rp, {}).get(name, 0) for rp in here if rp != root)
        moved_away = name not in tree.data(root).inventory
        if nested and target.keys() <= {root} and (nested == sum(target.values()) or moved_away):
            # Only what a flat rewrite left on the root beside it is wrong.
            result.get(root, {}).pop(name, None)
            continue
        for rp in here:
            result.get(rp, {}).pop(name, None)
        for rp, amount in target.items():
            if rp != root or not moved_away:
                result.setdefault(rp, {})[name] = amount
    return {rp: part for rp, part in result.items() if part}
