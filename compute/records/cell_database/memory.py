"""The cell database in this process's memory."""

import copy
import itertools
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic

from compute.records.cell_database.repositories import (
    Aggregates,
    ComputeNodes,
    HostMappings,
    Instances,
    Migrations,
    OwnAllocations,
    ServiceRecords,
)
from compute.records.cell_database.store import DuplicateRecord, R
from compute.records.compute_node import ComputeNode

if TYPE_CHECKING:
    from compute.records.cell_database import CellDatabase


class MemoryStore(Generic[R]):
    """A Store in memory. No two records may share one of the keys that `unique` returns."""

    def __init__(self, unique: Callable[[Any], set[Hashable]]) -> None:
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._records: dict[int, Any] = {}
        self._unique = unique
        self.writes = 0

    def load(self, records: Iterable[R]) -> None:
        """Take over records with their ids; call it before anything else."""
        with self._lock:
            self._records = {record.id: record for record in copy.deepcopy(list(records))}  # type: ignore[attr-defined]
            self._ids = itertools.count(max(self._records, default=0) + 1)

    def add(self, record: Any, what: str) -> None:
        with self._lock:
            self._refuse_duplicate(record, None, what)
            record.id = next(self._ids)
            self._keep(record)

    def put(self, record: Any, what: str) -> bool:
        with self._lock:
            if record.id not in self._records:
                return False
            self._refuse_duplicate(record, record.id, what)
            self._keep(record)
            return True

    def change(
        self, record_id: int | None, expected: Mapping[str, object], **changes: object
    ) -> bool:
        with self._lock:
            known = self._records.get(record_id or 0)
            if known is None or not _matches(known, expected):
                return False
            for name, value in changes.items():
                setattr(known, name, value)
            self._keep(known)
            return True

    def remove(self, record_id: int | None) -> bool:
        with self._lock:
            self.writes += 1
            return self._records.pop(record_id or 0, None) is not None

    def has_any(self) -> bool:
        with self._lock:
            return bool(self._records)

    def find(self, **wanted: object) -> list[R]:
        with self._lock:
            return [
                copy.deepcopy(known) for known in self._records.values() if _matches(known, wanted)
            ]

    def _refuse_duplicate(self, record: object, own_id: int | None, what: str) -> None:
        keys = self._unique(record)
        for known in self._records.values():
            if known.id != own_id and not keys.isdisjoint(self._unique(known)):
                raise DuplicateRecord(what=what)

    def _keep(self, record: Any) -> None:
        self.writes += 1
        if hasattr(record, "updated_at"):
            record.updated_at = time.time()
        self._records[record.id] = copy.deepcopy(record)


def _matches(record: object, wanted: Mapping[str, object]) -> bool:
    for name, value in wanted.items():
        has = getattr(record, name)
        if has not in value if isinstance(value, list) else has != value:
            return False
    return True


def _node_keys(node: ComputeNode) -> set[Hashable]:
    """Return the node's uuid, and its name unless the record is deleted: then the name is free."""
    name = (node.host, node.hypervisor_hostname)
    return {node.uuid} if node.deleted else {node.uuid, name}


class MemoryCellDatabase:
    """A cell database that ends with the process."""

    def __init__(self) -> None:
        nodes: MemoryStore[Any] = MemoryStore(_node_keys)
        services: MemoryStore[Any] = MemoryStore(lambda service: {service.host})
        instances: MemoryStore[Any] = MemoryStore(lambda instance: {instance.uuid})
        migrations: MemoryStore[Any] = MemoryStore(lambda migration: {migration.uuid})
        aggregates: MemoryStore[Any] = MemoryStore(lambda aggregate: {aggregate.uuid})
        mappings: MemoryStore[Any] = MemoryStore(lambda mapping: {mapping.host})
        own: MemoryStore[Any] = MemoryStore(lambda own: {(own.consumer_uuid, own.node_uuid)})
        self._stores = (nodes, services, instances, migrations, aggregates, mappings, own)
        self.compute_nodes = ComputeNodes(nodes)
        self.services = ServiceRecords(services)
        self.instances = Instances(instances)
        self.migrations = Migrations(migrations)
        self.aggregates = Aggregates(aggregates)
        self.host_mappings = HostMappings(mappings)
        self.own_allocations = OwnAllocations(own)

    @classmethod
    def copy_of(cls, cell: "CellDatabase") -> "MemoryCellDatabase":
        """Return a copy of a cell's records, in which one may write without a trace there."""
        twin = cls()
        families = (
            cell.compute_nodes,
            cell.services,
            cell.instances,
            cell.migrations,
            cell.aggregates,
            cell.host_mappings,
            cell.own_allocations,
        )
        for store, family in zip(twin._stores, families, strict=True):
            store.load(family.all())  # type: ignore[attr-defined]
        return twin

    def mark(self) -> Hashable:
        """See CellDatabase."""
        return tuple(store.writes for store in self._stores)
