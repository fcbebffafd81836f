"""The tracker's memory of its nodes, and their records in the cell database.

See compute.md §4.1, §4.3.
"""

import copy
import logging
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from oslo_config import cfg

from compute import exceptions
from compute.consumers import held_shares
from compute.consumers.held_shares import Holding, Share
from compute.pci.devices import Device
from compute.provider_config import Provider, get_provider_configs
from compute.provider_tree import ProviderSubTree, ProviderTree, Resource
from compute.records.cell_database import CellDatabase, DuplicateRecord
from compute.records.compute_node import ComputeNode
from compute.records.instance import Instance
from compute.records.migration import Migration
from compute.records.node_identity import NodeIdentity
from compute.records.service import Service
from compute.report import SchedulerReportClient
from compute.report.context import RequestContext
from compute.resource_tracker.allocation_ratios import apply_ratios
from compute.resource_tracker.node_locks import NodeLocks
from compute.resource_tracker.stats import Stats

LOG = logging.getLogger(__name__)


class Records(NamedTuple):
    """What the cell database says of a node.

    `instances` are those on it, `migrations` those from or to it that are in progress or failed;
    `holdings` are by instance, and empty for one that passed by.
    """

    instances: list[Instance] = []
    migrations: list[Migration] = []
    holdings: dict[str, Holding] = {}


@dataclass
class NodeState:
    """What the tracker knows of a node beside its record; guarded by the node's lock.

    `instances` are those on it and `holdings` what is held of it, both by the instance's uuid.
    `own` are the consumers whose allocations here the tracker writes, `settled` what it last found
    to be in placement. `told` is what the audit last said of consumers that it left alone. `mark`
    is that of the cell database when `records` were read.
    """

    instances: dict[str, Instance] = field(default_factory=dict)
    holdings: dict[str, Holding] = field(default_factory=dict)
    pci_devices: list[Device] = field(default_factory=list)
    own: set[str] = field(default_factory=set)
    settled: dict[str, Hashable] = field(default_factory=dict)
    tree: ProviderSubTree | None = None
    mark: Hashable = None
    records: Records = field(default_factory=Records)
    audited: tuple[Hashable, float] | None = None
    told: dict[str, str] = field(default_factory=dict)

    @property
    def migrations(self) -> dict[str, Migration]:
        """Instance uuid → the migration that something is held for."""
        return {
            uuid: held.migration
            for uuid, held in self.holdings.items()
            if held.migration is not None and held.moves
        }

    def left_by_revert(self) -> dict[str, Holding]:
        """Return the holdings, all empty, of those whose move here is being reverted."""
        return {
            uuid: held
            for uuid, held in self.records.holdings.items()
            if not held.shares
            and held.migration is not None
            and held_shares.is_reverting(held.instance, held.migration)
        }

    def shares(self) -> list[Share]:
        """Return all that is held."""
        return [share for held in list(self.holdings.values()) for share in held.shares]

    def taken_devices(self) -> set[str]:
        """Return the addresses of the PCI devices that are held."""
        return set().union(*(share.addresses for share in self.shares()))

    def assigned_resources(self) -> set[Resource]:
        """Return the resources that are assigned."""
        return {resource for share in self.shares() for resource in share.resources}


class NodeRecords:
    """Finding, making and keeping the record of each node."""

    def __init__(
        self,
        host: str,
        driver: Any,
        reportclient: SchedulerReportClient,
        *,
        conf: cfg.ConfigOpts,
        cell: CellDatabase,
        identity: NodeIdentity,
        provider_configs: Mapping[str, Provider] | None = None,
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
        self.stats: dict[str, Stats] = {}
        self.provider_tree: ProviderTree | None = None
        if provider_configs is None:
            provider_configs = get_provider_configs(conf.compute.provider_config_location)
        self.provider_configs = provider_configs
        self.absent_providers: set[str] = set()
        self._locks = NodeLocks()
        self._states: dict[str, NodeState] = {}
        self._markers: set[str] | None = None
        self._service: tuple[Hashable, Service | None] | None = None

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

    # What is tracked, of all nodes

    @property
    def tracked_instances(self) -> set[str]:
        """The uuids of the instances that are counted."""
        return {uuid for state in list(self._states.values()) for uuid in list(state.instances)}

    @property
    def tracked_migrations(self) -> dict[str, Migration]:
        """Instance uuid → the migration that is counted."""
        return {u: m for state in list(self._states.values()) for u, m in state.migrations.items()}

    @property
    def assigned_resources(self) -> dict[str, dict[str, set[Resource]]]:
        """Provider uuid → class → what is assigned to instances."""
        assigned: dict[str, dict[str, set[Resource]]] = {}
        for state in list(self._states.values()):
            for resource in state.assigned_resources():
                classes = assigned.setdefault(resource.provider_uuid, {})
                classes.setdefault(resource.resource_class, set()).add(resource)
        return assigned

    def _state(self, nodename: str) -> NodeState:
        self.stats.setdefault(nodename, Stats())
        return self._states.setdefault(nodename, NodeState())

    # Forgetting

    def remove_node(self, nodename: str) -> None:
        """Forget the node; placement and the cell database keep it."""
        with self._locks.of(nodename):
            self.compute_nodes.pop(nodename, None)
            self.old_resources.pop(nodename, None)
            self.stats.pop(nodename, None)
            self._states.pop(nodename, None)

    def clean_compute_node_cache(self, nodes_in_db: list[ComputeNode]) -> None:
        """Forget each node that has no record any more, here and in the report client."""
        kept = {node.hypervisor_hostname for node in nodes_in_db}
        for nodename in set(self.compute_nodes) - kept:
            self.remove_node(nodename)
            self.reportclient.invalidate_resource_provider(nodename)

    def reset(self) -> None:
        """Forget what placement was found to have; the next update reads it again."""
        self._markers = None
        for state in list(self._states.values()):
            state.audited = None
        self.reportclient.clear_provider_cache()

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
        if known is None and (known := self._create(resources)) is None:
            return True
        self._adopt(context, known, resources, startup)
        return False

    def _create(self, resources: dict[str, Any]) -> ComputeNode | None:
        """Make the node's record; return the one that another start made meanwhile, if it did."""
        nodename = resources["hypervisor_hostname"]
        node = ComputeNode(uuid=resources["uuid"], host=self.host, hypervisor_hostname=nodename)
        self._copy_resources(node, resources, initial=True)
        try:
            self.cell.compute_nodes.create(node)
        except DuplicateRecord as error:
            known = self.cell.compute_nodes.by_uuid(node.uuid, include_deleted=True)
            if known is not None:
                return known
            raise exceptions.InvalidConfiguration(
                f"Node {nodename} of {self.host} is recorded with another uuid than {node.uuid}. "
                "Restore its node identity file, or remove the record."
            ) from error
        LOG.info("Compute node record created for %s with uuid %s", nodename, node.uuid)
        self.compute_nodes[nodename] = node
        return None

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
        raise NotImplementedError
