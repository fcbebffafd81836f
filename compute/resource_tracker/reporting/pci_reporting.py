"""Reporting PCI devices beside what the driver reports (compute.md §4.10, §6.11)."""

from oslo_config import cfg

from compute import exceptions
from compute.consumers import held_shares
from compute.consumers.instance_resources import PCI_DEVICE
from compute.pci import placement_translator
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Allocations
from compute.provider_tree.inventory_record import sized
from compute.records.cell_database import CellDatabase
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.resource_tracker.allocations.allocation_mode import AllocationMode
from compute.resource_tracker.node.node import TrackedNode


class PciReporting:
    """Adds a node's PCI devices to its tree, and their allocations to those to be written."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        reportclient: SchedulerReportClient,
        cell: CellDatabase,
        mode: AllocationMode,
    ) -> None:
        self._conf = conf
        self._reportclient = reportclient
        self._cell = cell
        self._mode = mode

    def report(
        self,
        context: RequestContext,
        tree: ProviderTree,
        node: TrackedNode,
        reshaped: Allocations | None,
    ) -> Allocations | None:
        """Edit the tree, and return the allocations to write with it.

        :param reshaped: the allocations of a reshape by the driver, if there is one

        They are those of the reshape, or all of the node's, if holders of devices had to be given
        theirs, or None. Raises PlacementPciException for devices that can't be reported, and
        ResourceProviderUpdateConflict for a device for one use that got another user: then its
        inventory is read again the next time.
        """
        self._add_whole_devices(tree, node)
        if not self._conf.pci.report_in_placement:
            placement_translator.refuse_if_reported(tree, node.name)
            placement_translator.refuse_one_time_use(node.pci_devices)
            return reshaped
        placement_translator.check_specs(self._conf.pci.device_spec)
        gathered = reshaped
        if gathered is None:
            gathered = self._reportclient.get_allocations_for_provider_tree(context, node.name)
        self._refuse_outdated(tree, node, gathered)
        changed = placement_translator.report(
            tree,
            node.name,
            node.pci_devices,
            self._holders_of_devices(tree, node, gathered),
            gathered,
        )
        return gathered if changed else reshaped

    def _refuse_outdated(
        self, tree: ProviderTree, node: TrackedNode, allocations: Allocations
    ) -> None:
        outdated = placement_translator.one_use_read_before_use(tree, node.name, allocations)
        for uuid in outdated:
            self._reportclient.invalidate_resource_provider(uuid, cacheonly=True)
        if outdated:
            raise exceptions.ResourceProviderUpdateConflict(
                uuid=outdated[0],
                generation=tree.data(outdated[0]).generation or 0,
                error="it was allocated since it was read",
            )

    def _add_whole_devices(self, tree: ProviderTree, node: TrackedNode) -> None:
        """Report whole devices as PCI_DEVICE, where the tracker writes the allocations of them."""
        total = sum(device.get("dev_type") == "type-PCI" for device in node.pci_devices)
        if not self._mode.is_tracker or not total:
            return
        inventory = {**tree.data(node.name).inventory, PCI_DEVICE: sized(total)}
        tree.update_inventory(node.name, inventory)

    def _holders_of_devices(
        self, tree: ProviderTree, node: TrackedNode, allocations: Allocations
    ) -> dict[str, set[str]]:
        """Return consumer → addresses of the devices it has; see `held_shares.device_holders`."""
        here = set(tree.get_provider_uuids(node.name))
        present = {
            consumer
            for consumer, body in allocations.items()
            if not here.isdisjoint(body["allocations"])
        }
        return held_shares.device_holders(
            {**node.left_by_revert(), **node.holdings},
            self._cell.migrations.by_uuids(present),
            present,
        )
