"""Which traits the tracker wants on a node's root provider (compute.md §4.7)."""

import logging
from collections.abc import Collection, Hashable, Iterable, Mapping, Set

import os_traits

from compute import exceptions
from compute.driver import ServiceDriver
from compute.provider_tree import ProviderSubTree, owners
from compute.records.cell_database import CellDatabase
from compute.records.compute_node import ComputeNode
from compute.records.service import Service
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext

LOG = logging.getLogger(__name__)

# They say whose provider it is. Older placements don't know them.
MARKERS = (os_traits.COMPUTE_NODE, owners.COMPUTE)


class RootTraits:
    """Works out the traits of root providers, and remembers which markers placement knows."""

    def __init__(
        self,
        host: str,
        driver: ServiceDriver,
        reportclient: SchedulerReportClient,
        cell: CellDatabase,
    ) -> None:
        self._host = host
        self._driver = driver
        self._reportclient = reportclient
        self._cell = cell
        self._markers: set[str] | None = None
        self._service: tuple[Hashable, Service | None] | None = None

    def of(self, context: RequestContext, node: ComputeNode, tree: ProviderSubTree) -> set[str]:
        """Return the root's traits: those in the tree, corrected by the tracker.

        Raises TraitRetrievalFailed if placement doesn't tell which traits it knows.
        """
        current = tree.data(node.hypervisor_hostname).traits
        service = self._service_record()
        if service is None:
            LOG.error("No service record of host %s: can't tell whether it is disabled", self._host)
        return wanted_traits(
            current,
            capabilities_of(node, self._driver.capabilities_as_traits()),
            self._known_markers(context, current),
            service.disabled if service else None,
        )

    def mark_own(
        self, context: RequestContext, tree: ProviderSubTree, named: Collection[str]
    ) -> None:
        """Mark what was filled of the node's tree, and the `named` providers, as the service's.

        A provider that names another owner gets no mark. Raises TraitRetrievalFailed if placement
        doesn't tell which traits it knows.
        """
        root = tree.scope_rp_uuid
        if owners.COMPUTE not in self._known_markers(context, tree.data(root).traits):
            return
        filled = tree.filled.intersection(tree.get_provider_uuids(root))
        for uuid in filled.union(named):
            if not owners.has_other_owner(tree.data(uuid).traits):
                tree.add_traits(uuid, owners.COMPUTE)

    def forget(self) -> None:
        """Ask placement again which markers it knows, at the next update."""
        self._markers = None

    def _known_markers(self, context: RequestContext, current: Set[str]) -> set[str]:
        """Return those of MARKERS that placement knows.

        Placement is asked once, because only an upgrade of placement changes the answer; and not
        at all if the root has all markers already, or if placement takes whole trees: then it is
        no older than they are.
        """
        if current >= set(MARKERS) or self._reportclient.takes_whole_trees(context):
            return set(MARKERS)
        if self._markers is None:
            response = self._reportclient.get(
                f"/traits?name=in:{','.join(MARKERS)}",
                version="1.6",
                global_request_id=context.global_id,
            )
            if response.status_code != 200:
                raise exceptions.TraitRetrievalFailed(error=response.text)
            self._markers = set(response.json()["traits"])
        return self._markers

    def _service_record(self) -> Service | None:
        """Return the service's record as it is now; read it only when the database changed."""
        mark = self._cell.mark()
        known = self._service
        if known is None or known[0] != mark:
            known = self._service = (mark, self._cell.services.by_host(self._host))
        return known[1]


def wanted_traits(
    current: Set[str],
    capabilities: Mapping[str, bool],
    markers: Iterable[str],
    disabled: bool | None,
) -> set[str]:
    """Return the root's traits, with those that the tracker decides corrected.

    :param current: the traits that the driver and others set; any other trait of them stays
    :param capabilities: trait → whether the driver supports it. A trait that the driver doesn't
        support goes, whoever set it
    :param markers: those of MARKERS that placement knows
    :param disabled: whether the compute service takes no new instances; None: nobody knows
    """
    traits = set(current)
    traits.update(trait for trait, supported in capabilities.items() if supported)
    traits.difference_update(trait for trait, supported in capabilities.items() if not supported)
    traits.update(markers)
    return traits if disabled is None else with_status(traits, disabled)


def with_status(traits: Set[str], disabled: bool) -> set[str]:
    """Return `traits` with or without COMPUTE_STATUS_DISABLED."""
    status = {os_traits.COMPUTE_STATUS_DISABLED}
    return set(traits) | status if disabled else set(traits) - status


def capabilities_of(node: ComputeNode, supported: Mapping[str, bool]) -> dict[str, bool]:
    """Return trait → whether it is supported, given the devices that this one node has."""
    capabilities = dict(supported)
    if os_traits.COMPUTE_REMOTE_MANAGED_PORTS in capabilities:
        capabilities[os_traits.COMPUTE_REMOTE_MANAGED_PORTS] &= any(
            str(pool.get("remote_managed", "")).lower() == "true" for pool in node.pci_device_pools
        )
    return capabilities
