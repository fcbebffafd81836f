"""One repository for each kind of record, with its queries (compute.md §4.1).

Every record that a query returns is a copy: change it and `save` it. A query that finds nothing
returns None or an empty list.
"""

import contextlib
from collections.abc import Iterable
from typing import Generic

from compute.exceptions import ComputeHostNotFound, InstanceNotFound, ObjectActionError
from compute.records.aggregate import Aggregate, HostMapping
from compute.records.cell_database.store import DuplicateRecord, R, Store
from compute.records.compute_node import ComputeNode
from compute.records.instance import Instance
from compute.records.migration import ENDED, REVERTED, Migration
from compute.records.own_allocation import OwnAllocation
from compute.records.service import Service


class _Repository(Generic[R]):
    def __init__(self, store: Store[R]) -> None:
        self._store = store

    def all(self) -> list[R]:
        """Return every record, deleted ones included, oldest first."""
        return self._store.find()

    def _first(self, **wanted: object) -> R | None:
        return next(iter(self._store.find(**wanted)), None)


def _unless(include_deleted: bool) -> dict[str, bool]:
    return {} if include_deleted else {"deleted": False}


class ComputeNodes(_Repository[ComputeNode]):
    """The compute node records of a cell, deleted ones included."""

    def create(self, node: ComputeNode) -> None:
        """Keep a new record and give it its `id`.

        Raises DuplicateRecord if the uuid is known (a deleted record counts), or if the host
        already has a node of that name.
        """
        self._store.add(node, f"compute node {node.hypervisor_hostname}")

    def save(self, node: ComputeNode) -> None:
        """Keep the record as it is now.

        Raises ComputeHostNotFound if it was never created, and what `create` raises.
        """
        if not self._store.put(node, f"compute node {node.hypervisor_hostname}"):
            raise ComputeHostNotFound(host=node.host)

    def destroy(self, node: ComputeNode) -> None:
        """Mark the record deleted.

        Raises ObjectActionError if it is deleted already or another host took it meanwhile.
        """
        if not self._store.change(node.id, {"host": node.host, "deleted": False}, deleted=True):
            raise ObjectActionError(action="destroy", reason="host changed")
        node.deleted = True

    def by_uuid(self, uuid: str, include_deleted: bool = False) -> ComputeNode | None:
        """Return the record with this uuid."""
        return self._first(uuid=uuid, **_unless(include_deleted))

    def by_host(self, host: str) -> list[ComputeNode]:
        """Return the records of a host, oldest first."""
        return self._store.find(host=host, deleted=False)

    def by_host_and_node(self, host: str, nodename: str) -> ComputeNode | None:
        """Return the record of a host's node."""
        return self._first(host=host, hypervisor_hostname=nodename, deleted=False)


class ServiceRecords(_Repository[Service]):
    """The compute services of a cell."""

    def create(self, service: Service) -> None:
        """Keep a new record and give it its `id`. Raises DuplicateRecord if the host has one."""
        self._store.add(service, f"compute service {service.host}")

    def save(self, service: Service) -> None:
        """Keep the record as it is now. Raises ComputeHostNotFound if it was never created."""
        if not self._store.put(service, f"compute service {service.host}"):
            raise ComputeHostNotFound(host=service.host)

    def destroy(self, service: Service) -> None:
        """Remove the record. Raises ComputeHostNotFound if there is none."""
        if not self._store.remove(service.id):
            raise ComputeHostNotFound(host=service.host)

    def by_host(self, host: str) -> Service | None:
        """Return the service of a host."""
        return self._first(host=host)


class Instances(_Repository[Instance]):
    """The instances of a cell, deleted ones included."""

    def create(self, instance: Instance) -> None:
        """Keep a new record and give it its `id`. Raises DuplicateRecord if the uuid is known."""
        self._store.add(instance, f"instance {instance.uuid}")

    def save(self, instance: Instance) -> None:
        """Keep the record as it is now. Raises InstanceNotFound if it was never created."""
        if not self._store.put(instance, f"instance {instance.uuid}"):
            raise InstanceNotFound(instance_id=instance.uuid)

    def destroy(self, instance: Instance) -> None:
        """Mark the record deleted. Raises ObjectActionError if it is deleted already."""
        if not self._store.change(instance.id, {"deleted": False}, deleted=True):
            raise ObjectActionError(action="destroy", reason="already deleted")
        instance.deleted = True

    def by_uuid(self, uuid: str, include_deleted: bool = False) -> Instance | None:
        """Return the instance with this uuid."""
        return self._first(uuid=uuid, **_unless(include_deleted))

    def by_uuids(self, uuids: Iterable[str], include_deleted: bool = False) -> list[Instance]:
        """Return the instances with these uuids that exist, oldest first."""
        wanted = sorted(set(uuids))
        return self._store.find(uuid=wanted, **_unless(include_deleted)) if wanted else []

    def by_host(self, host: str) -> list[Instance]:
        """Return the instances on a host, oldest first."""
        return self._store.find(host=host, deleted=False)

    def uuids_by_host(self, host: str) -> set[str]:
        """Return the uuids of the instances on a host."""
        return {instance.uuid for instance in self.by_host(host)}

    def by_host_and_node(self, host: str, nodename: str) -> list[Instance]:
        """Return the instances on a host's node, oldest first."""
        return self._store.find(host=host, node=nodename, deleted=False)

    def all(self) -> list[Instance]:
        """Return every instance that isn't deleted, oldest first."""
        return self._store.find(deleted=False)

    def has_any(self) -> bool:
        """Say whether any instance was ever recorded; a deleted one counts."""
        return self._store.has_any()


