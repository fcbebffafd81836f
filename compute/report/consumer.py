"""What one consumer holds, read and written as a whole with its generation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compute import exceptions
from compute.report import SchedulerReportClient
from compute.report.context import RequestContext

#: with the consumer's type, and the one before for a placement that doesn't know it
VERSIONS = ("1.38", "1.28")
#: what placement calls the type of a consumer that was written without one; it takes no such type
UNTYPED = "unknown"


def read_consumer(
    client: SchedulerReportClient, context: RequestContext, consumer: str
) -> dict[str, Any]:
    """What a consumer holds, with its type where placement tells it, and the `version` of that.

    Raises ConsumerAllocationRetrievalFailed, and ClientException.
    """
    for version in VERSIONS:
        response = client.get(
            f"/allocations/{consumer}", version=version, global_request_id=context.global_id
        )
        if response.status_code == 200:
            return {**response.json(), "version": version}
        if response.status_code != 406:
            break
    raise exceptions.ConsumerAllocationRetrievalFailed(consumer_uuid=consumer, error=response.text)


def write_consumer(
    client: SchedulerReportClient,
    context: RequestContext,
    consumer: str,
    body: Mapping[str, Any],
    allocations: Mapping[str, Any],
) -> None:
    """Make `allocations` what the consumer holds, if it is still as `body` was read.

    `body` has a `consumer_type` only if its `version` does; UNTYPED stays so. Raises
    AllocationUpdateFailed, also if somebody changed it meanwhile, and ClientException.
    """
    kept = {rp: {"resources": part["resources"]} for rp, part in allocations.items()}
    payload = {**body, "allocations": kept}
    version = payload.pop("version")
    if payload.get("consumer_type") == UNTYPED:
        del payload["consumer_type"]
        version = VERSIONS[-1]
    response = client.put(
        f"/allocations/{consumer}",
        payload,
        version=version,
        global_request_id=context.global_id,
    )
    if response.status_code != 204:
        raise exceptions.AllocationUpdateFailed(consumer_uuid=consumer, error=response.text)


def without(body: Mapping[str, Any], *providers: str) -> dict[str, Any]:
    """The consumer's allocations but those of some providers."""
    return {uuid: part for uuid, part in body["allocations"].items() if uuid not in providers}
