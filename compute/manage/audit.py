"""Finding allocations whose consumer is gone (compute.md §7.3)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from compute import exceptions
from compute.cell_database import CellDatabase
from compute.compute_node import ComputeNode
from compute.context import RequestContext
from compute.instances import BUILDING, Instance
from compute.manage.picture import Amounts, all_providers
from compute.migration_record import ENDED, Migration
from compute.report import SchedulerReportClient

#: only who holds one of these can be an instance or a migration
AUDITED_CLASSES = frozenset(
    {
        "VCPU",
        "MEMORY_MB",
        "DISK_GB",
        "VGPU",
        "NET_BW_EGR_KILOBIT_PER_SEC",
        "NET_BW_IGR_KILOBIT_PER_SEC",
        "PCPU",
        "MEM_ENCRYPTION_CONTEXT",
    }
)
INSTANCE, MIGRATION, UNKNOWN = "instance", "migration", "unknown"


@dataclass(frozen=True)
class Orphan:
    """What a consumer holds of a provider without a reason.

    `kind` is that of the consumer as the records know it, `host` where it is or was, `age` seconds
    since its record last changed. `node_known` says whether the records know the provider's node:
    where they don't, they can't tell who is there.
    """

    consumer: str
    provider: str
    provider_name: str
    resources: Amounts
    kind: str
    host: str | None
    age: float | None
    reason: str
    node_known: bool = True


class _Owner:
    """A provider, and the node whose tree it is in, if the records know it."""

    def __init__(
        self, uuid: str, name: str, node: ComputeNode | None, shares: Callable[[], bool]
    ) -> None:
        self.uuid = uuid
        self.name = name
        self.node = node
        self._shares = shares

    @cached_property
    def shared(self) -> bool:
        """Whether it shares with others: then instances of any host may hold something of it.

        Asked only where it matters, for it is a request.
        """
        return self._shares()


class Auditor:
    """Judges the consumers of providers by the records of instances and migrations."""

    def __init__(
        self, client: SchedulerReportClient, context: RequestContext, cell: CellDatabase
    ) -> None:
        self._client = client
        self._context = context
        self._cell = cell

    def orphans(self, resource_provider: str | None = None) -> Iterator[Orphan]:
        """Look through all providers, or through one given by its uuid.

        Raises ResourceProviderNotFound, ResourceProviderRetrievalFailed,
        ResourceProviderAllocationRetrievalFailed, and ClientException.
        """
        query = f"?uuid={resource_provider}" if resource_provider else ""
        rows = all_providers(self._client, self._context, query)
        if resource_provider and not rows:
            raise exceptions.ResourceProviderNotFound(
                f"Resource provider with UUID {resource_provider} does not exist."
            )
        for row in rows:
            yield from self._orphans_of(self._owner(row))

    def still_orphan(self, orphan: Orphan) -> bool:
        """Judge once more, by the records as they are now."""
        row = next(
            iter(all_providers(self._client, self._context, f"?uuid={orphan.provider}")), None
        )
        return (
            row is not None
            and self._judged(self._owner(row), orphan.consumer, orphan.resources) is not None
        )

    def _owner(self, row: Mapping[str, Any]) -> _Owner:
        node = self._cell.compute_nodes.by_uuid(row["root_provider_uuid"])
        return _Owner(row["uuid"], row["name"], node, lambda: self._shares(row["uuid"]))

    def _shares(self, uuid: str) -> bool:
        traits = self._client.get_provider_traits(self._context, uuid).traits
        return "MISC_SHARES_VIA_AGGREGATE" in traits

    def _orphans_of(self, owner: _Owner) -> Iterator[Orphan]:
        found = self._client.get_allocations_for_resource_provider(self._context, owner.uuid)
        for consumer, held in sorted(found.allocations.items()):
            orphan = self._judged(owner, consumer, held["resources"])
            if orphan is not None:
                yield orphan

    def _judged(self, owner: _Owner, consumer: str, resources: Amounts) -> Orphan | None:
        if AUDITED_CLASSES.isdisjoint(resources):
            return None
        instance = self._cell.instances.by_uuid(consumer, include_deleted=True)
        if instance is not None:
            reason = self._why_not_instance(owner, instance)
            seen = (INSTANCE, instance.host, instance.updated_at)
        else:
            migration = self._cell.migrations.by_uuid(consumer)
            if migration is not None:
                reason = _why_not_migration(owner, migration)
                seen = (MIGRATION, migration.source_compute, migration.updated_at)
            else:
                reason = _unknown(owner)
                seen = (UNKNOWN, None, None)
        if reason is None:
            return None
        kind, host, changed = seen
        age = None if changed is None else max(0.0, time.time() - changed)
        known = owner.node is not None or owner.shared
        return Orphan(
            consumer, owner.uuid, owner.name, dict(resources), kind, host, age, reason, known
        )

    def _why_not_instance(self, owner: _Owner, instance: Instance) -> str | None:
        """Say why an instance has no right to hold anything here; None if it has."""
        if instance.deleted and not instance.hidden:
            return "the instance is deleted"
        if instance.host is None and instance.vm_state == BUILDING:
            return None  # on its way
        if instance.host is None:
            return "the instance is on no host"
        if owner.node is not None and _at(owner.node, instance.host, instance.node):
            return None
        if owner.node is not None and self._moves_to_or_from(owner.node, instance.uuid):
            return None
        if owner.shared:
            return None
        return f"the instance is on {instance.host} ({instance.node})"

    def _moves_to_or_from(self, node: ComputeNode, instance: str) -> bool:
        under_way = self._cell.migrations.in_progress_and_error(node.host, node.hypervisor_hostname)
        return any(migration.instance_uuid == instance for migration in under_way)


def _at(node: ComputeNode, host: str | None, nodename: str | None) -> bool:
    return (node.host, node.hypervisor_hostname) == (host, nodename)


def _why_not_migration(owner: _Owner, migration: Migration) -> str | None:
    if migration.status in ENDED:
        return f"the migration is {migration.status}"
    ends = (
        (migration.source_compute, migration.source_node),
        (migration.dest_compute, migration.dest_node),
    )
    if owner.node is not None and any(_at(owner.node, *end) for end in ends):
        return None
    if owner.shared:
        return None
    return f"the migration is from {migration.source_node} to {migration.dest_node}"


def _unknown(owner: _Owner) -> str:
    if owner.node is None and not owner.shared:
        return "neither the consumer nor the provider's node is in the records"
    return "no instance or migration of this uuid is in the records"
