"""/allocations and the allocations of a provider (rest-api.md 3.7, 3.8, 3.9).

/reshaper reads its allocations as these bodies are read.
"""

from collections.abc import Mapping
from typing import Any

from placement.domain import uuids
from placement.domain.consumer import UNCHECKED, UNKNOWN_TYPE, ConsumerRequest, Holding, Owner
from placement.errors import (
    AllocationRefused,
    BadRequest,
    LostRace,
    NotFound,
    ProviderNotFound,
    ResourceClassNotFound,
    worded,
)
from placement.http.call import Answer, Call, newest
from placement.operations import allocations as operations
from placement.schemas import allocations as schemas
from placement.storage import allocations

_REFUSED = (AllocationRefused, AllocationRefused, "Unable to allocate inventory: {error}")
_LOST = (
    LostRace,
    LostRace,
    "Inventory and/or allocations changed while attempting to allocate: {error}",
)


def list_of_consumer(call: Call, consumer_uuid: str) -> Answer:
    """GET /allocations/{consumer_uuid}"""
    call.authorize("placement:allocations:list")
    owner, held = allocations.of_consumer(call.database, consumer_uuid)
    modified = newest(holding.modified for holding in held)
    return call.reply(body_of_consumer(call, held, owner), modified=modified)


def body_of_consumer(call: Call, held: list[Holding], owner: Owner | None) -> dict[str, object]:
    """Return the body with a consumer's allocations, in the form of the request's version."""
    if owner is None:
        return {"allocations": {}}
    shown: dict[str, Any] = {}
    for holding in held:
        entry = shown.setdefault(
            holding.provider_uuid, {"resources": {}, "generation": holding.provider_generation}
        )
        entry["resources"][holding.resource_class] = holding.used
    body: dict[str, Any] = {"allocations": shown}
    if call.at_least(12):
        body |= {"project_id": owner.project, "user_id": owner.user}
    if call.at_least(28):
        body["consumer_generation"] = owner.generation
    if call.at_least(38):
        body["consumer_type"] = owner.type_name or UNKNOWN_TYPE
    return body


def replace(call: Call, consumer_uuid: str) -> Answer:
    """PUT /allocations/{consumer_uuid}"""
    call.authorize("placement:allocations:update")
    if not uuids.is_uuid_like(consumer_uuid):
        raise BadRequest(f"Malformed consumer_uuid: {consumer_uuid}")
    # error messages name the consumer as it is stored
    return _replace(call, consumer_uuid=uuids.normalised(consumer_uuid))


@worded(
    (
        ResourceClassNotFound,
        BadRequest,
        "Unable to allocate inventory for consumer {consumer_uuid}: {error}",
    ),
    _REFUSED,
    _LOST,
)
def _replace(call: Call, consumer_uuid: str) -> Answer:
    wanted = request_from(call, consumer_uuid, call.read(schemas.REPLACE))
    operations.write_allocations(call.database, [wanted], call.tries)
    return call.reply()


@worded(
    (ResourceClassNotFound, BadRequest, "Unable to allocate inventory {error}"), _REFUSED, _LOST
)
def manage(call: Call) -> Answer:
    """POST /allocations"""
    call.authorize("placement:allocations:manage")
    bodies = call.read(schemas.MANAGE)
    operations.write_allocations(call.database, requests_from(call, bodies), call.tries)
    return call.reply()


def delete(call: Call, consumer_uuid: str) -> Answer:
    """DELETE /allocations/{consumer_uuid}"""
    call.authorize("placement:allocations:delete")
    operations.delete_allocations(call.database, consumer_uuid)
    return call.reply()


@worded((ProviderNotFound, NotFound, "Resource provider '{uuid}' not found: {error}"))
def list_of_provider(call: Call, uuid: str) -> Answer:
    """GET /resource_providers/{uuid}/allocations"""
    call.authorize("placement:resource_providers:allocations:list")
    generation, held = allocations.of_provider(call.database, uuid)
    shown: dict[str, Any] = {}
    for consumer, consumer_generation, resource_class, used, _ in held:
        entry = shown.setdefault(consumer, {"resources": {}})
        entry["resources"][resource_class] = used
        if call.at_least(28):
            entry["consumer_generation"] = consumer_generation
    body = {"allocations": shown, "resource_provider_generation": generation}
    return call.reply(body, modified=newest(row[-1] for row in held))


Allocations = dict[str, dict[str, int]]


def request_from(call: Call, uuid: str, body: Mapping[str, Any]) -> ConsumerRequest:
    """Read the request for one consumer, from the body's form in any version."""
    group = call.conf.placement
    given = body["allocations"]
    return ConsumerRequest(
        uuid=uuid,
        project=body.get("project_id", group.incomplete_consumer_project_id),
        user=body.get("user_id", group.incomplete_consumer_user_id),
        # required since 1.28, and not allowed before
        generation=body.get("consumer_generation", UNCHECKED),
        type_name=body.get("consumer_type"),
        allocations=_keyed(given) if isinstance(given, dict) else _listed(given),
    )


def requests_from(call: Call, bodies: Mapping[str, Any]) -> list[ConsumerRequest]:
    """Read the requests for several consumers, in the order of the bodies."""
    return [request_from(call, uuid, body) for uuid, body in bodies.items()]


def _keyed(allocations: Mapping[str, Any]) -> Allocations:
    return {uuid: dict(given["resources"]) for uuid, given in allocations.items()}


def _listed(allocations: list[Mapping[str, Any]]) -> Allocations:
    """Read the list form of old versions; of a provider listed twice, the last entry counts."""
    return {given["resource_provider"]["uuid"]: dict(given["resources"]) for given in allocations}
