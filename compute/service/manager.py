"""ComputeManager: the start of a compute service and its regular update of all nodes.

See compute.md §5.

Only this module decides which failure ends the service and which is logged.
"""

import logging
import threading
import time
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from keystoneauth1.exceptions import ClientException
from oslo_config import cfg

from compute import exceptions
from compute.driver import ServiceDriver
from compute.provider_tree.names import LONGEST
from compute.records.cell_database import CellDatabase
from compute.records.compute_node import ComputeNode
from compute.records.node_identity import NodeIdentity
from compute.records.service import Service
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext, admin_context
from compute.report.wire.failures import described_user, explained
from compute.resource_tracker import ResourceTracker
from compute.service.start_checks import StartChecks
from compute.service.virtapi import ComputeVirtAPI

LOG = logging.getLogger(__name__)


class DriverInitFailed(exceptions.NovaException):
    """The driver is loaded but can't work on this host."""

    msg_fmt = "The compute driver can't work on host %(host)s: %(error)s"


@dataclass
class UpdateOutcome:
    """The result of one update of all nodes.

    `driver_ready` is False if the driver couldn't list its nodes, so that nothing was done.
    `failures` is node name → the failure, which was logged.
    """

    driver_ready: bool = True
    updated: list[str] = field(default_factory=list)
    failures: dict[str, Exception] = field(default_factory=dict)


class Watcher(Protocol):
    """Counts how updates end; several threads may call it."""

    def update_ended(self, seconds: float) -> None:
        """Hear that an update of all nodes ended, with or without failures."""

    def update_failed(self, failure: Exception) -> None:
        """Hear that the update of a node, or the listing of the nodes, failed."""

    def node_updated(self, nodename: str, reshaped: bool) -> None:
        """Hear that the update of a node succeeded."""

    def unplaced(self, resource_class: str) -> None:
        """Hear of a guest that lacks some of a class in placement; once, until it has all."""

    def nodes_listed(self, nodenames: Collection[str]) -> None:
        """Hear which nodes the driver lists."""


