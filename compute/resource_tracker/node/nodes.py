"""The nodes of one compute service: found, made, taken over and forgotten (compute.md §4.3)."""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import fasteners
from oslo_config import cfg

from compute import exceptions
from compute.driver import ServiceDriver
from compute.records.cell_database import CellDatabase, DuplicateRecord
from compute.records.compute_node import ComputeNode
from compute.resource_tracker.node.configured_amounts import apply_ratios
from compute.resource_tracker.node.node import TrackedNode

LOG = logging.getLogger(__name__)


class TakenOver(NamedTuple):
    """A node, whether its record was made just now, and whether another host had it before."""

    node: TrackedNode
    is_new: bool = False
    moved: bool = False


class NodeLocks:
    """One fair lock for each node, made at its first use.

    Waiting threads get a lock in the order in which they asked for it. A thread that holds a lock
    may take it again.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[str, fasteners.ReaderWriterLock] = {}

    def of(self, nodename: str) -> AbstractContextManager[None]:
        """Hold the node's lock for the length of a `with`."""
        with self._guard:
            # Unlike the locks of threading, this lock serves its writers in the order of arrival.
            lock = self._locks.setdefault(nodename, fasteners.ReaderWriterLock())
        return lock.write_lock()


class Nodes:
    """The tracked nodes by name.

    Work on one node is done under that node's lock and never waits for another node.
    """

    def __init__(
        self, host: str, driver: ServiceDriver, conf: cfg.ConfigOpts, cell: CellDatabase
    ) -> None:
        self._host = host
        self._driver = driver
        self._conf = conf
        self._cell = cell
        self._locks = NodeLocks()
        self._nodes: dict[str, TrackedNode] = {}

    def lock(self, nodename: str) -> AbstractContextManager[None]:
        """Hold the node's lock for the length of a `with`; the node needn't be tracked."""
        return self._locks.of(nodename)

    def all(self) -> list[TrackedNode]:
        """Return the tracked nodes."""
        return list(self._nodes.values())

    def find(self, nodename: str) -> TrackedNode | None:
        """Return a tracked node, or None."""
        return self._nodes.get(nodename)

    def get(self, nodename: str) -> TrackedNode:
        """Return a tracked node. Raises ComputeHostNotFound if it isn't tracked."""
        node = self._nodes.get(nodename)
        if node is None:
            raise exceptions.ComputeHostNotFound(host=nodename)
        return node

    def find_available(self, nodename: str) -> TrackedNode | None:
        """Return a tracked node that its driver can work with at present, or None."""
        node = self._nodes.get(nodename)
        return node if node is not None and self._driver.node_is_available(nodename) else None

    def forget(self, nodename: str) -> None:
        """Track the node no longer; placement and the cell database keep it."""
        self._nodes.pop(nodename, None)

    def take_over(self, resources: Mapping[str, Any], service_id: int | None) -> TakenOver:
        """Find or make the node that the driver describes, and copy what it says to the record.

        :param resources: the driver's resource dict, with `hypervisor_hostname` and `uuid`
        :param service_id: that of the service's record, if it is known

        Raises InvalidNodeConfiguration if uuid or name contradicts the record, and
        InvalidConfiguration if the node is recorded under another uuid.
        """
        nodename = resources["hypervisor_hostname"]
        node = self._nodes.get(nodename)
        if node is not None:
            self._copy(resources, node.record, service_id)
            return TakenOver(node)
        known = self._cell.compute_nodes.by_uuid(resources["uuid"], include_deleted=True)
        if known is not None:
            return self._adopt(known, resources, service_id)
        return self._make(resources, service_id)

    def _make(self, resources: Mapping[str, Any], service_id: int | None) -> TakenOver:
        """Make the node's record, or adopt the one that another start made concurrently."""
        nodename = resources["hypervisor_hostname"]
        record = ComputeNode(uuid=resources["uuid"], host=self._host, hypervisor_hostname=nodename)
        self._copy(resources, record, service_id, initial=True)
        try:
            self._cell.compute_nodes.create(record)
        except DuplicateRecord as error:
            known = self._cell.compute_nodes.by_uuid(record.uuid, include_deleted=True)
            if known is not None:
                return self._adopt(known, resources, service_id)
            raise exceptions.InvalidConfiguration(
                f"Node {nodename} of {self._host} is recorded with another uuid than "
                f"{record.uuid}. Restore its node identity file, or remove the record."
            ) from error
        LOG.info("Compute node record created for %s with uuid %s", nodename, record.uuid)
        node = self._nodes[nodename] = TrackedNode(record)
        return TakenOver(node, is_new=True)

    def _adopt(
        self, record: ComputeNode, resources: Mapping[str, object], service_id: int | None
    ) -> TakenOver:
        """Take over a record from an earlier life of the service, or from another host."""
        nodename = resources["hypervisor_hostname"]
        if record.hypervisor_hostname != nodename:
            raise exceptions.InvalidNodeConfiguration(
                reason=f"node {nodename} has uuid {record.uuid}, which is recorded as node "
                f"{record.hypervisor_hostname}; a node can't be renamed"
            )
        saved = None
        if record.deleted:
            record.deleted = False
            self._cell.compute_nodes.save(record)
        else:
            saved = copy.deepcopy(record)
        moved_from = record.host
        record.host = self._host
        node = self._nodes[nodename] = TrackedNode(record, saved)
        self._copy(resources, record, service_id)
        if moved_from != self._host:
            LOG.info("Compute node %s moves from %s to %s", nodename, moved_from, self._host)
        return TakenOver(node, moved=moved_from != self._host)

    def _copy(
        self,
        resources: Mapping[str, object],
        record: ComputeNode,
        service_id: int | None,
        initial: bool = False,
    ) -> None:
        record.update_from_virt_driver(resources)
        apply_ratios(record, self._conf, initial=initial)
        if service_id is not None:
            record.service_id = service_id
