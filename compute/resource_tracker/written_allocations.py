"""Allocations written by the tracker itself (compute.md §4.10).

`[compute]allocation_writer` says whose they are: `tracker` writes those of all its instances,
`auto` those of instances that have none, `scheduler` none.
"""

import logging

import os_traits
from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.compute_node import ComputeNode
from compute.context import RequestContext
from compute.instance_resources import (
    PCI_DEVICE,
    generic_pci_devices,
    resources_from_flavor,
)
from compute.instances import Flavor, Instance
from compute.provider_tree import ProviderTree
from compute.resource_tracker.allocation_audit import AllocationAudit
from compute.resource_tracker.reporting import AUTO, SCHEDULER, TRACKER

LOG = logging.getLogger(__name__)

#: provider uuid → class → amount
Held = dict[str, dict[str, int]]

# The classes the tracker knows the place of.
OWNED = ("VCPU", "MEMORY_MB", "DISK_GB", PCI_DEVICE)

_FAILURES = (
    exceptions.AllocationUpdateFailed,
    exceptions.AllocationDeleteFailed,
    exceptions.ConsumerAllocationRetrievalFailed,
    exceptions.PlacementAPIConnectFailure,
    ClientException,
)


class WrittenAllocations(AllocationAudit):
    """Writes, heals and removes the allocations of instances; failures are logged."""

    #: the consumers this process wrote allocations of
    _written: set[str]

    def _writes_all(self) -> bool:
        """Whether the allocations of all instances are ours: that is so for drivers that say it."""
        mode = self.conf.compute.allocation_writer
        return mode == TRACKER or (mode == AUTO and self.driver.requires_allocation_refresh)

    def _writes_none(self) -> bool:
        return self.conf.compute.allocation_writer == SCHEDULER

    def _heal_allocations(
        self, context: RequestContext, node: ComputeNode, consumers: set[str] | None
    ) -> None:
        """See to it that the node's instances have what they should.

        `consumers` are those found to hold something of the node; None: nobody looked.
        """
        state = self._state(node.hypervisor_hostname)
        all_of_them = self._writes_all()
        if self._writes_none() or (consumers is None and not all_of_them):
            return
        for uuid, instance in list(state.instances.items()):
            if all_of_them or uuid not in (consumers or ()) or uuid in self._written:
                self._write_allocations(context, instance, node)

    def _write_allocations(
        self,
        context: RequestContext,
        instance: Instance,
        node: ComputeNode,
        flavor: Flavor | None = None,
    ) -> bool:
        """Make placement hold what the instance takes here, in one request if any is needed.

        False only if placement refused it, for want of room most likely; being unreachable is
        logged and left to the next update.
        """
        state = self._state(node.hypervisor_hostname)
        if self._writes_none() or state.tree is None:
            return True
        try:
            current = self.reportclient.get_allocs_for_consumer(context, instance.uuid)
            held = {rp: dict(part["resources"]) for rp, part in current["allocations"].items()}
            if held and not self._writes_all() and instance.uuid not in self._written:
                return True
            wanted = merged(
                held, self._placed(instance, node, state.tree, held, flavor), state.tree
            )
            self._written.add(instance.uuid)
            if wanted == held or not wanted:
                return True
            payload = {
                "allocations": {rp: {"resources": part} for rp, part in wanted.items()},
                "project_id": instance.project_id,
                "user_id": instance.user_id,
                "consumer_generation": current.get("consumer_generation"),
            }
            return self.reportclient.put_allocations(context, instance.uuid, payload)
        except _FAILURES as failure:
            LOG.warning("Allocations of %s could not be written: %s", instance.uuid, failure)
            return True

    def _delete_allocations(
        self, context: RequestContext, instance: Instance, node: ComputeNode
    ) -> None:
        """Remove what the instance holds here, now that it doesn't any more.

        What it holds on another host stays, and so does what both share.
        """
        if self._writes_none():
            return
        if not self._writes_all() and instance.uuid not in self._written:
            return
        self._written.discard(instance.uuid)
        tree = self._state(node.hypervisor_hostname).tree
        here = set(tree.get_provider_uuids()) if tree is not None else {node.uuid}
        try:
            current = self.reportclient.get_allocs_for_consumer(context, instance.uuid)
            if here.issuperset(current["allocations"]):
                self.reportclient.delete_allocation_for_instance(context, instance.uuid, force=True)
            else:
                self.reportclient.remove_provider_tree_from_instance_allocation(
                    context, instance.uuid, node.uuid
                )
        except (*_FAILURES, exceptions.ResourceProviderRetrievalFailed) as failure:
            LOG.warning("Allocations of %s could not be removed: %s", instance.uuid, failure)

    def _placed(
        self,
        instance: Instance,
        node: ComputeNode,
        tree: ProviderTree,
        held: Held,
        flavor: Flavor | None,
    ) -> Held:
        """Return what the instance takes, and of which provider.

        All is the node's own, but for the disk of an instance on shared storage. A class that no
        flavor property of ours names, and the node hasn't, is not for us to place.
        """
        amounts = resources_from_flavor(flavor or instance.flavor, instance.booted_from_volume)
        devices = generic_pci_devices(instance)
        if devices:
            amounts[PCI_DEVICE] = devices
        root = tree.data(node.uuid)
        places: Held = {}
        for name, amount in amounts.items():
            provider = node.uuid
            if name == "DISK_GB" and self._on_shared_storage(instance):
                provider = shared_disk(tree, node.uuid, held) or node.uuid
            elif name not in OWNED and name not in root.inventory:
                continue
            places.setdefault(provider, {})[name] = amount
        return places

    def _on_shared_storage(self, instance: Instance) -> bool:
        shared = self.conf.berth.instances_on_shared_storage or getattr(
            self.driver, "instances_on_shared_storage", False
        )
        return bool(shared) and not instance.booted_from_volume


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
