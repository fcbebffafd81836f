"""Aggregates of a provider (rest-api.md 3.4)."""

from typing import Any

from placement.errors import LostRace, worded
from placement.handlers.provider_requests import body_for
from placement.http.call import NOW, Answer, Call
from placement.operations import aggregates as operations
from placement.schemas import aggregates as schemas
from placement.storage import aggregates


def body_of(call: Call, uuids: list[str], generation: int) -> dict[str, object]:
    """Return the body with a provider's aggregates, in the form of the request's version."""
    body: dict[str, Any] = {"aggregates": uuids}
    if call.at_least(19):
        body["resource_provider_generation"] = generation
    return body


def list_all(call: Call, uuid: str) -> Answer:
    """GET /resource_providers/{uuid}/aggregates"""
    call.authorize("placement:resource_providers:aggregates:list")
    generation, uuids = aggregates.of_provider(call.database, uuid)
    return call.reply(body_of(call, uuids, generation), modified=NOW)


@worded((LostRace, LostRace, "Update conflict: {error}"))
def replace(call: Call, uuid: str) -> Answer:
    """PUT /resource_providers/{uuid}/aggregates"""
    call.authorize("placement:resource_providers:aggregates:update")
    wanted = body_for(call, uuid, schemas.REPLACE)
    uuids, known = wanted, None
    if call.at_least(19):
        uuids, known = wanted["aggregates"], wanted["resource_provider_generation"]
    generation = operations.replace_aggregates(call.database, uuid, uuids, known)
    return call.reply(body_of(call, uuids, generation), modified=NOW)
