"""Counting what projects and users use, for quotas and limits (compute.md §3.13)."""

from __future__ import annotations

from urllib.parse import urlencode

from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions
from compute.report.wire.context import Context
from compute.report.wire.failures import Refusal
from compute.report.wire.transport import ATTEMPTS, Transport, global_id


class Usages:
    """What is used by projects, and of a provider."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def of_provider(self, context: Context, uuid: str) -> dict[str, int]:
        """Return what all consumers use of one provider, class → amount.

        Raises ResourceProviderRetrievalFailed if placement refuses, and ClientException if it is
        unreachable.
        """
        response = self.transport.get(
            f"/resource_providers/{uuid}/usages",
            version="1.0",
            global_request_id=global_id(context),
        )
        if response.status_code == 200:
            return response.json()["usages"]
        raise exceptions.ResourceProviderRetrievalFailed(
            f"Failed to get usages of resource provider {uuid}: {response.text}"
        ) from Refusal(response)

    def for_limits(self, context: Context, project_id: str) -> dict[str, int]:
        """Return what the project uses in all, class → amount.

        Raises UsagesRetrievalFailed if placement refuses, and ConnectFailure if it is unreachable
        four times.
        """
        return self._read(context, project_id)

    def for_quota(
        self, context: Context, project_id: str, user_id: str | None = None
    ) -> dict[str, dict[str, int]]:
        """Return `{"project": {"cores", "ram"}}`, and the same under "user" if one is given.

        Cores are VCPU and PCPU. Raises what `for_limits` raises.
        """
        counts = {"project": _counts(self._read(context, project_id))}
        if user_id:
            counts["user"] = _counts(self._read(context, project_id, user_id))
        return counts

    def _read(
        self, context: Context, project_id: str, user_id: str | None = None
    ) -> dict[str, int]:
        who = {"project_id": project_id}
        if user_id:
            who["user_id"] = user_id
        for attempt in range(1, ATTEMPTS + 1):
            try:
                response = self.transport.get(
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
        raise exceptions.UsagesRetrievalFailed(
            project_id=project_id, user_id=user_id or "N/A"
        ) from Refusal(response)


def _counts(usages: dict[str, int]) -> dict[str, int]:
    return {
        "cores": usages.get("VCPU", 0) + usages.get("PCPU", 0),
        "ram": usages.get("MEMORY_MB", 0),
    }