class ComputeManager:
    """Runs a compute service's nodes.

    Call `init_host` first, then `pre_start_hook`, then `update_available_resource` regularly, and
    `reset` at SIGHUP.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        driver: ServiceDriver,
        reportclient: SchedulerReportClient,
        cell: CellDatabase,
        identity: NodeIdentity,
        virtapi: ComputeVirtAPI | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self.conf = conf
        self._watcher = watcher
        self.host: str = conf.host
        self.driver = driver
        self.reportclient = reportclient
        self.cell = cell
        self.identity = identity
        self.virtapi = virtapi or ComputeVirtAPI(reportclient, identity, cell)
        told = None if watcher is None else watcher.unplaced
        self.rt = ResourceTracker(
            self.host, driver, reportclient, conf=conf, cell=cell, identity=identity, unplaced=told
        )
        self._failed_before: set[str] = set()
        self._checks = StartChecks(self.host, driver, cell, identity)

    # Start

    def init_host(self, service_ref: Service | None) -> None:
        """Start the driver, and refuse a host that isn't the host of the records.

        :param service_ref: the service's record; None at the very first start of this host

        Raises DriverInitFailed if the driver can't work here, and InvalidConfiguration if identity
        and records contradict each other (compute.md §5.4).
        """
        try:
            self.driver.init_host(self.host)
        except Exception as error:
            raise DriverInitFailed(host=self.host, error=error) from error
        self._checks.run(service_ref)

    def pre_start_hook(self, service_ref: Service) -> UpdateOutcome:
        """Update all nodes for the first time; only this update may reshape inventory."""
        self.rt.set_service_ref(service_ref)
        return self.update_available_resource(admin_context(), startup=True)

    # While it runs

    def reset(self) -> None:
        """Forget what was read from placement. The next update may not reshape: it is no start."""
        self.rt.reset()

    def set_host_enabled(self, enabled: bool) -> str:
        """Mark all nodes as taking new instances, or not. Return 'enabled' or 'disabled'."""
        if not self.rt.compute_nodes:
            LOG.warning("Host %s has no nodes yet to mark enabled or disabled", self.host)
        context = admin_context()
        for node in list(self.rt.compute_nodes.values()):
            self.virtapi.update_compute_provider_status(context, node.uuid, enabled)
        try:
            return self.driver.set_host_enabled(enabled)
        except NotImplementedError:
            return "enabled" if enabled else "disabled"

    def update_available_resource(
        self, context: RequestContext, startup: bool = False
    ) -> UpdateOutcome:
        """Update every node of the driver, and drop the nodes that the driver has no longer.

        Raises what is fatal for one node (see `_update_available_resource_for_node`); the nodes
        after it aren't updated. If the driver wasn't ready at `init_host`, the checks are made up
        for here, so what `init_host` raises may be raised here.
        """
        begun = time.monotonic()
        try:
            return self._update(context, startup)
        finally:
            if self._watcher is not None:
                self._watcher.update_ended(time.monotonic() - begun)

    def _update(self, context: RequestContext, startup: bool) -> UpdateOutcome:
        try:
            nodenames = self._listed(context, startup)
        except Exception as error:
            if self._watcher is not None:
                self._watcher.update_failed(error)
            raise
        if nodenames is None:
            return UpdateOutcome(driver_ready=False)
        outcome = UpdateOutcome()
        for nodename, failure in self._update_nodes(context, sorted(nodenames), startup):
            if failure is not None:
                outcome.failures[nodename] = failure
                continue
            outcome.updated.append(nodename)
            if nodename in self._failed_before:
                LOG.info("Node %s is up to date again", nodename)
        self._failed_before = set(outcome.failures)
        return outcome

    def _listed(self, context: RequestContext, startup: bool) -> set[str] | None:
        """Return the driver's nodes, and drop other nodes; None if the driver isn't ready."""
        try:
            nodenames = set(self.driver.get_available_nodes())
        except exceptions.VirtDriverNotReady as error:
            LOG.warning("The compute driver is not ready; nothing is updated: %s", error)
            if self._watcher is not None:
                self._watcher.update_failed(error)
            return None
        if self._watcher is not None:
            self._watcher.nodes_listed(nodenames)
        self._checks.refuse_running_instances()
        self._clean_records(context, nodenames, startup)
        return nodenames

    def _update_nodes(
        self, context: RequestContext, nodenames: list[str], startup: bool
    ) -> Iterator[tuple[str, Exception | None]]:
        """Update the nodes, several concurrently; yield each name with the failure or None.

        After a fatal failure, updates that have begun are finished and no other is begun.
        """
        threads = min(self.conf.berth.parallel_node_updates, len(nodenames))
        if threads <= 1:
            for nodename in nodenames:
                yield nodename, self._update_node(context, nodename, startup)
            return
        ended = threading.Event()

        def update(nodename: str) -> Exception | None:
            # Updates begin in order, and their results are read in order. So the fatal failure is
            # read before the result of any update that is left out here.
            if ended.is_set():
                return None
            try:
                return self._update_node(context, nodename, startup)
            except BaseException:
                ended.set()
                raise

        with ThreadPoolExecutor(threads, thread_name_prefix="node-update") as pool:
            updates = {nodename: pool.submit(update, nodename) for nodename in nodenames}
            try:
                for nodename, result in updates.items():
                    yield nodename, result.result()
            finally:
                ended.set()

    def _clean_records(self, context: RequestContext, nodenames: set[str], startup: bool) -> None:
        nodes = self.cell.compute_nodes.by_host(self.host)
        if nodenames and not nodes:
            level = logging.WARNING if startup else logging.ERROR
            told = " This is normal at the first start of a host." if startup else ""
            LOG.log(level, "No compute node record for host %s.%s", self.host, told)
        self.rt.clean_compute_node_cache(nodes)
        for node in nodes:
            if node.hypervisor_hostname not in nodenames:
                self._remove_orphan(context, node)

    def _remove_orphan(self, context: RequestContext, node: ComputeNode) -> None:
        """Drop a node that the driver doesn't list, if the driver says it is gone for good."""
        nodename = node.hypervisor_hostname
        if not self.driver.is_node_deleted(nodename):
            LOG.warning("Node %s is not listed by its driver; its record stays", nodename)
            return
        LOG.info("Deleting orphan compute node %s (%s)", nodename, node.uuid)
        self._delete_node(context, node)

    def _delete_node(self, context: RequestContext, node: ComputeNode) -> None:
        """Drop the node's record and providers, unless another host has taken the node over."""
        nodename = node.hypervisor_hostname
        try:
            self.cell.compute_nodes.destroy(node)
        except exceptions.ObjectActionError:
            LOG.info("Node %s belongs to another host by now", nodename)
            self.rt.remove_node(nodename)
            self.reportclient.invalidate_resource_provider(node.uuid)
            return
        self.rt.remove_node(nodename)
        try:
            self.reportclient.delete_resource_provider(context, node, cascade=True)
        except (ClientException, exceptions.NovaException):
            LOG.exception("Providers of node %s could not be deleted", nodename)
            # The record must stay, so that the next update finds the node and tries again.
            node.deleted = False
            self.cell.compute_nodes.save(node)
            return
        self.rt.forget_additions(node.uuid)

    def delete_service(self, context: RequestContext) -> None:
        """Drop the service's record and all its nodes, with their providers and allocations.

        This is for a host that leaves the cloud; stop its service first. A provider that can't be
        deleted is logged and stays.
        """
        for node in self.cell.compute_nodes.by_host(self.host):
            self._delete_node(context, node)
        service = self.cell.services.by_host(self.host)
        if service is not None:
            self.cell.services.destroy(service)

    def _update_node(
        self, context: RequestContext, nodename: str, startup: bool
    ) -> Exception | None:
        """Update one node, and tell the watcher, if there is one."""
        watcher = self._watcher
        if watcher is None:
            return self._update_available_resource_for_node(context, nodename, startup)
        try:
            failure = self._update_available_resource_for_node(context, nodename, startup)
        except Exception as error:
            watcher.update_failed(error)
            raise
        if failure is not None:
            watcher.update_failed(failure)
        else:
            reported = self.rt.reported(nodename)
            watcher.node_updated(nodename, reported is not None and reported.reshaped)
        return failure

    def _update_available_resource_for_node(
        self, context: RequestContext, nodename: str, startup: bool = False
    ) -> Exception | None:
        """Update one node. Return the failure that was logged, or None.

        Raises what is fatal (compute.md §5.2): ReshapeFailed and ReshapeNeeded always, after
        logging them; PlacementPciException and InvalidConfiguration at start-up, without logging
        them.
        """
        try:
            _refuse_long_name(nodename)
            self.rt.update_available_resource(context, nodename, startup=startup)
        except exceptions.ComputeHostNotFound as error:
            LOG.warning("Compute node %s not found", nodename)
            return error
        except (exceptions.ReshapeFailed, exceptions.ReshapeNeeded) as error:
            failure: Exception = error
        except Exception as error:
            fatal = (exceptions.PlacementPciException, exceptions.InvalidConfiguration)
            if startup and isinstance(error, fatal):
                raise
            failure = error
        else:
            return None
        # Outside of the handlers above: within one, oslo.log adds the exception to the message
        # again.
        self._log_failure(nodename, failure, startup)
        if isinstance(failure, (exceptions.ReshapeFailed, exceptions.ReshapeNeeded)):
            raise failure
        return failure

    def _log_failure(self, nodename: str, failure: Exception, startup: bool) -> None:
        level, told = logging.ERROR, "Error updating resources for node %s"
        if isinstance(failure, exceptions.ReshapeFailed):
            level = logging.CRITICAL
            told = "Resource provider data migration failed fatally for node %s"
        elif isinstance(failure, exceptions.ReshapeNeeded):
            told = "Node %s needs a reshape, which is only possible at start-up"
            if startup:
                told = "The driver of node %s asked for a reshape during a reshape"
        reason = explained(failure, described_user(self.conf))
        LOG.log(level, f"{told}: %s", nodename, reason, exc_info=failure)


def _refuse_long_name(nodename: str) -> None:
    if len(nodename) > LONGEST:
        raise exceptions.InvalidConfiguration(
            f"The name of node {nodename} has {len(nodename)} characters; placement takes resource "
            f"providers with names of up to {LONGEST}. Set a shorter [DEFAULT]host, or hostname."
        )
