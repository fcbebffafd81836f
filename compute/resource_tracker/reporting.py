"""Telling placement what a node has: the driver's tree, traits, the operator's files.

See compute.md §4.5–4.8.
"""

from __future__ import annotations

import logging
from collections.abc import Set
from dataclasses import dataclass

from compute import exceptions
from compute.consumers import held_shares
from compute.consumers.instance_resources import PCI_DEVICE
from compute.pci import placement_translator as pci_placement_translator
from compute.provider_tree import ProviderSubTree, ProviderTree
from compute.records.compute_node import ComputeNode
from compute.records.service import Service
from compute.report.context import RequestContext
from compute.resource_tracker.driver_tree import edit_tree
from compute.resource_tracker.node_records import NodeRecords
from compute.resource_tracker.node_traits import MARKERS, capabilities_of, wanted_traits
from compute.resource_tracker.patience import Patience
from compute.resource_tracker.provider_additions import ProviderAdditions
from compute.resource_tracker.reshape import Allocations, Reshaped

LOG = logging.getLogger(__name__)

TRACKER, SCHEDULER, AUTO = "tracker", "scheduler", "auto"


@dataclass(frozen=True)
class WantedProviders:
    """What a node's providers shall be.

    `reshaped` is what the driver moves, if it has to. `allocations` are those to write with the
    tree, whoever changed them: the driver, or the devices reported beside it.
    """

    nodename: str
    tree: ProviderSubTree
    reshaped: Reshaped | None
    allocations: Allocations | None


