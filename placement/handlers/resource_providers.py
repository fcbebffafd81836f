"""/resource_providers and /resource_providers/{uuid} (rest-api.md 3.1, 3.2)."""

import functools
from collections.abc import Callable

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
from placement.http.call import NOW, Call, newest
from placement.http.json_text import quoted
from placement.operations import providers as operations
from placement.schemas import resource_providers as schemas
from placement.storage import provider_search, providers

#: the links of a provider, each with the minor version that added it
_LINKS = (("inventories", 0), ("usages", 0), ("aggregates", 1), ("traits", 6), ("allocations", 11))

CREATION_REFUSED = (
    CreationRefused,
    BadRequest,
    'Unable to create resource provider "{name}", {uuid}: {error}',
)
CHANGE_REFUSED = (ObjectRefused, BadRequest, "Unable to save resource provider {uuid}: {error}")


def writer(call: Call) -> Callable[[Provider], str]:
    """Return a function that writes a provider as JSON, in the form of the request's version."""
    rels = tuple(rel for rel, since in _LINKS if call.at_least(since))
    nested = call.at_least(14)
    template = _template(call.path("resource_providers"), rels, nested)
    hrefs = 1 + len(rels)

    def write(provider: Provider) -> str:
        values = [quoted(provider.uuid), quoted(provider.name), provider.generation]
        values += [provider.uuid] * hrefs
        if nested:
            parent = provider.parent_uuid
            values += ["null" if parent is None else quoted(parent), quoted(provider.root_uuid)]
        return template % tuple(values)

    return write


@functools.lru_cache(maxsize=64)
def _template(prefix: str, rels: tuple[str, ...], nested: bool) -> str:
    """Return a provider's JSON with placeholders for values, so that long lists are cheap."""
    path = quoted(prefix)[1:-1].replace("%", "%%") + "/%s"
    links = [f'{{"rel": "self", "href": "{path}"}}']
    links += [f'{{"rel": "{rel}", "href": "{path}/{rel}"}}' for rel in rels]
    tree = ', "parent_provider_uuid": %s, "root_provider_uuid": %s' if nested else ""
    head = '{"uuid": %s, "name": %s, "generation": %s, "links": ['
    return head + ", ".join(links) + "]" + tree + "}"


def list_all(call: Call) -> flask.Response:
    """GET /resource_providers"""
    call.authorize("placement:resource_providers:list")
    filters = read_filters(call)
    found = call.database.read(lambda connection: provider_search.search(connection, filters))
    listed = ", ".join(map(writer(call), found))
    modified = newest(provider.modified for provider in found)
    return call.reply(text=f'{{"resource_providers": [{listed}]}}', modified=modified)


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
    return call.reply(text=writer(call)(provider), modified=NOW, location=location)


def show(call: Call, uuid: str) -> flask.Response:
    """GET /resource_providers/{uuid}"""
    call.authorize("placement:resource_providers:show")
    provider = providers.shown(call.database, uuid)
    return call.reply(text=writer(call)(provider), modified=provider.modified)


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
    return call.reply(text=writer(call)(provider), modified=provider.updated_at, cached=True)


@worded((ProviderNotFound, NotFound, "No resource provider with uuid {uuid} found for delete"))
def delete(call: Call, uuid: str) -> flask.Response:
    """DELETE /resource_providers/{uuid}"""
    call.authorize("placement:resource_providers:delete")
    operations.delete_provider(call.database, uuid)
    return call.reply()
