"""What one consumer holds, read and written as a whole with its generation (compute.md §3.10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from requests import Response

from compute import exceptions
from compute.report.wire.context import Context
from compute.report.wire.transport import global_id

#: the microversion with the consumer's type; and one without, for a placement that lacks the first
VERSIONS = ("1.38", "1.28")
#: placement's name for the type of a consumer that was written without one; it is no name to write
UNTYPED = "unknown"


class RequestSender(Protocol):
    """What is needed of a report client, or of its transport."""

    def get(self, url: str, version: str | None, global_request_id: str | None) -> Response:
        """GET `url` at microversion `version`."""

    def put(
        self, url: str, data: object, version: str | None, global_request_id: str | None
    ) -> Response:
        """PUT `data` as JSON."""


def read_consumer(client: RequestSender, context: Context, consumer: str) -> dict[str, Any]:
    """Return what a consumer holds, with its type where placement tells it.

    The `version` in it is the microversion of the answer. Raises
    ConsumerAllocationRetrievalFailed if placement refuses, and ClientException if it is
    unreachable.
    """
    for version in VERSIONS:
        response = client.get(
            f"/allocations/{consumer}", version=version, global_request_id=global_id(context)
        )
        if response.status_code == 200:
            return {**response.json(), "version": version}
        if response.status_code != 406:
            break
    raise exceptions.ConsumerAllocationRetrievalFailed(consumer_uuid=consumer, error=response.text)


def write_consumer(
    client: RequestSender,
    context: Context,
    consumer: str,
    body: Mapping[str, Any],
    allocations: Mapping[str, Any],
) -> None:
    """Make `allocations` what the consumer holds, if it is still as `body` was read.

    `body` has a `consumer_type` only if its `version` does; UNTYPED stays so. Raises
    AllocationUpdateFailed if placement refuses or the consumer changed meanwhile, and
    ClientException if placement is unreachable.
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
        global_request_id=global_id(context),
    )
    if response.status_code != 204:
        raise exceptions.AllocationUpdateFailed(consumer_uuid=consumer, error=response.text)


def without(body: Mapping[str, Any], *providers: str) -> dict[str, object]:
    """Return the consumer's allocations except those of `providers`."""
    return {uuid: part for uuid, part in body["allocations"].items() if uuid not in providers}