class Reporting(NodeRecords):
    """Bringing a node's providers up to date, and then its record."""

    def _update(self, context: RequestContext, node: ComputeNode, startup: bool = False) -> None:
        """Bring placement up to date, and then the record.

        In this order, so that a fatal reshape leaves no record of a state that never was.
        """
        self._update_to_placement(context, node, startup)
        before = self.old_resources.get(node.hypervisor_hostname)
        if not self._resource_change(node):
            return
        try:
            self.cell.compute_nodes.save(node)
        except Exception:
            if before is None:
                del self.old_resources[node.hypervisor_hostname]
            else:
                self.old_resources[node.hypervisor_hostname] = before
            raise

    # Placement

    def _update_to_placement(
        self, context: RequestContext, node: ComputeNode, startup: bool
    ) -> None:
        """Report the node, and start over when others changed its providers meanwhile."""
        Patience.configured(self.conf).until_undisturbed(
            lambda: self._report(context, node, startup), node.hypervisor_hostname
        )

    def _report(self, context: RequestContext, node: ComputeNode, startup: bool) -> None:
        self.flush(context, self._wanted(context, node, startup))

    def _wanted(
        self, context: RequestContext, node: ComputeNode, may_reshape: bool
    ) -> WantedProviders:
        """Work out what the node's providers shall be; only a missing root is created.

        The service and the commands that stand in for it both come here, and nowhere else.
        """
        nodename = node.hypervisor_hostname
        tree = self.reportclient.get_provider_subtree_and_ensure_root(
            context, node.uuid, name=nodename, with_sharing=True
        )
        additions = ProviderAdditions(
            self.provider_configs, self._warn_if_absent, self.absent_providers.discard
        )
        given = additions.take_out(tree)
        reshaped = edit_tree(
            self.driver, self.conf, self.reportclient, context, tree, node, may_reshape
        )
        tree.update_traits(nodename, self._get_traits(context, nodename, tree))
        self._add_pci_devices(tree, node)
        allocations = self._report_pci_devices(
            context, tree, node, reshaped.after if reshaped else None
        )
        additions.merge(tree, given)
        return WantedProviders(nodename, tree, reshaped, allocations)

    def flush(self, context: RequestContext, wanted: WantedProviders) -> None:
        """Make placement look as `wanted`. Raises as `update_from_provider_tree`."""
        self.provider_tree = self._state(wanted.nodename).tree = wanted.tree
        try:
            self.reportclient.update_from_provider_tree(
                context, wanted.tree, allocations=wanted.allocations
            )
        except exceptions.ResourceProviderSyncFailed as failure:
            in_use = failure.__cause__
            if self.conf.pci.report_in_placement and isinstance(in_use, exceptions.InventoryInUse):
                raise exceptions.PlacementPciException(error=in_use) from failure
            raise

    def _get_traits(self, context: RequestContext, nodename: str, tree: ProviderTree) -> set[str]:
        """Return the root's traits: the driver's and outsiders', corrected by ours."""
        current = tree.data(nodename).traits
        service = self._service_record()
        if service is None:
            LOG.error("No service record of host %s: can't tell whether it is disabled", self.host)
        return wanted_traits(
            current,
            capabilities_of(self.compute_nodes[nodename], self.driver.capabilities_as_traits()),
            self._known_markers(context, current),
            service.disabled if service else None,
        )

    def _known_markers(self, context: RequestContext, current: Set[str]) -> set[str]:
        """Return those of MARKERS that placement knows, as is clear if the root has them all.

        Asked once, for it takes an upgrade of placement to change.
        """
        if current >= set(MARKERS):
            return set(MARKERS)
        if self._markers is None:
            response = self.reportclient.get(
                f"/traits?name=in:{','.join(MARKERS)}",
                version="1.6",
                global_request_id=context.global_id,
            )
            if response.status_code != 200:
                raise exceptions.TraitRetrievalFailed(error=response.text)
            self._markers = set(response.json()["traits"])
        return self._markers

    def _service_record(self) -> Service | None:
        """Return the service's record as it is now, reading it when the database changed."""
        mark = self.cell.mark()
        known = self._service
        if known is None or known[0] != mark:
            known = self._service = (mark, self.cell.services.by_host(self.host))
        return known[1]

    # What isn't the driver's

    def _add_pci_devices(self, tree: ProviderTree, node: ComputeNode) -> None:
        """Report whole PCI devices, where the tracker writes the allocations of them."""
        nodename = node.hypervisor_hostname
        devices = self._state(nodename).pci_devices
        total = sum(device.get("dev_type") == "type-PCI" for device in devices)
        if self.conf.compute.allocation_writer != TRACKER or not total:
            return
        record = {"total": total, "min_unit": 1, "max_unit": total, "step_size": 1}
        tree.update_inventory(nodename, {**tree.data(nodename).inventory, PCI_DEVICE: record})

    def _report_pci_devices(
        self,
        context: RequestContext,
        tree: ProviderTree,
        node: ComputeNode,
        allocations: Allocations | None,
    ) -> Allocations | None:
        """Report devices on providers of their own, if asked to (compute.md §6.11).

        Returns the allocations to write: those of the reshape that goes on, or, where holders of
        devices had to be given theirs, all of the node's.
        """
        nodename = node.hypervisor_hostname
        if not self.conf.pci.report_in_placement:
            pci_placement_translator.refuse_if_reported(tree, nodename)
            pci_placement_translator.refuse_one_time_use(self._state(nodename).pci_devices)
            return allocations
        pci_placement_translator.check_specs(self.conf.pci.device_spec)
        gathered = allocations
        if gathered is None:
            gathered = self.reportclient.get_allocations_for_provider_tree(context, nodename)
        changed = pci_placement_translator.report(
            tree,
            nodename,
            self._state(nodename).pci_devices,
            self._holders_of_devices(tree, nodename, gathered),
            gathered,
        )
        return gathered if changed else allocations

    def _holders_of_devices(
        self, tree: ProviderTree, nodename: str, allocations: Allocations
    ) -> dict[str, set[str]]:
        """Return consumer → addresses of the devices it has; see `held_shares.device_holders`."""
        state = self._state(nodename)
        here = set(tree.get_provider_uuids(nodename))
        present = {
            consumer
            for consumer, body in allocations.items()
            if not here.isdisjoint(body["allocations"])
        }
        return held_shares.device_holders(
            {**state.left_by_revert(), **state.holdings},
            self.cell.migrations.by_uuids(present),
            present,
        )

    def _warn_if_absent(self, provider_id: str) -> None:
        """Warn, once, of a provider no node has; a node that wasn't reported yet may have it."""
        trees = [state.tree for state in list(self._states.values())]
        waiting = sum(tree is None for tree in trees) > 1 or len(trees) < len(
            self.driver.get_available_nodes()
        )
        elsewhere = any(tree is not None and tree.exists(provider_id) for tree in trees)
        if waiting or elsewhere or provider_id in self.absent_providers:
            return
        self.absent_providers.add(provider_id)
        LOG.warning(
            "Provider %s of the provider config files doesn't exist; its entry is ignored.",
            provider_id,
        )
