"""Read the requested allocations from bodies of /allocations and /reshaper (rest-api.md 3.8)."""

from collections.abc import Mapping
from typing import Any

from placement.domain.consumer import UNCHECKED, ConsumerRequest
from placement.http.call import Call

Allocations = dict[str, dict[str, int]]


def request_from(call: Call, uuid: str, body: Mapping[str, Any]) -> ConsumerRequest:
    """Read the request for one consumer, from the body's form in any version."""
    group = call.conf.placement
    allocations = body["allocations"]
    return ConsumerRequest(
        uuid=uuid,
        project=body.get("project_id", group.incomplete_consumer_project_id),
        user=body.get("user_id", group.incomplete_consumer_user_id),
        # required since 1.28, and not allowed before
        generation=body.get("consumer_generation", UNCHECKED),
        type_name=body.get("consumer_type"),
        allocations=_keyed(allocations) if isinstance(allocations, dict) else _listed(allocations),
    )


def requests_from(call: Call, bodies: Mapping[str, Any]) -> list[ConsumerRequest]:
    """Read the requests for several consumers, in the order of the bodies."""
    return [request_from(call, uuid, body) for uuid, body in bodies.items()]


def tries(call: Call) -> int:
    """Return how often to try to write allocations when other writers interfere."""
    return call.conf.placement.allocation_conflict_retry_count


def _keyed(allocations: Mapping[str, Any]) -> Allocations:
    return {uuid: dict(given["resources"]) for uuid, given in allocations.items()}


def _listed(allocations: list[Mapping[str, Any]]) -> Allocations:
    """Read the list form of old versions; of a provider listed twice, the last entry counts."""
    return {given["resource_provider"]["uuid"]: dict(given["resources"]) for given in allocations}
