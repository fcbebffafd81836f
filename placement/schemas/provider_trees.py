"""Requests and responses of /berth/v1/provider_trees (extensions.md 2)."""

from placement.schemas import allocations, inventories, resource_providers
from placement.schemas.answer_shapes import (
    GENERATION,
    PROVIDER_UUID,
    PROVIDER_UUID_KEY,
    USAGES,
    AnswerTable,
    exactly,
    keyed,
)
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
_CONSUMERS: Json = {"consumers": keyed(UUID_KEY, allocations.CONSUMER)}
_END: Json = {"marker": PROVIDER_UUID, "position": _POSITION}

SHOWN: AnswerTable = {
    (1, 0): Schema(
        closed_object(
            {"trees": {"type": "array", "items": _TREE}} | _CONSUMERS | _END,
            ["trees", "position"],
        )
    )
}
#: a line of the same answer as application/x-ndjson: a tree, some of the consumers, or the end
LINE = Schema({"anyOf": [_TREE, exactly(_CONSUMERS), closed_object(_END, ["position"])]})

#: names of one request for allocations. It isn't part of the schema, whose message would repeat
#: all of them
MOST_NAMES = 10_000
_NAMES: Json = {"type": "array", "items": {"type": "string", "pattern": UUID_KEY}}
ALLOCATIONS_QUERY = {
    (1, 0): Schema(
        closed_object({"consumers": _NAMES, "resource_providers": _NAMES}) | {"minProperties": 1},
        exact_ends=True,
    )
}
ALLOCATIONS_FOUND: AnswerTable = {
    (1, 0): Schema(
        exactly(_CONSUMERS | {"providers": keyed(PROVIDER_UUID_KEY, allocations.OF_PROVIDER)})
    )
}
