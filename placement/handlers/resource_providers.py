"""/resource_providers and /resource_providers/{uuid} (rest-api.md 3.1, 3.2)."""

import flask

from placement.domain import uuids
from placement.domain.provider import UNCHANGED, Provider
from placement.errors import (
    BadRequest,
    CreationRefused,
    NotFound,
    ObjectRefused,
    ProviderNotFound,
    worded,
)
from placement.handlers.provider_filters import read_filters
from placement.handlers.provider_requests import body_for
from placement.handlers.provider_texts import form_of, list_of
from placement.http.call import NOW, Call
from placement.operations import providers as operations
from placement.schemas import resource_providers as schemas
from placement.storage import providers

CREATION_REFUSED = (
    CreationRefused,
    BadRequest,
    'Unable to create resource provider "{name}", {uuid}: {error}',
)
CHANGE_REFUSED = (ObjectRefused, BadRequest, "Unable to save resource provider {uuid}: {error}")


def _text(call: Call, provider: Provider) -> bytes:
    form = form_of(call)
    return form.text(
        (
            provider.uuid,
            provider.name,
            provider.generation,
            provider.parent_uuid,
            provider.root_uuid,
        )
    )


def list_all(call: Call) -> flask.Response:
    """GET /resource_providers"""
    call.authorize("placement:resource_providers:list")
    form = form_of(call)
    found = call.lists.find(read_filters(call), form, form.text)
    pieces = [b'{"resource_providers": [', *list_of(found.texts), b"]}"]
    return call.reply(pieces=pieces, modified=found.modified or NOW)


@worded(CREATION_REFUSED)
def create(call: Call) -> flask.Response:
    """POST /resource_providers"""
    call.authorize("placement:resource_providers:create")
    wanted = call.read(schemas.CREATE)
    uuid = uuids.normalised(wanted["uuid"]) if "uuid" in wanted else uuids.new()
    provider = operations.create_provider(
        call.database, uuid, wanted["name"], wanted.get("parent_provider_uuid")
    )
    location = f"/resource_providers/{provider.uuid}"
    if not call.at_least(20):
        return call.reply(status=201, location=location)
    return call.reply(pieces=[_text(call, provider)], modified=NOW, location=location)


def show(call: Call, uuid: str) -> flask.Response:
    """GET /resource_providers/{uuid}"""
    call.authorize("placement:resource_providers:show")
    provider = providers.shown(call.database, uuid)
    return call.reply(pieces=[_text(call, provider)], modified=provider.modified)


@worded(CHANGE_REFUSED)
def update(call: Call, uuid: str) -> flask.Response:
    """PUT /resource_providers/{uuid}"""
    call.authorize("placement:resource_providers:update")
    wanted = body_for(call, uuid, schemas.UPDATE)
    provider = operations.update_provider(
        call.database,
        uuid,
        wanted["name"],
        wanted.get("parent_provider_uuid", UNCHANGED),
        may_reparent=call.at_least(37),
    )
    return call.reply(pieces=[_text(call, provider)], modified=provider.updated_at, cached=True)


@worded((ProviderNotFound, NotFound, "No resource provider with uuid {uuid} found for delete"))
def delete(call: Call, uuid: str) -> flask.Response:
    """DELETE /resource_providers/{uuid}"""
    call.authorize("placement:resource_providers:delete")
    operations.delete_provider(call.database, uuid)
    return call.reply()
