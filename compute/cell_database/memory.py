"""The cell database in this process's memory."""

import copy
import itertools
import threading
import time

from compute.cell_database import DuplicateRecord
from compute.compute_node import ComputeNode
from compute.exceptions import ComputeHostNotFound, ObjectActionError
from compute.service_record import Service


class MemoryComputeNodes:
    """See ComputeNodes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._records: dict[int, ComputeNode] = {}

    def create(self, node: ComputeNode) -> None:
        with self._lock:
            self._refuse_duplicate(node)
            node.id = next(self._ids)
            self._keep(node)

    def save(self, node: ComputeNode) -> None:
        with self._lock:
            if node.id not in self._records:
                raise ComputeHostNotFound(host=node.host)
            self._refuse_duplicate(node)
            self._keep(node)

    def destroy(self, node: ComputeNode) -> None:
        with self._lock:
            known = self._records.get(node.id or 0)
            if known is None or known.deleted or known.host != node.host:
                raise ObjectActionError(action="destroy", reason="host changed")
            known.deleted = True
            node.deleted = True

    def by_uuid(self, uuid: str, include_deleted: bool = False) -> ComputeNode | None:
        with self._lock:
            for known in self._records.values():
                if known.uuid == uuid and (include_deleted or not known.deleted):
                    return copy.deepcopy(known)
        return None

    def by_host(self, host: str) -> list[ComputeNode]:
        with self._lock:
            return [
                copy.deepcopy(known)
                for known in self._records.values()
                if known.host == host and not known.deleted
            ]

    def by_host_and_node(self, host: str, nodename: str) -> ComputeNode | None:
        return next((n for n in self.by_host(host) if n.hypervisor_hostname == nodename), None)

    def by_node(self, nodename: str) -> ComputeNode | None:
        with self._lock:
            for known in self._records.values():
                if known.hypervisor_hostname == nodename and not known.deleted:
                    return copy.deepcopy(known)
        return None

    def _refuse_duplicate(self, node: ComputeNode) -> None:
        name = (node.host, node.hypervisor_hostname, False)
        for known in self._records.values():
            if known.id != node.id and (
                known.uuid == node.uuid
                or name == (known.host, known.hypervisor_hostname, known.deleted)
            ):
                raise DuplicateRecord(what=f"compute node {node.hypervisor_hostname}")

    def _keep(self, node: ComputeNode) -> None:
        assert node.id is not None
        node.updated_at = time.time()
        self._records[node.id] = copy.deepcopy(node)


class MemoryServices:
    """See Services."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._records: dict[str, Service] = {}

    def create(self, service: Service) -> None:
        with self._lock:
            if service.host in self._records:
                raise DuplicateRecord(what=f"compute service {service.host}")
            service.id = next(self._ids)
            self._records[service.host] = copy.copy(service)

    def save(self, service: Service) -> None:
        with self._lock:
            known = self._records.get(service.host)
            if known is None or known.id != service.id:
                raise ComputeHostNotFound(host=service.host)
            self._records[service.host] = copy.copy(service)

    def by_host(self, host: str) -> Service | None:
        with self._lock:
            known = self._records.get(host)
            return copy.copy(known) if known else None


class MemoryCellDatabase:
    """A cell that is gone when the process ends."""

    def __init__(self) -> None:
        self.compute_nodes = MemoryComputeNodes()
        self.services = MemoryServices()
