"""Membership of hosts in aggregates, as the API side mirrors it (compute.md §3.12)."""

from __future__ import annotations

import logging
from collections.abc import Callable

from compute import exceptions
from compute.report.trees.properties import Properties
from compute.report.trees.providers import AggInfo, Providers
from compute.report.wire.context import Context
from compute.report.wire.transport import ATTEMPTS
from compute.report.wire.unreachable import reached

LOG = logging.getLogger(__name__)


class HostAggregates:
    """Adding a host's provider to an aggregate and removing it; the cache is not filled."""

    def __init__(self, providers: Providers, properties: Properties) -> None:
        self._providers = providers
        self._properties = properties

    def add_host(
        self,
        context: Context,
        agg_uuid: str,
        host_name: str | None = None,
        rp_uuid: str | None = None,
    ) -> None:
        """Make the provider, given by its name or its uuid, a member of the aggregate.

        Raises ValueError without name and uuid; ResourceProviderNotFound if there is no such
        provider; ResourceProviderAggregateRetrievalFailed if its aggregates can't be read;
        ResourceProviderUpdateConflict if other writers were quicker four times;
        ResourceProviderUpdateFailed if placement refuses; and PlacementAPIConnectFailure if
        placement is unreachable.
        """
        if rp_uuid is None:
            if host_name is None:
                raise ValueError("Either host_name or rp_uuid is required")
            rp_uuid = self._providers.by_name(context, host_name)["uuid"]
        self._change_membership(context, rp_uuid, lambda members: members | {agg_uuid})

    def remove_host(self, context: Context, agg_uuid: str, host_name: str) -> None:
        """Take the provider of that name out of the aggregate. Raises what `add_host` raises."""
        rp_uuid = self._providers.by_name(context, host_name)["uuid"]
        self._change_membership(context, rp_uuid, lambda members: members - {agg_uuid})

    def _change_membership(
        self, context: Context, uuid: str, change: Callable[[set[str]], set[str]]
    ) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            found: AggInfo = reached(
                self._providers.transport, lambda: self._providers.aggregates_of(context, uuid)
            )
            wanted = change(found.aggregates)
            if wanted == found.aggregates:
                return
            try:
                self._set(context, uuid, wanted, found.generation)
            except exceptions.ResourceProviderUpdateConflict as conflict:
                if attempt == ATTEMPTS:
                    raise
                LOG.debug("Changing the aggregates of %s again: %s", uuid, conflict)
            else:
                return

    def _set(
        self, context: Context, uuid: str, aggregates: set[str], generation: int | None
    ) -> None:
        reached(
            self._properties.transport,
            lambda: self._properties.set_aggregates(
                context, uuid, aggregates, use_cache=False, generation=generation
            ),
        )
