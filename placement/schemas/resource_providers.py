"""Requests and responses of /resource_providers (rest-api.md 3.1, 3.2)."""

from placement.schemas.answer_shapes import (
    GENERATION,
    NO_BODY,
    NOT_GIVEN,
    PROVIDER_PATH,
    PROVIDER_UUID,
    AnswerTable,
    exactly,
    links,
)
from placement.schemas.json_schema import STRING, UUID, Json, Schema, closed_object

NAME = {"type": "string", "maxLength": 200}
UUID_OR_NULL = {"anyOf": [UUID, {"type": "null"}]}

CREATE = {
    (1, 0): Schema(closed_object({"name": NAME, "uuid": UUID}, ["name"])),
    (1, 14): Schema(
        closed_object({"name": NAME, "uuid": UUID, "parent_provider_uuid": UUID_OR_NULL}, ["name"])
    ),
}

UPDATE = {
    (1, 0): Schema(closed_object({"name": NAME}, ["name"])),
    (1, 14): Schema(closed_object({"name": NAME, "parent_provider_uuid": UUID_OR_NULL}, ["name"])),
}


def _list_query(*names: str) -> Schema:
    properties = {name: UUID if name in ("uuid", "in_tree") else STRING for name in names}
    return Schema(closed_object(properties), strict_uuids=True)


LIST = {
    (1, 0): _list_query("name", "uuid"),
    (1, 3): _list_query("name", "uuid", "member_of"),
    (1, 4): _list_query("name", "uuid", "member_of", "resources"),
    (1, 14): _list_query("name", "uuid", "member_of", "resources", "in_tree"),
    (1, 18): _list_query("name", "uuid", "member_of", "resources", "in_tree", "required"),
}

_PARENT_OR_NONE: Json = {"anyOf": [PROVIDER_UUID, {"type": "null"}]}
_FAMILY: Json = {"parent_provider_uuid": _PARENT_OR_NONE, "root_provider_uuid": PROVIDER_UUID}
_LINKS_1_0 = ["self", "inventories", "usages"]
_LINKS_1_1 = [*_LINKS_1_0, "aggregates"]
_LINKS_1_6 = [*_LINKS_1_1, "traits"]
_LINKS_1_11 = [*_LINKS_1_6, "allocations"]


def _provider(rels: list[str], family: Json | None = None) -> Json:
    shown = {
        "uuid": PROVIDER_UUID,
        "name": NAME,
        "generation": GENERATION,
        "links": links(PROVIDER_PATH, rels),
    }
    return exactly(shown | (family or {}))


_PROVIDER = {
    (1, 0): _provider(_LINKS_1_0),
    (1, 1): _provider(_LINKS_1_1),
    (1, 6): _provider(_LINKS_1_6),
    (1, 11): _provider(_LINKS_1_11),
    (1, 14): _provider(_LINKS_1_11, _FAMILY),
}

SHOWN: AnswerTable = {version: Schema(provider) for version, provider in _PROVIDER.items()}
LISTED: AnswerTable = {
    version: Schema(exactly({"resource_providers": {"type": "array", "items": provider}}))
    for version, provider in _PROVIDER.items()
}
#: responses of POST: with status 201 before 1.20, with 200 since
CREATED: AnswerTable = {(1, 0): NO_BODY, (1, 20): NOT_GIVEN}
CREATED_AND_SHOWN: AnswerTable = {(1, 20): Schema(_PROVIDER[1, 14])}
