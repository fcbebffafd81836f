"""Traits of a provider (rest-api.md 3.5)."""

from collections.abc import Iterable

from placement.errors import NotFound, ProviderNotFound, worded
from placement.http.call import Answer, Call, newest
from placement.operations import traits as operations
from placement.schemas import traits as schemas
from placement.storage import traits
from placement.storage.traits import Trait


def body_of(found: Iterable[Trait], generation: int) -> dict[str, object]:
    """Return the body with a provider's traits."""
    return {
        "traits": [trait.name for trait in found],
        "resource_provider_generation": generation,
    }


@worded((ProviderNotFound, NotFound, "No resource provider with uuid {uuid} found: {error}"))
def list_all(call: Call, uuid: str) -> Answer:
    """GET /resource_providers/{uuid}/traits"""
    call.authorize("placement:resource_providers:traits:list")
    generation, found = traits.of_provider(call.database, uuid)
    modified = newest(trait.modified for trait in found)
    return call.reply(body_of(found, generation), modified=modified)


def replace(call: Call, uuid: str) -> Answer:
    """PUT /resource_providers/{uuid}/traits"""
    call.authorize("placement:resource_providers:traits:update")
    wanted = call.read(schemas.REPLACE_OF_PROVIDER)
    found, generation = operations.replace_traits(
        call.database, uuid, wanted["traits"], wanted["resource_provider_generation"]
    )
    modified = newest(trait.modified for trait in found)
    return call.reply(body_of(found, generation), modified=modified)


def delete_all(call: Call, uuid: str) -> Answer:
    """DELETE /resource_providers/{uuid}/traits"""
    call.authorize("placement:resource_providers:traits:delete")
    operations.delete_traits(call.database, uuid)
    return call.reply()
