"""ResourceTracker: one pass over one node, from what its driver says to what placement knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oslo_config import cfg

from compute import config, exceptions
from compute.driver import ServiceDriver
from compute.pci import devices as pci
from compute.pci import offered
from compute.pci.devices import Device
from compute.provider_config import Provider, get_provider_configs
from compute.provider_tree import ProviderTree, Resource
from compute.records.cell_database import CellDatabase
from compute.records.cell_database.memory import MemoryCellDatabase
from compute.records.compute_node import ComputeNode
from compute.records.instance import Flavor, Instance
from compute.records.migration import EVACUATION, LIVE_MIGRATION, RESIZE, Migration
from compute.records.node_identity import NodeIdentity
from compute.records.service import Service
from compute.report import SchedulerReportClient, report_client_singleton
from compute.report.wire.context import RequestContext
from compute.resource_tracker.allocations.allocation_audit import AllocationAudit
from compute.resource_tracker.allocations.allocation_mode import AllocationMode
from compute.resource_tracker.allocations.allocations import AllocationWriter
from compute.resource_tracker.allocations.guest_audit import LackingNotes
from compute.resource_tracker.claims.claim import Claim, MoveClaim
from compute.resource_tracker.claims.claim_recorder import ClaimRecorder
from compute.resource_tracker.claims.claims import Claims, named_resources
from compute.resource_tracker.claims.moves import Moves
from compute.resource_tracker.claims.pci_tracker import PciRequests, PciTracker
from compute.resource_tracker.node import usage
from compute.resource_tracker.node.driver_resources import ask_driver, local_address
from compute.resource_tracker.node.node import TrackedNode
from compute.resource_tracker.node.node_records import NodeRecords
from compute.resource_tracker.node.node_traits import RootTraits
from compute.resource_tracker.node.nodes import Nodes, TakenOver
from compute.resource_tracker.node.reported import Reported, reported
from compute.resource_tracker.node.stats import Stats
from compute.resource_tracker.reporting.pci_reporting import PciReporting
from compute.resource_tracker.reporting.reporting import Reporting, WantedProviders


class ResourceTracker:
    """Tracks the nodes of one compute service (compute.md §4).

    :param host: the service's name
    :param driver: a ComputeDriver
    :param reportclient: tells placement; None: the client of this process
    :param conf: the configuration as `compute.config.load` makes it; None: all defaults
    :param cell: the records of this host; None: they are kept in memory
    :param identity: tells the uuid of the host's node if the driver doesn't; None: the file that
        `conf` leads to
    :param provider_configs: what `get_provider_configs` returned; None: read the files
    :param unplaced: called with a resource class when a guest is found that lacks some of it

    Raises ProviderConfigException if the operator's provider configuration files can't be used.

    Work is done under one lock for each node, so that work on one node never waits for another.
    The parts of the tracker are made here and given to each other; its methods delegate to them.
    Each part keeps what it was given. To exchange the driver or the report client, make a new
    tracker.
    """

    def __init__(
        self,
        host: str,
        driver: ServiceDriver,
        reportclient: SchedulerReportClient | None = None,
        *,
        conf: cfg.ConfigOpts | None = None,
        cell: CellDatabase | None = None,
        identity: NodeIdentity | None = None,
        provider_configs: Mapping[str, Provider] | None = None,
        unplaced: Callable[[str], None] | None = None,
    ) -> None:
        self.host = host
        self.driver = driver
        self.reportclient = (
            report_client_singleton(conf=conf) if reportclient is None else reportclient
        )
        self.conf = conf = config.load(files=[], environ={}) if conf is None else conf
        self.cell = cell = MemoryCellDatabase() if cell is None else cell
        self.identity = NodeIdentity.from_config(conf) if identity is None else identity
        self.service_ref: Service | None = None
        self.cpu_allocation_ratio: float | None = conf.cpu_allocation_ratio
        self.ram_allocation_ratio: float | None = conf.ram_allocation_ratio
        self.disk_allocation_ratio: float | None = conf.disk_allocation_ratio
        if provider_configs is None:
            provider_configs = get_provider_configs(conf.compute.provider_config_location)
        self.provider_configs = provider_configs
        mode = AllocationMode(conf, driver)
        self._nodes = Nodes(host, driver, conf, cell)
        self._records = NodeRecords(host, cell)
        notes = LackingNotes(unplaced or (lambda resource_class: None))
        self._audit = AllocationAudit(host, driver, conf, self.reportclient, cell, mode, notes)
        self._allocations = AllocationWriter(driver, conf, self.reportclient, cell, mode, notes)
        self._reporting = Reporting(
            driver,
            conf,
            self.reportclient,
            cell,
            self._nodes,
            RootTraits(host, driver, self.reportclient, cell),
            PciReporting(conf, self.reportclient, cell, mode),
            provider_configs,
        )
        recorder = ClaimRecorder(
            host,
            conf,
            cell,
            self._nodes,
            self._records,
            self._allocations,
            self._reporting,
            self.reportclient,
        )
        self._claims = Claims(host, self._nodes, recorder, self._allocations, self._reporting)
        self._moves = Moves(host, cell, self._nodes, recorder, self._allocations)
        self.pci_tracker = PciTracker(host, self._nodes, recorder)

    # The pass over a node

    def update_available_resource(
        self, context: RequestContext, nodename: str, startup: bool = False
    ) -> None:
        """Bring the node's record and its providers up to date.

        Only with `startup` may inventory be reshaped; otherwise ReshapeNeeded passes.

        Raises ReshapeNeeded if it may not reshape and has to; ReshapeFailed if the reshape fails;
        InvalidInput if the driver leaves out what it must report; InvalidConfiguration if the node
        contradicts its record; and what `SchedulerReportClient.update_from_provider_tree` raises.
        """
        resources = ask_driver(self.driver, nodename, self.identity)
        resources["host_ip"] = self.conf.my_ip or local_address()
        with self._nodes.lock(nodename):
            node, is_new, _ = self._take_over(context, resources, startup)
            if self.disabled(nodename):
                return
            self._count(node, resources)
            found = set() if is_new else self._audit.run_if_due(context, node)
            # If the update fails as well, its failure is raised instead.
            self._reporting.update(context, node, startup)
            consumers = None if isinstance(found, Exception) else found
            if isinstance(found, Exception):
                self._audit.skipped(node, found)
            self._allocations.settle_all(context, node, consumers)
            if consumers is not None:
                self._audit.note(node)
            if startup:
                named_resources.check(node)

    def reported(self, nodename: str) -> Reported | None:
        """Return what the last update of the node reported; None if nothing was."""
        node = self._nodes.find(nodename)
        return None if node is None else reported(node)

    def wanted_providers(self, context: RequestContext, nodename: str) -> WantedProviders:
        """Work out what the update of a start would make of the node's providers.

        It reads, creates the node's root if placement has none, and leaves the rest to `flush`.
        The node's record is made or brought up to date as in any update.

        Raises ComputeHostNotFound if the node isn't available, and what
        `update_available_resource` raises.
        """
        resources = ask_driver(self.driver, nodename, self.identity)
        with self._nodes.lock(nodename):
            node = self._take_over(context, resources, startup=True).node
            if self.disabled(nodename):
                raise exceptions.ComputeHostNotFound(host=nodename)
            self._count(node, resources)
            return self._reporting.wanted(context, node, may_reshape=True)

    def flush(self, context: RequestContext, wanted: WantedProviders) -> None:
        """Make placement look as `wanted`. Raises what `update_from_provider_tree` raises."""
        self._reporting.flush(context, wanted)

    def _take_over(
        self, context: RequestContext, resources: Mapping[str, object], startup: bool
    ) -> TakenOver:
        """Find or make the node; report a node that comes from another host at once."""
        devices = pci.devices_of(resources)
        # Drivers of nova's own list all that the machine has.
        if not getattr(self.driver, "lists_offered_devices", False):
            root = self.conf.berth.sysfs_root
            devices = offered.tagged(devices, self.conf.pci.device_spec, root)
        service_id = self.service_ref.id if self.service_ref is not None else None
        taken = self._nodes.take_over(resources, service_id)
        taken.node.pci_devices = devices
        if taken.moved:
            self._reporting.update(context, taken.node, startup)
        return taken

    def _count(self, node: TrackedNode, resources: Mapping[str, Any]) -> None:
        """Count anew what the node's instances and migrations use."""
        node.follow(self._records.read(node))
        node.record.metrics = list(resources.get("metrics") or [])
        node.stats.digest(resources.get("stats"))
        usage.count(node, self.conf)

    # New instances

    def instance_claim(
        self,
        context: RequestContext,
        instance: Instance,
        nodename: str,
        allocations: Mapping[str, object] | None = None,
        limits: Mapping[str, object] | None = None,
    ) -> Claim:
        """Give a new instance its share of the node and return the claim.

        An instance without a record gets one.

        :param allocations: what the scheduler allocated, `{provider uuid: {"resources": {class:
            amount}}}`; None: nothing
        :param limits: see `Claim`

        Raises ComputeResourcesUnavailable if the node is disabled or the instance doesn't fit, and
        what `update_available_resource` raises, including ReshapeNeeded; nothing is claimed then.
        """
        return self._claims.claim(context, instance, nodename, allocations, limits, self)

    def abort_instance_claim(
        self, context: RequestContext, instance: Instance, nodename: str
    ) -> None:
        """Take back what `instance_claim` gave; the instance is on no host any more.

        Raises ComputeHostNotFound for a node that isn't tracked.
        """
        self._claims.abort(context, instance, nodename)

    def update_usage(self, context: RequestContext, instance: Instance, nodename: str) -> None:
        """Count a tracked instance as it is now; a deleted one gives its share back."""
        self._claims.update_usage(context, instance, nodename)

    # Moves

    def resize_claim(
        self,
        context: RequestContext,
        instance: Instance,
        flavor: Flavor,
        nodename: str,
        migration: Migration | None,
        allocations: Mapping[str, object] | None,
        image_meta: object = None,
        limits: Mapping[str, object] | None = None,
    ) -> MoveClaim:
        """Give an instance that comes with `flavor` its share. Raises what `instance_claim` raises.

        Without a `migration` one is made. The source's share is untouched. `image_meta` has no
        effect: the instance's topology and PCI requests must follow from it already.
        """
        return self._moves.claim(
            context, instance, flavor, nodename, migration, allocations, limits, RESIZE, self
        )

    def rebuild_claim(
        self,
        context: RequestContext,
        instance: Instance,
        nodename: str,
        allocations: Mapping[str, object] | None,
        limits: Mapping[str, object] | None = None,
        image_meta: object = None,
        migration: Migration | None = None,
    ) -> MoveClaim:
        """Claim as `resize_claim`, for an instance that is built anew here after an evacuation."""
        return self._moves.claim(
            context,
            instance,
            instance.flavor,
            nodename,
            migration,
            allocations,
            limits,
            EVACUATION,
            self,
        )

    def live_migration_claim(
        self,
        context: RequestContext,
        instance: Instance,
        nodename: str,
        migration: Migration,
        limits: Mapping[str, object] | None,
        allocs: Mapping[str, object] | None,
    ) -> MoveClaim:
        """Claim as `resize_claim`, for an instance that keeps running while it comes."""
        return self._moves.claim(
            context,
            instance,
            instance.flavor,
            nodename,
            migration,
            allocs,
            limits,
            LIVE_MIGRATION,
            self,
        )

    def drop_move_claim(
        self,
        context: RequestContext,
        instance: Instance,
        nodename: str,
        flavor: Flavor | None = None,
        prefix: str = "new_",
    ) -> None:
        """Give back what a move holds here: `new_` at its destination, `old_` at its source.

        `flavor` has no effect: the records say which flavor the share has.
        """
        self._moves.drop(context, instance, nodename, prefix)

    def drop_move_claim_at_source(
        self, context: RequestContext, instance: Instance, migration: Migration
    ) -> None:
        """Confirm the move: the source gives up what the instance had."""
        self._moves.confirm(context, instance, migration)

    def drop_move_claim_at_dest(
        self, context: RequestContext, instance: Instance, migration: Migration
    ) -> None:
        """Revert the move: the destination gives up what the instance would have had."""
        self._moves.revert(context, instance, migration)

    def finish_evacuation(self, instance: Instance, node: str, migration: Migration | None) -> None:
        """Make an instance that was rebuilt here one of the node; its migration is done.

        Its claimed share becomes its own; nothing is sent. Raises ComputeHostNotFound if the node
        isn't tracked.
        """
        self._moves.finish_evacuation(instance, node, migration)

    # PCI devices of instances that exist already; see `PciTracker`

    def claim_pci_devices(
        self, context: RequestContext, pci_requests: PciRequests, instance_numa_topology: object
    ) -> list[Device]:
        """Claim devices for an instance and return them; return none if there are too few."""
        return self.pci_tracker.claim_instance(context, pci_requests, instance_numa_topology)

    def allocate_pci_devices_for_instance(
        self, context: RequestContext, instance: Instance
    ) -> None:
        """Make the devices that are claimed for the instance its own."""
        self.pci_tracker.allocate_instance(instance)

    def unclaim_pci_devices(
        self, context: RequestContext, pci_device: Device, instance: Instance
    ) -> None:
        """Give one device of the instance back, whether it is claimed or allocated."""
        self.pci_tracker.free_device(pci_device, instance)

    def free_pci_device_claims_for_instance(
        self, context: RequestContext, instance: Instance
    ) -> None:
        """Give the devices back that are claimed for the instance and not allocated."""
        self.pci_tracker.free_instance_claims(context, instance)

    def free_pci_device_allocations_for_instance(
        self, context: RequestContext, instance: Instance
    ) -> None:
        """Give the devices back that are allocated to the instance."""
        self.pci_tracker.free_instance_allocations(context, instance)

    # Allocations of instances that left

    def delete_allocation_for_evacuated_instance(
        self, context: RequestContext, instance: Instance, node: str, node_type: str = "source"
    ) -> None:
        """Remove what an evacuated instance still holds of the node; a failure is logged.

        Raises ComputeHostNotFound for a node that isn't tracked.
        """
        self._allocations.remove_evacuated(context, instance, self._nodes.get(node).uuid, node_type)

    def delete_allocation_for_shelve_offloaded_instance(
        self, context: RequestContext, instance: Instance
    ) -> None:
        """Remove all that a shelved instance holds. Raises AllocationDeleteFailed if that fails."""
        self.reportclient.delete_allocation_for_instance(context, instance.uuid, force=True)

    # Builds

    def build_failed(self, nodename: str) -> None:
        """Count a build that failed on the node, if the node is tracked."""
        with self._nodes.lock(nodename):
            if (node := self._nodes.find(nodename)) is not None:
                node.stats.build_failed()

    def build_succeeded(self, nodename: str) -> None:
        """Note that builds succeed on the node: its count of failed builds starts again at 0."""
        with self._nodes.lock(nodename):
            if (node := self._nodes.find(nodename)) is not None:
                node.stats.build_succeeded()

    # The service and its nodes

    def set_service_ref(self, service_ref: Service) -> None:
        """Set the service whose nodes these are.

        Raises ServiceNotUnique if it is of another host, and ComputeServiceInUse if another service
        was set before.
        """
        if self.service_ref is not None and self.service_ref.id != service_ref.id:
            raise exceptions.ComputeServiceInUse(host=self.host)
        if service_ref.host != self.host:
            raise exceptions.ServiceNotUnique()
        self.service_ref = service_ref

    def get_node_by_name(self, nodename: str) -> ComputeNode:
        """Return the record of a node. Raises ComputeHostNotFound if it isn't tracked."""
        return self._nodes.get(nodename).record

    def disabled(self, nodename: str) -> bool:
        """Say whether nothing can be done with the node: it isn't tracked, or not available."""
        return self._nodes.find_available(nodename) is None

    def remove_node(self, nodename: str) -> None:
        """Forget the node; placement and the cell database keep it."""
        with self._nodes.lock(nodename):
            self._nodes.forget(nodename)

    def forget_additions(self, node_uuid: str) -> None:
        """Forget what the operator's files added to the providers of a node that is deleted."""
        self._reporting.additions.forget(node_uuid)

    def clean_compute_node_cache(self, compute_nodes_in_db: list[ComputeNode]) -> None:
        """Forget each node that has no record any more, here and in the report client."""
        kept = {node.hypervisor_hostname for node in compute_nodes_in_db}
        for nodename in {node.name for node in self._nodes.all()} - kept:
            self.remove_node(nodename)
            self.reportclient.invalidate_resource_provider(nodename)

    def reset(self) -> None:
        """Forget what was read from placement; the next update reads it again."""
        self._reporting.forget()
        for node in self._nodes.all():
            node.audited = None
        self.reportclient.clear_provider_cache()

    # What is tracked, of all nodes. To change it, use the methods above.

    @property
    def compute_nodes(self) -> dict[str, ComputeNode]:
        """Node name → the node's record."""
        return {node.name: node.record for node in self._nodes.all()}

    @property
    def old_resources(self) -> dict[str, ComputeNode]:
        """Node name → a copy of the record as last saved."""
        return {node.name: node.saved for node in self._nodes.all() if node.saved is not None}

    @property
    def stats(self) -> dict[str, Stats]:
        """Node name → the counts of its instances."""
        return {node.name: node.stats for node in self._nodes.all()}

    @property
    def tracked_instances(self) -> set[str]:
        """The uuids of the instances that are counted."""
        return {uuid for node in self._nodes.all() for uuid in list(node.instances)}

    @property
    def is_bfv(self) -> dict[str, bool]:
        """Instance uuid → whether the instance boots from a volume."""
        return {
            uuid: held.instance.booted_from_volume
            for node in self._nodes.all()
            for uuid, held in list(node.holdings.items())
        }

    @property
    def tracked_migrations(self) -> dict[str, Migration]:
        """Instance uuid → the migration that is counted."""
        return {u: m for node in self._nodes.all() for u, m in node.migrations.items()}

    @property
    def assigned_resources(self) -> dict[str, dict[str, set[Resource]]]:
        """Provider uuid → class → the resources that are assigned to instances."""
        return named_resources.assigned(self._nodes.all())

    @property
    def provider_tree(self) -> ProviderTree | None:
        """The tree last handed to the report client."""
        return self._reporting.provider_tree

    @property
    def absent_providers(self) -> set[str]:
        """The ids of the provider configuration files that no node has; each was logged once."""
        return self._reporting.absent_providers
