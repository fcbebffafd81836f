"""What one consumer holds, read and written as a whole with its generation (compute.md §3.10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compute import exceptions
from compute.report.transport import Transport, global_id

#: with the consumer's type, and the one before for a placement that doesn't know it
VERSIONS = ("1.38", "1.28")
#: what placement calls the type of a consumer that was written without one; it takes no such type
UNTYPED = "unknown"


class Consumers:
    """Consumers, their types included. `context` is any object with a `global_id`, or None."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def read(self, context: Any, consumer: str) -> dict[str, Any]:
        """Return what a consumer holds, with its type where placement tells it.

        The `version` in it is the microversion of the answer. Raise
        ConsumerAllocationRetrievalFailed, and ClientException.
        """
        for version in VERSIONS:
            response = self.transport.get(
                f"/allocations/{consumer}", version=version, global_request_id=global_id(context)
            )
            if response.status_code == 200:
                return {**response.json(), "version": version}
            if response.status_code != 406:
                break
        raise exceptions.ConsumerAllocationRetrievalFailed(
            consumer_uuid=consumer, error=response.text
        )

    def write(
        self,
        context: Any,
        consumer: str,
        body: Mapping[str, Any],
        allocations: Mapping[str, Any],
    ) -> None:
        """Make `allocations` what the consumer holds, if it is still as `body` was read.

        `body` has a `consumer_type` only if its `version` does; UNTYPED stays so. Raise
        AllocationUpdateFailed, also if the consumer changed meanwhile, and ClientException.
        """
        kept = {rp: {"resources": part["resources"]} for rp, part in allocations.items()}
        payload = {**body, "allocations": kept}
        version = payload.pop("version")
        if payload.get("consumer_type") == UNTYPED:
            del payload["consumer_type"]
            version = VERSIONS[-1]
        response = self.transport.put(
            f"/allocations/{consumer}",
            payload,
            version=version,
            global_request_id=global_id(context),
        )
        if response.status_code != 204:
            raise exceptions.AllocationUpdateFailed(consumer_uuid=consumer, error=response.text)


def read_consumer(client: Any, context: Any, consumer: str) -> dict[str, Any]:
    """Return what a consumer holds: `Consumers.read`."""
    return Consumers(client).read(context, consumer)


def write_consumer(
    client: Any,
    context: Any,
    consumer: str,
    body: Mapping[str, Any],
    allocations: Mapping[str, Any],
) -> None:
    """Make `allocations` what the consumer holds: `Consumers.write`."""
    Consumers(client).write(context, consumer, body, allocations)


def without(body: Mapping[str, Any], *providers: str) -> dict[str, Any]:
    """Return the consumer's allocations except those of `providers`."""
    return {uuid: part for uuid, part in body["allocations"].items() if uuid not in providers}
