"""ResourceTracker: one pass over one node, from what its driver says to what placement knows."""

import copy
import logging
from collections.abc import Set
from typing import Any

from oslo_config import cfg

from compute import exceptions
from compute.allocation_ratios import apply_ratios
from compute.cell_database import CellDatabase, DuplicateRecord
from compute.compute_node import ComputeNode, missing_resources
from compute.context import RequestContext
from compute.host_address import local_address
from compute.node_identity import NodeIdentity
from compute.provider_tree import ProviderTree
from compute.report import SchedulerReportClient
from compute.resource_tracker import root_inventory
from compute.resource_tracker.node_locks import NodeLocks
from compute.resource_tracker.node_traits import MARKERS, capabilities_of, wanted_traits
from compute.resource_tracker.reshape import Allocations, reshaped_allocations
from compute.service_record import Service

LOG = logging.getLogger(__name__)

# How often a node's update is tried while others change the same providers.
ATTEMPTS = 4


class ResourceTracker:
    """Tracks the nodes of one compute service (compute.md §4).

    :param host: the service's name
    :param driver: a ComputeDriver
    :param identity: tells the uuid of the host's node if the driver doesn't

    `compute_nodes` is nodename → record, `old_resources` nodename → the record as last saved,
    `provider_tree` the tree last handed to the report client. Nodes are locked one by one: work on
    one never waits for another.
    """

    def __init__(
        self,
        host: str,
        driver: Any,
        reportclient: SchedulerReportClient,
        *,
        conf: cfg.ConfigOpts,
        cell: CellDatabase,
        identity: NodeIdentity,
    ) -> None:
        self.host = host
        self.driver = driver
        self.reportclient = reportclient
        self.conf = conf
        self.cell = cell
        self.identity = identity
        self.service_ref: Service | None = None
        self.compute_nodes: dict[str, ComputeNode] = {}
        self.old_resources: dict[str, ComputeNode] = {}
        self.provider_tree: ProviderTree | None = None
        self._locks = NodeLocks()
        self._markers: set[str] | None = None

    def set_service_ref(self, service_ref: Service) -> None:
        """Say whose nodes these are. Raises ServiceNotUnique, ComputeServiceInUse."""
        if self.service_ref is not None and self.service_ref.id != service_ref.id:
            raise exceptions.ComputeServiceInUse(host=self.host)
        if service_ref.host != self.host:
            raise exceptions.ServiceNotUnique()
        self.service_ref = service_ref

    def get_node_by_name(self, nodename: str) -> ComputeNode:
        """Return the record of a tracked node. Raises ComputeHostNotFound."""
        if nodename not in self.compute_nodes:
            raise exceptions.ComputeHostNotFound(host=nodename)
        return self.compute_nodes[nodename]

    def disabled(self, nodename: str) -> bool:
        """Say whether nothing can be done with the node: not tracked, or gone."""
        return nodename not in self.compute_nodes or not self.driver.node_is_available(nodename)

    # Forgetting

    def remove_node(self, nodename: str) -> None:
        """Forget the node; placement and the cell database keep it."""
        with self._locks.of(nodename):
            self.compute_nodes.pop(nodename, None)
            self.old_resources.pop(nodename, None)

    def clean_compute_node_cache(self, nodes_in_db: list[ComputeNode]) -> None:
        """Forget each node that has no record any more, here and in the report client."""
        kept = {node.hypervisor_hostname for node in nodes_in_db}
        for nodename in set(self.compute_nodes) - kept:
            self.remove_node(nodename)
            self.reportclient.invalidate_resource_provider(nodename)

    def reset(self) -> None:
        """Forget what placement was found to have; the next update reads it again."""
        self._markers = None
        self.reportclient.clear_provider_cache()

    # One pass

    def update_available_resource(
        self, context: RequestContext, nodename: str, startup: bool = False
    ) -> None:
        """Bring the node's record and its providers up to date.

        Only with `startup` may inventory be reshaped; else ReshapeNeeded passes.

        Raises ReshapeNeeded; ReshapeFailed; InvalidInput for a driver that leaves out what it must
        tell; InvalidConfiguration for a node that contradicts its record; and what
        `SchedulerReportClient.update_from_provider_tree` raises.
        """
        resources = self._resources(nodename)
        with self._locks.of(nodename):
            self._update_available_resource(context, resources, startup)

    def _resources(self, nodename: str) -> dict[str, Any]:
        """Return what the driver says of the node, with what it needn't say filled in."""
        resources = dict(self.driver.get_available_resource(nodename))
        missing = missing_resources(resources)
        if missing:
            raise exceptions.InvalidInput(
                reason=f"the driver doesn't tell {', '.join(missing)} of node {nodename}"
            )
        resources["hypervisor_hostname"] = nodename
        resources["host_ip"] = self.conf.my_ip or local_address()
        resources["cpu_info"] = resources["cpu_info"] or ""
        if not resources.get("uuid"):
            resources["uuid"] = self.identity.read_or_create()
        return resources

    def _update_available_resource(
        self, context: RequestContext, resources: dict[str, Any], startup: bool
    ) -> None:
        nodename = resources["hypervisor_hostname"]
        self._init_compute_node(context, resources, startup)
        if self.disabled(nodename):
            return
        node = self.compute_nodes[nodename]
        node.reset_usage(
            vcpus=self.conf.reserved_host_cpus,
            memory_mb=self.conf.reserved_host_memory_mb,
            local_gb=root_inventory.reserved_disk_gb(self.conf),
        )
        self._update(context, node, startup=startup)

    # The record

    def _init_compute_node(
        self, context: RequestContext, resources: dict[str, Any], startup: bool
    ) -> bool:
        """Find or make the node's record and copy `resources` to it. True if it was made."""
        nodename = resources["hypervisor_hostname"]
        if nodename in self.compute_nodes:
            self._copy_resources(self.compute_nodes[nodename], resources)
            return False
        known = self.cell.compute_nodes.by_uuid(resources["uuid"], include_deleted=True)
        if known is None:
            self._create(resources)
            return True
        self._adopt(context, known, resources, startup)
        return False

    def _create(self, resources: dict[str, Any]) -> None:
        nodename = resources["hypervisor_hostname"]
        node = ComputeNode(uuid=resources["uuid"], host=self.host, hypervisor_hostname=nodename)
        self._copy_resources(node, resources, initial=True)
        try:
            self.cell.compute_nodes.create(node)
        except DuplicateRecord as error:
            raise exceptions.InvalidConfiguration(
                f"Node {nodename} of {self.host} is recorded with another uuid than {node.uuid}. "
                "Restore its node identity file, or remove the record."
            ) from error
        LOG.info("Compute node record created for %s with uuid %s", nodename, node.uuid)
        self.compute_nodes[nodename] = node

    def _adopt(
        self, context: RequestContext, node: ComputeNode, resources: dict[str, Any], startup: bool
    ) -> None:
        """Take over a record from an earlier life of the service, or from another host."""
        nodename = resources["hypervisor_hostname"]
        if node.hypervisor_hostname != nodename:
            raise exceptions.InvalidNodeConfiguration(
                reason=f"node {nodename} has uuid {node.uuid}, which is recorded as node "
                f"{node.hypervisor_hostname}; a node can't be renamed"
            )
        if node.deleted:
            node.deleted = False
            self.cell.compute_nodes.save(node)
        else:
            self.old_resources[nodename] = copy.deepcopy(node)
        moved_from = node.host
        node.host = self.host
        self.compute_nodes[nodename] = node
        self._copy_resources(node, resources)
        if moved_from != self.host:
            LOG.info("Compute node %s moves from %s to %s", nodename, moved_from, self.host)
            self._update(context, node, startup=startup)

    def _copy_resources(
        self, node: ComputeNode, resources: dict[str, Any], initial: bool = False
    ) -> None:
        node.update_from_virt_driver(resources)
        apply_ratios(node, self.conf, initial=initial)
        if self.service_ref is not None:
            node.service_id = self.service_ref.id

    def _resource_change(self, node: ComputeNode) -> bool:
        """Say whether the record differs from the one last saved, and remember it as saved."""
        nodename = node.hypervisor_hostname
        if node == self.old_resources.get(nodename):
            return False
        self.old_resources[nodename] = copy.deepcopy(node)
        return True

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
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._report(context, node, startup)
            except (
                exceptions.ResourceProviderUpdateConflict,
                exceptions.PlacementReshapeConflict,
            ) as conflict:
                if attempt == ATTEMPTS:
                    raise
                # The usual way: each allocation changes the generation of its providers.
                LOG.debug("Updating %s again: %s", node.hypervisor_hostname, conflict)
            else:
                return

    def _report(self, context: RequestContext, node: ComputeNode, startup: bool) -> None:
        nodename = node.hypervisor_hostname
        tree = self.reportclient.get_provider_subtree_and_ensure_root(
            context, node.uuid, name=nodename, with_sharing=True
        )
        allocations: Allocations | None = None
        try:
            self._ask_driver(tree, node)
        except exceptions.ReshapeNeeded:
            if not startup:
                raise
            LOG.info("Node %s needs its inventory and allocations reshaped", nodename)
            allocations = reshaped_allocations(
                self.driver, self.reportclient, context, tree, nodename
            )
        tree.update_traits(nodename, self._get_traits(context, nodename, tree))
        self.provider_tree = tree
        self.reportclient.update_from_provider_tree(context, tree, allocations=allocations)

    def _ask_driver(self, tree: ProviderTree, node: ComputeNode) -> None:
        """Have the tree edited by the driver, or fill the root with what an older driver tells."""
        nodename = node.hypervisor_hostname
        try:
            # Drivers from before the reshape take two arguments.
            self.driver.update_provider_tree(tree, nodename)
        except NotImplementedError:
            tree.update_inventory(nodename, self._legacy_inventory(node))
            try:
                tree.add_traits(nodename, *self.driver.get_traits(nodename))
            except NotImplementedError:
                LOG.debug("The driver of %s tells no traits", nodename)

    def _legacy_inventory(self, node: ComputeNode) -> root_inventory.Inventory:
        try:
            told = self.driver.get_inventory(node.hypervisor_hostname)
        except NotImplementedError:
            return root_inventory.from_record(node, self.conf)
        return root_inventory.completed(told, node, self.conf)

    def _get_traits(self, context: RequestContext, nodename: str, tree: ProviderTree) -> set[str]:
        """Return the root's traits: the driver's and outsiders', corrected by ours."""
        current = tree.data(nodename).traits
        service = self.cell.services.by_host(self.host)
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
