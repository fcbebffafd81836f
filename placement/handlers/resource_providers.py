"""/resource_providers and /resource_providers/{uuid} (rest-api.md 3.1, 3.2); providers as JSON."""

import dataclasses
import functools
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii as quoted

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
from placement.http.call import NOW, Answer, Call
from placement.operations import providers as operations
from placement.schemas import resource_providers as schemas
from placement.storage import providers
from placement.storage.provider_list import Listed

CREATION_REFUSED = (
    CreationRefused,
    BadRequest,
    'Unable to create resource provider "{name}", {uuid}: {error}',
)
CHANGE_REFUSED = (ObjectRefused, BadRequest, "Unable to save resource provider {uuid}: {error}")
#: the links of a provider, each with the minor version that added it
_LINKS = (("inventories", 0), ("usages", 0), ("aggregates", 1), ("traits", 6), ("allocations", 11))
SEPARATOR = b", "
#: short texts in one piece of a list, and the length from which texts are pieces of their own
_AT_ONCE, _LONG = 128, 10_000


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


def list_all(call: Call) -> Answer:
    """GET /resource_providers"""
    call.authorize("placement:resource_providers:list")
    form = form_of(call)
    found = call.lists.find(read_filters(call), form, form.text)
    pieces = [b'{"resource_providers": [', *list_of(found.texts), b"]}"]
    return call.reply(pieces=pieces, modified=found.modified or NOW)


@worded(CREATION_REFUSED)
def create(call: Call) -> Answer:
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


def show(call: Call, uuid: str) -> Answer:
    """GET /resource_providers/{uuid}"""
    call.authorize("placement:resource_providers:show")
    provider = providers.shown(call.database, uuid)
    return call.reply(pieces=[_text(call, provider)], modified=provider.modified)


@worded(CHANGE_REFUSED)
def update(call: Call, uuid: str) -> Answer:
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
def delete(call: Call, uuid: str) -> Answer:
    """DELETE /resource_providers/{uuid}"""
    call.authorize("placement:resource_providers:delete")
    operations.delete_provider(call.database, uuid)
    return call.reply()


@dataclasses.dataclass(frozen=True)
class ProviderForm:
    """What a provider's JSON looks like at a version, below a path of the service.

    :param template: the JSON with placeholders for values
    :param hrefs: how often the uuid stands in the links
    :param nested: whether it names the tree
    """

    template: str
    hrefs: int
    nested: bool

    def text(self, provider: Listed) -> bytes:
        """Return a provider as JSON."""
        uuid, name, generation, parent_uuid, root_uuid = provider
        values = [quoted(uuid), quoted(name), generation] + [uuid] * self.hrefs
        if self.nested:
            values += ["null" if parent_uuid is None else quoted(parent_uuid), quoted(root_uuid)]
        return (self.template % tuple(values)).encode()


def form_of(call: Call) -> ProviderForm:
    """Return the form that the call's version has; all calls with this form get the same one."""
    rels = tuple(rel for rel, since in _LINKS if call.at_least(since))
    return _form(call.path("resource_providers"), rels, call.at_least(14))


@functools.lru_cache(maxsize=64)
def _form(prefix: str, rels: tuple[str, ...], nested: bool) -> ProviderForm:
    path = quoted(prefix)[1:-1].replace("%", "%%") + "/%s"
    links = [f'{{"rel": "self", "href": "{path}"}}']
    links += [f'{{"rel": "{rel}", "href": "{path}/{rel}"}}' for rel in rels]
    tree = ', "parent_provider_uuid": %s, "root_provider_uuid": %s' if nested else ""
    head = '{"uuid": %s, "name": %s, "generation": %s, "links": ['
    return ProviderForm(head + ", ".join(links) + "]" + tree + "}", len(links), nested)


def list_of(texts: Sequence[bytes]) -> list[bytes]:
    """Join texts by commas, in pieces: long texts are dear to copy, and many pieces to send."""
    if sum(map(len, texts)) > _LONG * len(texts):
        return [piece for text in texts for piece in (SEPARATOR, text)][1:]
    pieces: list[bytes] = []
    for start in range(0, len(texts), _AT_ONCE):
        part = [*texts[start : start + _AT_ONCE]]
        if start + _AT_ONCE < len(texts):
            part.append(b"")
        pieces.append(SEPARATOR.join(part))
    return pieces
