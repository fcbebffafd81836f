"""What the scheduling side reads: allocation candidates and usages (compute.md §3.13)."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlencode

from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions
from compute.report.aggregates import HostAggregates
from compute.report.resource_request import ResourceRequest
from compute.report.transport import ATTEMPTS, global_id, safe_connect

LOG = logging.getLogger(__name__)

CANDIDATES_VERSION = "1.36"

#: what `get_allocation_candidates` answers: allocation requests, provider summaries, version
Candidates = tuple[list[dict[str, Any]], dict[str, Any], str] | tuple[None, None, None]


class SchedulingReads(HostAggregates):
    """Questions about the whole cloud. `context` is any object with a `global_id`, or None."""

    @safe_connect
    def get_allocation_candidates(
        self, context: Any, resource_request: ResourceRequest
    ) -> Candidates:
        """Where the request could be met: (allocation requests, provider summaries, "1.36").

        (None, None, None) if placement refuses the request, None if it is unreachable.
        """
        query = resource_request.to_querystring(self._conf.scheduler.max_placement_results)
        response = self.get(
            f"/allocation_candidates?{query}",
            version=CANDIDATES_VERSION,
            global_request_id=global_id(context),
        )
        if response.status_code == 200:
            body = response.json()
            return body["allocation_requests"], body["provider_summaries"], CANDIDATES_VERSION
        LOG.error("Failed to retrieve allocation candidates for %s: %s", query, response.text)
        return None, None, None

    def get_usages_counts_for_limits(self, context: Any, project_id: str) -> dict[str, int]:
        """What the project uses in all, class → amount. Raises UsagesRetrievalFailed, and
        ConnectFailure if placement is unreachable four times.
        """
        return self._get_usages(context, project_id)

    def get_usages_counts_for_quota(
        self, context: Any, project_id: str, user_id: str | None = None
    ) -> dict[str, dict[str, int]]:
        """`{"project": {"cores", "ram"}}`, and the same under "user" if one is given.

        Cores are VCPU and PCPU. Raises as `get_usages_counts_for_limits`.
        """
        counts = {"project": _counts(self._get_usages(context, project_id))}
        if user_id:
            counts["user"] = _counts(self._get_usages(context, project_id, user_id))
        return counts

    def _get_usages(
        self, context: Any, project_id: str, user_id: str | None = None
    ) -> dict[str, int]:
        who = {"project_id": project_id}
        if user_id:
            who["user_id"] = user_id
        for attempt in range(1, ATTEMPTS + 1):
            try:
                response = self.get(
                    f"/usages?{urlencode(who)}",
                    version="1.9",
                    global_request_id=global_id(context),
                )
            except ksa_exc.ConnectFailure:
                if attempt == ATTEMPTS:
                    raise
            else:
                break
        if response.status_code == 200:
            return response.json()["usages"]
        LOG.error("Failed to read the usages of %s: %s", who, response.text)
        raise exceptions.UsagesRetrievalFailed(project_id=project_id, user_id=user_id or "N/A")


def _counts(usages: dict[str, int]) -> dict[str, int]:
    return {
        "cores": usages.get("VCPU", 0) + usages.get("PCPU", 0),
        "ram": usages.get("MEMORY_MB", 0),
    }