class Migrations(_Repository[Migration]):
    """The migrations of a cell."""

    def create(self, migration: Migration) -> None:
        """Keep a new record and give it its `id`. Raises DuplicateRecord if the uuid is known."""
        self._store.add(migration, f"migration {migration.uuid}")

    def save(self, migration: Migration) -> None:
        """Keep the record as it is now. Raises ObjectActionError if it was never created."""
        if not self._store.put(migration, f"migration {migration.uuid}"):
            raise ObjectActionError(action="save", reason="not created")

    def by_uuid(self, uuid: str) -> Migration | None:
        """Return the migration with this uuid."""
        return self._first(uuid=uuid)

    def moving_instance(self, uuid: str) -> str | None:
        """Return the uuid of the instance that this migration moves; None if it is over."""
        migration = self.by_uuid(uuid)
        if migration is None or migration.status in ENDED:
            return None
        return migration.instance_uuid

    def by_uuids(self, uuids: Iterable[str]) -> list[Migration]:
        """Return the migrations with these uuids that exist, oldest first."""
        wanted = sorted(set(uuids))
        return self._store.find(uuid=wanted) if wanted else []

    def of_instances(self, uuids: Iterable[str]) -> list[Migration]:
        """Return all migrations of these instances, of any status, oldest first."""
        wanted = sorted(set(uuids))
        return self._store.find(instance_uuid=wanted) if wanted else []

    def by_id(self, migration_id: int) -> Migration | None:
        """Return the migration with this id."""
        return self._first(id=migration_id)

    def unsettled(self, host: str, nodename: str) -> list[Migration]:
        """Return the migrations from or to a host's node that may still hold something there.

        They are in progress, or failed, or reverted: the source of a reverted migration may not
        have taken the instance back yet. The oldest comes first.
        """
        leaving = self._store.find(source_compute=host, source_node=nodename)
        coming = self._store.find(dest_compute=host, dest_node=nodename)
        by_id = {migration.id: migration for migration in [*leaving, *coming]}
        oldest_first = [by_id[key] for key in sorted(by_id, key=lambda key: key or 0)]
        return [one for one in oldest_first if one.status not in ENDED - {REVERTED}]


class OwnAllocations(_Repository[OwnAllocation]):
    """The allocations that trackers, and not the scheduler, write."""

    def of_node(self, node_uuid: str) -> set[str]:
        """Return the consumers whose allocations of a node its tracker writes."""
        return {own.consumer_uuid for own in self._store.find(node_uuid=node_uuid)}

    def add(self, consumer_uuid: str, node_uuid: str) -> None:
        """Record that the node's tracker writes the consumer's allocations; twice is fine."""
        with contextlib.suppress(DuplicateRecord):
            self._store.add(OwnAllocation(consumer_uuid, node_uuid), "own allocation")

    def classes_of_node(self, node_uuid: str) -> dict[str, set[str]]:
        """Return consumer → the classes of a node of which its tracker wrote them some.

        The consumers are those of `of_node`: not all records are read for each of many nodes.
        """
        found: dict[str, set[str]] = {}
        for own in self._store.find(consumer_uuid=list(self.of_node(node_uuid))):
            node, _, name = own.node_uuid.partition(" ")
            if node == node_uuid and name:
                found.setdefault(own.consumer_uuid, set()).add(name)
        return found

    def add_class(self, consumer_uuid: str, node_uuid: str, name: str) -> None:
        """Record that the node's tracker writes some of the class; twice is fine.

        A version that doesn't know of classes passes over the record.
        """
        self.add(consumer_uuid, f"{node_uuid} {name}")

    def discard_class(self, consumer_uuid: str, node_uuid: str, name: str) -> None:
        """Remove the record of a class, if there is one."""
        self.discard(consumer_uuid, f"{node_uuid} {name}")

    def discard(self, consumer_uuid: str, node_uuid: str) -> None:
        """Remove the record, if there is one."""
        known = self._first(consumer_uuid=consumer_uuid, node_uuid=node_uuid)
        if known is not None:
            self._store.remove(known.id)


class Aggregates(_Repository[Aggregate]):
    """The host aggregates."""

    def create(self, aggregate: Aggregate) -> None:
        """Keep a new record and give it its `id`. Raises DuplicateRecord if the uuid is known."""
        self._store.add(aggregate, f"aggregate {aggregate.name}")

    def save(self, aggregate: Aggregate) -> None:
        """Keep the record as it is now. Raises ObjectActionError if it was never created."""
        if not self._store.put(aggregate, f"aggregate {aggregate.name}"):
            raise ObjectActionError(action="save", reason="not created")

    def by_host(self, host: str) -> list[Aggregate]:
        """Return the aggregates a host is in, oldest first."""
        return [aggregate for aggregate in self.all() if host in aggregate.hosts]


class HostMappings(_Repository[HostMapping]):
    """The cell of each known host."""

    def create(self, mapping: HostMapping) -> None:
        """Keep a new record and give it its `id`. Raises DuplicateRecord if the host has one."""
        self._store.add(mapping, f"host mapping {mapping.host}")

    def by_host(self, host: str) -> HostMapping | None:
        """Return the mapping of a host."""
        return self._first(host=host)
