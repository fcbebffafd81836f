"""Requests and responses of /allocations and a provider's allocations (rest-api.md 3.7 – 3.9)."""

from placement.schemas.answer_shapes import (
    AMOUNTS,
    GENERATION,
    PROVIDER_UUID_KEY,
    AnswerTable,
    exactly,
    keyed,
)
from placement.schemas.json_schema import (
    INTEGER,
    RESOURCE_CLASS_KEY,
    UUID,
    UUID_KEY,
    Json,
    Schema,
    closed_object,
)

_LENGTH = {"minLength": 1, "maxLength": 255}
_SHORT = {"type": "string"} | _LENGTH
_RESOURCES: Json = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {RESOURCE_CLASS_KEY: {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
}
_LISTED: Json = {
    "type": "array",
    "minItems": 1,
    "items": closed_object(
        {
            "resource_provider": {
                "type": "object",
                "properties": {"uuid": UUID},
                "additionalProperties": False,
                "required": ["uuid"],
            },
            "resources": _RESOURCES,
        },
        ["resource_provider", "resources"],
    ),
}
OWNER: Json = {"project_id": _SHORT, "user_id": _SHORT}
_GENERATION: Json = {
    "consumer_generation": {"type": ["integer", "null"], "additionalProperties": False}
}
_MAPPINGS: Json = {
    "mappings": {
        "type": "object",
        "minProperties": 1,
        "patternProperties": {
            "[a-zA-Z0-9_-]{1,64}": {"type": "array", "minItems": 1, "items": UUID}
        },
    }
}
TYPE: Json = {"consumer_type": {"type": "string", "pattern": RESOURCE_CLASS_KEY} | _LENGTH}


def _keyed(at_least: int) -> Json:
    """Return the schema of allocations by provider uuid, from at least so many providers."""
    return {
        "allocations": {
            "type": "object",
            "minProperties": at_least,
            "patternProperties": {
                UUID_KEY: closed_object(
                    {"generation": INTEGER, "resources": _RESOURCES}, ["resources"]
                )
            },
            "additionalProperties": False,
        }
    }


def _consumer(properties: Json, required: list[str]) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "required": required,
    }


_OWNED = ["allocations", "project_id", "user_id"]
_GUARDED = [*_OWNED, "consumer_generation"]

_CONSUMER_1_12 = _consumer(_keyed(1) | OWNER, _OWNED)
_CONSUMER_1_13 = _consumer(_keyed(0) | OWNER, _OWNED)
_CONSUMER_1_28 = _consumer(_keyed(0) | OWNER | _GENERATION, _GUARDED)
_CONSUMER_1_34 = _consumer(_keyed(0) | OWNER | _GENERATION | _MAPPINGS, _GUARDED)
_CONSUMER_1_38 = _consumer(
    _keyed(0) | OWNER | _GENERATION | _MAPPINGS | TYPE, [*_GUARDED, "consumer_type"]
)

REPLACE = {
    (1, 0): Schema(closed_object({"allocations": _LISTED}, ["allocations"])),
    (1, 8): Schema(closed_object({"allocations": _LISTED} | OWNER, _OWNED)),
    (1, 12): Schema(_CONSUMER_1_12),
    (1, 28): Schema(_CONSUMER_1_28),
    (1, 34): Schema(_CONSUMER_1_34),
    (1, 38): Schema(_CONSUMER_1_38),
}


def by_consumer(consumer: Json, at_least: int) -> Json:
    """Return the schema of the bodies of at least so many consumers, by consumer uuid."""
    return {
        "type": "object",
        "minProperties": at_least,
        "additionalProperties": False,
        "patternProperties": {UUID_KEY: consumer},
    }


MANAGE = {
    (1, 13): Schema(by_consumer(_CONSUMER_1_13, 1)),
    (1, 28): Schema(by_consumer(_CONSUMER_1_28, 1)),
    (1, 34): Schema(by_consumer(_CONSUMER_1_34, 1)),
    (1, 38): Schema(by_consumer(_CONSUMER_1_38, 1)),
}

#: the consumers of a reshape, which may be none
RESHAPED = {
    (1, 30): by_consumer(_CONSUMER_1_28, 0),
    (1, 34): by_consumer(_CONSUMER_1_34, 0),
    (1, 38): by_consumer(_CONSUMER_1_38, 0),
}

_HELD: Json = {
    "allocations": keyed(
        PROVIDER_UUID_KEY, exactly({"resources": AMOUNTS, "generation": GENERATION}), 1
    )
}
_TYPE_SHOWN: Json = {
    "consumer_type": {"type": "string", "pattern": "^([A-Z0-9_]+|unknown)$"} | _LENGTH
}


_NOTHING: Json = {"type": "object", "maxProperties": 0, "additionalProperties": False}


def _shown(properties: Json) -> Schema:
    """Return the schema of a consumer's allocations; without any, it has no other property."""
    return Schema({"anyOf": [exactly(properties), exactly({"allocations": _NOTHING})]})


_GENERATION_SHOWN: Json = {"consumer_generation": GENERATION}
#: a consumer that holds something, as 1.38 shows it
CONSUMER: Json = exactly(_HELD | OWNER | _GENERATION_SHOWN | _TYPE_SHOWN)

SHOWN: AnswerTable = {
    (1, 0): _shown(_HELD),
    (1, 12): _shown(_HELD | OWNER),
    (1, 28): _shown(_HELD | OWNER | _GENERATION_SHOWN),
    (1, 38): _shown(_HELD | OWNER | _GENERATION_SHOWN | _TYPE_SHOWN),
}


#: what one consumer holds of a provider, as 1.28 shows it
HOLDING: Json = exactly({"resources": AMOUNTS} | _GENERATION_SHOWN)


def _of_provider(holding: Json) -> Json:
    return exactly(
        {
            "allocations": keyed(UUID_KEY, holding),
            "resource_provider_generation": GENERATION,
        }
    )


#: all that is held of a provider, as 1.28 shows it
OF_PROVIDER: Json = _of_provider(HOLDING)

SHOWN_OF_PROVIDER: AnswerTable = {
    (1, 0): Schema(_of_provider(exactly({"resources": AMOUNTS}))),
    (1, 28): Schema(OF_PROVIDER),
}
