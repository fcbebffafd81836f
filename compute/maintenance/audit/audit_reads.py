"""What an audit reads of placement: one by one, or many at once where placement offers that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any

import os_traits

from compute.maintenance.provider_details import all_providers
from compute.records.cell_database import CellDatabase
from compute.records.compute_node import ComputeNode
from compute.report import SchedulerReportClient
from compute.report.consumers.consumer import read_consumer
from compute.report.wire.context import RequestContext

#: how many consumers one request reads
CONSUMERS_AT_ONCE = 1000


class AuditedProvider:
    """A provider, and this host's node whose tree it is in; a JudgedProvider of the rules."""

    def __init__(
        self, row: Mapping[str, Any], node: ComputeNode | None, shares: Callable[[str], bool]
    ) -> None:
        self.uuid: str = row["uuid"]
        self.name: str = row["name"]
        self.root: str = row["root_provider_uuid"]
        self.node = node
        self._shares = shares

    @cached_property
    def shares(self) -> bool:
        """Whether the provider shares its inventory. The first access may send a request."""
        return self._shares(self.uuid)


class AuditReads:
    """Providers and consumers as placement has them; each is read once.

    The methods raise ResourceProviderRetrievalFailed, ResourceProviderTraitRetrievalFailed,
    ConsumerAllocationRetrievalFailed, and ClientException.

    :param host: whose nodes the providers may be of
    """

    def __init__(
        self,
        client: SchedulerReportClient,
        context: RequestContext,
        cell: CellDatabase,
        host: str,
    ) -> None:
        self._client = client
        self._context = context
        self._cell = cell
        self._host = host
        self._providers: dict[str, AuditedProvider] = {}
        self._consumers: dict[str, dict[str, Any]] = {}
        self._sharing: set[str] | None = None

    def keep(self, row: Mapping[str, Any]) -> AuditedProvider:
        """Return the provider of a row of `GET /resource_providers`; it isn't read again."""
        node = self._cell.compute_nodes.by_uuid(row["root_provider_uuid"])
        ours = node if node is not None and node.host == self._host else None
        kept = self._providers[row["uuid"]] = AuditedProvider(row, ours, self._shares)
        return kept

    def holders(self, uuids: Collection[str]) -> dict[str, dict[str, Any]] | None:
        """Return provider → what is allocated against it; None if it must be read one by one.

        What was read of consumers and of sharing providers before is read again from now on.
        """
        held = self._client.whole_trees.held_of_each(self._context, uuids)
        self._consumers, self._sharing = {}, None
        return held

    def gather(self, consumers: Collection[str]) -> None:
        """Read all that the consumers hold, and those of its providers that aren't known yet."""
        wanted = sorted(set(consumers))
        for start in range(0, len(wanted), CONSUMERS_AT_ONCE):
            part = wanted[start : start + CONSUMERS_AT_ONCE]
            found = self._client.whole_trees.consumers_of_each(self._context, part)
            self._consumers |= found or {}
        places = {uuid for body in self._consumers.values() for uuid in body["allocations"]}
        unknown = sorted(places - self._providers.keys())
        if unknown:
            trees = self._client.whole_trees.of_each(self._context, unknown, "") or ()
            for row in (row for tree in trees for row in tree):
                if row["uuid"] in places and row["uuid"] not in self._providers:
                    self.keep(row)

    def consumer(self, uuid: str) -> dict[str, Any]:
        """Return what the consumer holds, with its type where placement tells it."""
        if uuid not in self._consumers:
            self._consumers[uuid] = read_consumer(self._client, self._context, uuid)
        return self._consumers[uuid]

    def provider(self, uuid: str) -> AuditedProvider | None:
        """Return the provider; None if placement has none of this uuid."""
        if uuid not in self._providers:
            for row in all_providers(self._client, self._context, f"?uuid={uuid}"):
                self.keep(row)
        return self._providers.get(uuid)

    def _shares(self, uuid: str) -> bool:
        """Say whether a provider shares; one request reads all that do."""
        if self._sharing is None:
            query = f"?required={os_traits.MISC_SHARES_VIA_AGGREGATE}"
            rows = all_providers(self._client, self._context, query, version="1.18")
            self._sharing = {row["uuid"] for row in rows}
        return uuid in self._sharing
