"""ResourceTracker: one pass over one node, from what its driver says to what placement knows."""

import logging
from typing import Any

from compute import exceptions
from compute.pci import devices as pci_devices
from compute.records.compute_node import ComputeNode, missing_resources
from compute.report.context import RequestContext
from compute.resource_tracker.claiming import Claiming
from compute.resource_tracker.host_address import local_address
from compute.resource_tracker.node_records import Records
from compute.resource_tracker.reporting import WantedProviders

LOG = logging.getLogger(__name__)


class ResourceTracker(Claiming):
    """Tracks the nodes of one compute service (compute.md §4).

    :param host: the service's name
    :param driver: a ComputeDriver
    :param identity: tells the uuid of the host's node if the driver doesn't
    :param provider_configs: what `get_provider_configs` gave; None: read them
    :raises ProviderConfigException: the operator's provider configuration files are no good

    `compute_nodes` is nodename → record, `old_resources` nodename → the record as last saved,
    `stats` nodename → Stats, `provider_tree` the tree last handed to the report client. Nodes are
    locked one by one: work on one never waits for another.
    """

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
        resources["host_ip"] = self.conf.my_ip or local_address()
        with self._locks.of(nodename):
            self._update_available_resource(context, resources, startup)

    def wanted_providers(self, context: RequestContext, nodename: str) -> WantedProviders:
        """Work out what the update of a start would make of the node's providers.

        It reads, creates the node's root if placement has none, and leaves the rest to `flush`.
        The node's record is made or brought up to date as in any update.

        Raises ComputeHostNotFound for a node that isn't available, and else as
        `update_available_resource`.
        """
        resources = self._resources(nodename)
        with self._locks.of(nodename):
            self._take_over(context, resources, startup=True)
            if self.disabled(nodename):
                raise exceptions.ComputeHostNotFound(host=nodename)
            node = self.compute_nodes[nodename]
            self._count(context, node, resources)
            return self._wanted(context, node, may_reshape=True)

    def _resources(self, nodename: str) -> dict[str, Any]:
        """Return what the driver says of the node, with what it needn't say filled in."""
        resources = dict(self.driver.get_available_resource(nodename))
        missing = missing_resources(resources)
        if missing:
            raise exceptions.InvalidInput(
                reason=f"the driver doesn't tell {', '.join(missing)} of node {nodename}"
            )
        resources["hypervisor_hostname"] = nodename
        resources["cpu_info"] = resources["cpu_info"] or ""
        if not resources.get("uuid"):
            resources["uuid"] = self.identity.read_or_create()
        return resources

    def _take_over(self, context: RequestContext, resources: dict[str, Any], startup: bool) -> bool:
        """Remember what the driver says of the node. True if its record had to be made."""
        state = self._state(resources["hypervisor_hostname"])
        state.pci_devices = pci_devices.devices_of(resources)
        return self._init_compute_node(context, resources, startup)

    def _count(
        self, context: RequestContext, node: ComputeNode, resources: dict[str, Any]
    ) -> Records:
        """Count anew what the node's instances and migrations use, and return the records."""
        nodename = node.hypervisor_hostname
        records = self._read_records(node)
        self._count_holdings(records, nodename)
        node.metrics = list(resources.get("metrics") or [])
        self.stats[nodename].digest(resources.get("stats"))
        self._note_usage(nodename)
        return records

    def _update_available_resource(
        self, context: RequestContext, resources: dict[str, Any], startup: bool
    ) -> None:
        nodename = resources["hypervisor_hostname"]
        created = self._take_over(context, resources, startup)
        if self.disabled(nodename):
            return
        node = self.compute_nodes[nodename]
        records = self._count(context, node, resources)
        by_uuid = {instance.uuid: instance for instance in records.instances}
        by_uuid |= {u: held.instance for u, held in self._state(nodename).holdings.items()}
        holders = {*by_uuid, *(migration.uuid for migration in records.migrations)}
        consumers: set[str] | None = set() if created else None
        if not created and self._audit_due(node, holders):
            consumers = self._remove_deleted_instances_allocations(
                context, node, records.migrations, by_uuid
            )
        self._update(context, node, startup=startup)
        self._settle_allocations(context, node, consumers)
        if consumers is not None:
            self._note_audit(node, holders)
        if startup:
            self._check_resources(nodename)
