"""Requests and responses of /berth/v1/claims (extensions.md 4)."""

from placement.errors import ClaimUnfinished, NoCandidate
from placement.schemas.allocation_candidates import KEYED_REQUEST, MAPPINGS
from placement.schemas.allocations import OWNER, TYPE
from placement.schemas.answer_shapes import (
    GENERATION,
    PROVIDER_UUID_KEY,
    AnswerTable,
    exactly,
    keyed,
)
from placement.schemas.answer_tables import OF_QUERY, SEARCHING, extension_answers
from placement.schemas.json_schema import (
    RESOURCE_CLASS_KEY,
    STRING,
    UUID,
    Json,
    Schema,
    closed_object,
)

#: how many consumers, and how many trees to avoid, one claim may name. These aren't part of the
#: schema, whose message would repeat all of them
MOST_CONSUMERS, MOST_AVOIDED = 1_000, 10_000


def _claim(consumer: Json) -> Schema:
    consumers = {
        "type": "array",
        "minItems": 1,
        "items": exactly(consumer),
    }
    return Schema(
        closed_object(
            {
                "query": STRING,
                "consumers": consumers,
                "strategy": {"type": "string", "enum": ["first", "random", "spread", "pack"]},
                "by": {
                    "type": "string",
                    "pattern": RESOURCE_CLASS_KEY,
                    "minLength": 1,
                    "maxLength": 255,
                },
                "avoid": {"type": "array", "items": UUID},
            },
            ["query", "consumers"],
        ),
        exact_ends=True,
    )


#: as in bodies of PUT /allocations/{consumer_uuid} at the version
CREATE = {
    (1, 10): _claim({"uuid": UUID} | OWNER),
    (1, 38): _claim({"uuid": UUID} | OWNER | TYPE),
}

_CLAIMED = exactly(KEYED_REQUEST | MAPPINGS | {"consumer_generation": GENERATION})
CREATED: AnswerTable = {
    (1, 10): Schema(exactly({"consumers": keyed(PROVIDER_UUID_KEY, _CLAIMED, 1)}))
}

_PATH = "/berth/v1/claims"
BODIES = {(_PATH, "POST"): CREATE}
RESPONSES = {
    _PATH: {
        "POST": extension_answers(
            {200: CREATED},
            *(403, 404, 406, NoCandidate, 415, *SEARCHING, ClaimUnfinished),
            later=OF_QUERY,
        ),
    }
}
