"""Requests and responses of /berth/v1/provider_trees (extensions.md 2)."""

from placement.errors import DuplicateKey, SearchAbandoned
from placement.schemas import allocations, inventories, resource_providers
from placement.schemas.answer_shapes import (
    GENERATION,
    PROVIDER_UUID,
    USAGES,
    AnswerTable,
    exactly,
    keyed,
)
from placement.schemas.answer_tables import done, extension_answers
from placement.schemas.json_schema import (
    RESOURCE_CLASS_KEY,
    STRING,
    UUID,
    UUID_KEY,
    Json,
    Schema,
    closed_object,
)

_MORE: Json = {
    "fields": STRING,
    "limit": {"type": "string", "pattern": "^[1-9][0-9]*$"},
    "marker": UUID,
}
#: other parameters may be given several times, as in the list of providers
GIVEN_ONCE = ("limit", "marker")

#: those of the list of providers at each version, and more
LIST = {
    version: Schema(
        closed_object(schema.source["properties"] | _MORE),
        strict_uuids=schema.strict_uuids,
        exact_ends=True,
    )
    for version, schema in resource_providers.LIST.items()
}

_SHOWN = {
    "uuid": PROVIDER_UUID,
    "name": {"type": "string", "maxLength": 200},
    "generation": GENERATION,
    "parent_provider_uuid": {"anyOf": [PROVIDER_UUID, {"type": "null"}]},
    "root_provider_uuid": PROVIDER_UUID,
}
_FIELDS: Json = {
    "inventories": keyed(RESOURCE_CLASS_KEY, inventories.RECORD_SHOWN),
    "traits": {"type": "array", "items": STRING, "uniqueItems": True},
    "aggregates": {"type": "array", "items": STRING, "uniqueItems": True},
    "usages": USAGES,
    "allocations": keyed(UUID_KEY, allocations.HOLDING),
}
_TREE: Json = exactly(
    {
        "root": PROVIDER_UUID,
        "providers": {
            "type": "array",
            "minItems": 1,
            "items": closed_object(_SHOWN | _FIELDS, list(_SHOWN)),
        },
    }
)
_POSITION: Json = {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"}
#: the owners of consumers, by uuid
CONSUMERS: Json = {"consumers": keyed(UUID_KEY, allocations.CONSUMER)}
_END: Json = {"marker": PROVIDER_UUID, "position": _POSITION}

SHOWN: AnswerTable = {
    (1, 0): Schema(
        closed_object(
            {"trees": {"type": "array", "items": _TREE}} | CONSUMERS | _END,
            ["trees", "position"],
        )
    )
}
#: a line of the same answer as application/x-ndjson: a tree, some of the consumers, or the end
LINE = Schema({"anyOf": [_TREE, exactly(CONSUMERS), closed_object(_END, ["position"])]})

_PATH = "/berth/v1/provider_trees"
QUERIES = {_PATH: LIST}
LINES = {_PATH: LINE}
RESPONSES = {
    _PATH: {
        "GET": extension_answers(
            {200: SHOWN, 304: done(0)}, *(403, 406, DuplicateKey, SearchAbandoned)
        ),
    }
}
