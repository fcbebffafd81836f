"""Asking for allocation candidates, as the scheduler does (compute.md §3.13)."""

from __future__ import annotations

import logging
from typing import Any, Protocol

from oslo_config import cfg

from compute.report.consumers.resource_request import ResourceRequest
from compute.report.wire.context import Context
from compute.report.wire.transport import Transport, global_id
from compute.report.wire.unreachable import safe_connect

LOG = logging.getLogger(__name__)

CANDIDATES_VERSION = "1.36"

#: what `find` returns: allocation requests, provider summaries, version
Candidates = tuple[list[dict[str, Any]], dict[str, Any], str] | tuple[None, None, None]


class CandidateQuery(Protocol):
    """A request that can tell its query, as nova's ResourceRequest can."""

    def to_querystring(self) -> str:
        """Return the whole query, url-encoded, a `limit` included if there is one."""


class AllocationCandidates:
    """Asks where requests could be met.

    :param conf: configuration with group [scheduler]
    """

    def __init__(self, transport: Transport, conf: cfg.ConfigOpts) -> None:
        self.transport = transport
        self._conf = conf

    @safe_connect
    def find(self, context: Context, resources: ResourceRequest | CandidateQuery) -> Candidates:
        """Return (allocation requests, provider summaries, "1.36") for the request.

        A ResourceRequest of ours without a limit gets `[scheduler]max_placement_results`.
        (None, None, None) if placement refuses the request, None if it is unreachable.
        """
        if isinstance(resources, ResourceRequest):
            query = resources.to_querystring(self._conf.scheduler.max_placement_results)
        else:
            query = resources.to_querystring()
        response = self.transport.get(
            f"/allocation_candidates?{query}",
            version=CANDIDATES_VERSION,
            global_request_id=global_id(context),
        )
        if response.status_code == 200:
            body = response.json()
            return body["allocation_requests"], body["provider_summaries"], CANDIDATES_VERSION
        LOG.error("Failed to retrieve allocation candidates for %s: %s", query, response.text)
        return None, None, None
