"""Reporting PCI devices beside what the driver reports (compute.md §4.10, §6.11)."""

import logging

from oslo_config import cfg

from compute import exceptions
from compute.consumers import held_shares
from compute.consumers.instance_resources import PCI_DEVICE
from compute.pci import placement_translator
from compute.pci.device_healing import HealingRules
from compute.pci.tags import trait_names
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Allocations
from compute.provider_tree.inventory_record import sized
from compute.records.cell_database import CellDatabase
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.resource_tracker.allocations.allocation_mode import AllocationMode
from compute.resource_tracker.allocations.device_shares import DeviceNotes
from compute.resource_tracker.node.node import TrackedNode

LOG = logging.getLogger(__name__)


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
        self._notes = DeviceNotes(cell)

    def report(
        self,
        context: RequestContext,
        tree: ProviderTree,
        node: TrackedNode,
        reshaped: Allocations | None,
    ) -> Allocations | None:
        """Edit the tree, and return the allocations to write with it.

        :param reshaped: the allocations of a reshape by the driver, if there is one

        They are those of the reshape; or, if consumers have to get allocations of their devices,
        all of the node's; or None. Raises PlacementPciException if a device can't be reported, and
        ResourceProviderUpdateConflict if a device for one use has another user by now: then its
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
        told: set[str] = set()
        corrected: set[tuple[str, str]] = set()
        changed = placement_translator.report(
            tree,
            node.name,
            node.reported_devices(),
            self._holders_of_devices(tree, node, gathered),
            gathered,
            node.taken_devices(),
            self._rules(node, told, corrected),
            _former_traits(node),
        )
        for sentence in told - node.devices_told:
            LOG.warning("%s", sentence)
        node.devices_told = told
        node.devices_corrected = corrected
        node.devices_unreserved = placement_translator.unreserved(tree, node.name, gathered)
        return gathered if changed else reshaped

    def settled(self, node: TrackedNode) -> bool:
        """Note that what `report` returned is written; return whether it has to run once more.

        It has to if a device for one use got its user just now: it can be reserved only then.
        """
        for consumer, provider in node.devices_corrected:
            self._notes.discard(consumer, provider)
        again, node.devices_unreserved = node.devices_unreserved, False
        return not again

    def _rules(
        self, node: TrackedNode, told: set[str], corrected: set[tuple[str, str]]
    ) -> HealingRules:
        """Allow to take away only what the tracker gave."""

        def corrects(consumer: str, provider: str) -> bool:
            writes = self._mode.writes_all or consumer in node.own
            if not writes and not self._notes.has(consumer, provider):
                return False
            corrected.add((consumer, provider))
            return True

        return HealingRules(corrects, self._notes.add, told.add)

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
        """Report whole devices as PCI_DEVICE, if the tracker writes their allocations."""
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
        holders = held_shares.device_holders(
            {**node.left_by_revert(), **node.holdings},
            self._cell.migrations.by_uuids(present),
            present,
        )
        for uuid, devices in node.pci_claims.items():
            if devices and uuid in present:
                holders.setdefault(uuid, set()).update(one["address"] for one in devices)
        # Who gave its last device back has nothing of it; who never had one may be on its way.
        reported = set(placement_translator.managed(tree, node.name).values())
        for uuid in node.holdings.keys() & present - holders.keys():
            migration = node.holdings[uuid].migration
            held = reported & allocations[uuid]["allocations"].keys()
            if migration is not None and migration.in_progress:
                continue
            if held and all(self._notes.has(uuid, provider) for provider in held):
                holders[uuid] = set()
        return holders


def _former_traits(node: TrackedNode) -> set[str]:
    """Return the traits that tags of devices named when the node was last recorded."""
    pools = [] if node.saved is None else node.saved.pci_device_pools
    return {trait for pool in pools for trait in trait_names(pool.get("traits") or "")}
