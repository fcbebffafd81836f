"""What every claim does with its node: find it, count, keep the records, report the change."""

import logging
from collections.abc import Mapping, Sequence

from keystoneauth1.exceptions import ClientException
from oslo_config import cfg

from compute import exceptions
from compute.consumers.held_shares import InstanceHolding
from compute.pci.devices import Device
from compute.provider_tree import Resource
from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.records.migration import Migration
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.resource_tracker.allocations.allocations import AllocationWriter
from compute.resource_tracker.allocations.device_shares import DeviceNotes, DeviceShares
from compute.resource_tracker.claims import named_resources, numa_fit
from compute.resource_tracker.claims.claim import ClaimRoom, cell_ratios
from compute.resource_tracker.claims.device_choice import ChosenDevices, DeviceChoice
from compute.resource_tracker.claims.orders import OrderBook, Orders
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
        reportclient: SchedulerReportClient,
    ) -> None:
        self._host = host
        self._conf = conf
        self._cell = cell
        self._nodes = nodes
        self._records = records
        self._allocations = allocations
        self._reporting = reporting
        notes = DeviceNotes(cell)
        self._orders = OrderBook(host, conf, reportclient)
        self._choice = DeviceChoice(conf, reportclient, self._orders, notes)
        self._device_shares = DeviceShares(reportclient, allocations, notes)

    def available_node(self, nodename: str) -> TrackedNode:
        """Return a node that takes claims. Raises ComputeResourcesUnavailable if it doesn't."""
        node = self._nodes.find_available(nodename)
        if node is None:
            raise exceptions.ComputeResourcesUnavailable(
                reason=f"node {nodename} is not available on host {self._host}"
            )
        if node.mark is None:
            # The update that first saw the node failed before it counted.
            node.follow(self._records.read(node))
            self.count(node)
        return node

    # What to take

    def orders(
        self,
        context: RequestContext,
        instance: Instance,
        node: TrackedNode,
        given: Mapping[str, object] | None,
        migration: Migration | None = None,
    ) -> Orders:
        """Return what the claim was ordered to take. Raises ComputeResourcesUnavailable.

        :param given: the caller's allocations; if there are none, those in placement
        """
        anew = migration is not None and migration.is_resize
        cells = len((instance.numa_topology or {}).get("cells", ()))
        return self._orders.of(
            context, instance.uuid, node, given, migration, anew, cells_wanted=cells
        )

    def choose_devices(
        self,
        context: RequestContext,
        instance: Instance,
        node: TrackedNode,
        orders: Orders,
        limits: Mapping[str, object] | None,
    ) -> ChosenDevices:
        """Return the devices that the claim takes, and the host cells that they are near."""
        wanted, sets = instance.numa_topology, []
        if wanted and (instance.pci_requests or orders.parts):
            ratios, host = cell_ratios(node.record, limits), node.record.numa_topology
            taken = _topologies(node, instance, orders)
            sets = list(numa_fit.cell_sets(host, taken, wanted, *ratios, within=orders.cells))
        return self._choice.choose(
            context, node, instance.uuid, instance.pci_requests, orders, sets
        )

    def room(
        self, node: TrackedNode, instance: Instance, orders: Orders, chosen: ChosenDevices
    ) -> ClaimRoom:
        """Return what the claim is tested against."""
        cells = orders.cells if chosen.cells is None else chosen.cells
        return ClaimRoom(_topologies(node, instance, orders), chosen.problem, cells)

    def choose_more_devices(
        self,
        context: RequestContext,
        uuid: str,
        node: TrackedNode,
        requests: Sequence[Mapping[str, object]],
    ) -> ChosenDevices:
        """Return devices that an instance gets beside those it has."""
        orders = self._orders.of(context, uuid, node, None, anew=True, with_named=False)
        return self._choice.choose(context, node, uuid, requests, orders)

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

    def settle_claim(
        self,
        context: RequestContext,
        instance: Instance,
        node: TrackedNode,
        allocations: Mapping[str, object] | None,
    ) -> None:
        """Write the claim's allocations, unless the scheduler did.

        :param allocations: those of the scheduler, if it wrote any

        Raises ComputeResourcesUnavailable if there is no room for them.
        """
        held = node.holdings[instance.uuid]
        refused = self._allocations.settle_claim(context, held, node, allocations)
        if refused is not None:
            raise exceptions.ComputeResourcesUnavailable(reason=refused)

    def named_later(
        self,
        context: RequestContext,
        instance: Instance,
        node: TrackedNode,
        orders: Orders,
        migration: Migration | None = None,
    ) -> list[Resource]:
        """Return the named resources of what the tracker wrote for a claim without orders of them.

        Raises ComputeResourcesUnavailable.
        """
        if instance.uuid not in node.settled or not named_resources.are_open(node, orders):
            return []
        later = self.orders(context, instance, node, None, migration)
        return named_resources.choose(node, instance.uuid, later)

    def report_claim(self, context: RequestContext, instance: Instance, node: TrackedNode) -> None:
        """Have placement allocate the claim's devices, and report the node.

        Raises ComputeResourcesUnavailable, and what an update of the node raises.
        """
        self.report_devices(context, instance.uuid, node)
        self._reporting.update(context, node)

    def report_devices(self, context: RequestContext, uuid: str, node: TrackedNode) -> None:
        """Have placement allocate the devices that the instance has or has claimed.

        Raises ComputeResourcesUnavailable.
        """
        held, places = node.holdings.get(uuid), self._orders.places(node)
        problem = self._device_shares.give(context, uuid, held, node, places)
        if problem is not None:
            raise exceptions.ComputeResourcesUnavailable(reason=f"Claim pci failed: {problem}")

    def reserve_devices(
        self, context: RequestContext, uuid: str, node: TrackedNode, devices: list[Device]
    ) -> None:
        """Report devices that were claimed for an instance that is there, if placement has them.

        Raises ComputeResourcesUnavailable, and what an update of the node raises.
        """
        reported = {one for place in self._orders.places(node).values() for one in place.addresses}
        if reported.isdisjoint(device["address"] for device in devices):
            return
        self.report_devices(context, uuid, node)
        self._reporting.update(context, node)

    def report_release(self, context: RequestContext, node: TrackedNode) -> None:
        """Report what is left of the node. The share is given back already: log a failure."""
        try:
            self._reporting.update(context, node)
        except (exceptions.NovaException, ClientException) as failure:
            LOG.warning("Node %s will be reported at the next update: %s", node.name, failure)


def _topologies(node: TrackedNode, instance: Instance, orders: Orders) -> list[dict[str, object]]:
    """Return the topologies that take room from the claim."""
    return node.placed_topologies(without=None if orders.anew else instance.uuid)
