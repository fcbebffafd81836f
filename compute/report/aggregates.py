"""Membership of hosts in aggregates, as the API side mirrors it (compute.md §3.12)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from compute import exceptions
from compute.report.instance_allocations import InstanceAllocations
from compute.report.providers import AggInfo
from compute.report.transport import ATTEMPTS, reached

LOG = logging.getLogger(__name__)


class HostAggregates(InstanceAllocations):
    """Putting a host's provider into an aggregate and out of it; the cache is not filled."""

    def aggregate_add_host(
        self,
        context: Any,
        agg_uuid: str,
        host_name: str | None = None,
        rp_uuid: str | None = None,
    ) -> None:
        """Make the provider, given by its name or its uuid, a member of the aggregate.

        Raises ValueError without name and uuid; ResourceProviderNotFound;
        ResourceProviderAggregateRetrievalFailed; ResourceProviderUpdateConflict if others were
        quicker four times; ResourceProviderUpdateFailed; and PlacementAPIConnectFailure.
        """
        if rp_uuid is None:
            if host_name is None:
                raise ValueError("Either host_name or rp_uuid is required")
            rp_uuid = self.get_provider_by_name(context, host_name)["uuid"]
        self._change_membership(context, rp_uuid, lambda members: members | {agg_uuid})

    def aggregate_remove_host(self, context: Any, agg_uuid: str, host_name: str) -> None:
        """Take the provider of that name out of the aggregate. Raises as `aggregate_add_host`."""
        rp_uuid = self.get_provider_by_name(context, host_name)["uuid"]
        self._change_membership(context, rp_uuid, lambda members: members - {agg_uuid})

    def _change_membership(
        self, context: Any, uuid: str, change: Callable[[set[str]], set[str]]
    ) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            found: AggInfo = reached(self._get_provider_aggregates(context, uuid))
            wanted = change(found.aggregates)
            if wanted == found.aggregates:
                return
            try:
                reached(
                    self.set_aggregates_for_provider(
                        context, uuid, wanted, use_cache=False, generation=found.generation
                    )
                )
            except exceptions.ResourceProviderUpdateConflict as conflict:
                if attempt == ATTEMPTS:
                    raise
                LOG.debug("Changing the aggregates of %s again: %s", uuid, conflict)
            else:
                return
