"""Requests and responses of /berth/v1/capacity (extensions.md 6)."""

from placement.extensions.what_if.schema import IF
from placement.schemas import allocation_candidates
from placement.schemas.answer_shapes import (
    PROVIDER_UUID,
    RESOURCE_CLASS,
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

#: how many requests, and how many roots, a body may name. These aren't part of the schema, whose
#: message would repeat all of them
MOST_REQUESTS, MOST_ROOTS = 200, 10_000
#: how many aggregates, and how many trees, an answer has of each request by default
LIMIT = 100
#: how many aggregates and trees an answer may have
MOST_SHOWN = 100_000

QUERY = {
    (1, 10): Schema(
        closed_object(
            {
                "requests": {
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": exactly({"query": STRING}),
                },
                "by": {
                    "type": "array",
                    "items": {"type": "string", "enum": ["aggregate", "root"]},
                },
                "without": {"type": "array", "items": UUID},
                "limit": {"type": "integer", "minimum": 1, "maximum": 10_000},
                "if": IF,
            },
            ["requests"],
        ),
        exact_ends=True,
    )
}

_COUNT: Json = {"type": "integer", "minimum": 0}
_BY_CLASS = keyed(RESOURCE_CLASS_KEY, {"type": "integer", "minimum": 1})
_FITS: Json = {
    "fits": _COUNT,
    "exact": {"type": "boolean"},
    "upper": _COUNT,
    "trees": _COUNT,
    "limited_by": _BY_CLASS,
}
_NEEDED = ["fits", "exact", "trees", "limited_by"]
_OF_TREE: Json = closed_object(
    {
        "uuid": PROVIDER_UUID,
        "name": STRING,
        "fits": _COUNT,
        "upper": _COUNT,
        "limited_by": RESOURCE_CLASS | {"type": ["string", "null"]},
    },
    ["uuid", "name", "fits", "limited_by"],
)
_ROOM: Json = closed_object(
    {
        **_FITS,
        "verdict": {"type": "string", "enum": ["some", "none", "unknown"]},
        "stranded": _BY_CLASS,
        "by_aggregate": keyed("^.+$", closed_object(_FITS, _NEEDED)),
        "by_root": {"type": "array", "items": _OF_TREE},
    },
    [*_NEEDED, "verdict", "stranded"],
)
SHOWN: AnswerTable = {(1, 10): Schema(_ROOM)}
_ROOMS: Json = {"type": "object", "minProperties": 1, "additionalProperties": _ROOM}
QUERIED: AnswerTable = {(1, 10): Schema(exactly({"requests": _ROOMS}))}

_PATH = "/berth/v1/capacity"
BODIES = {(_PATH, "POST"): QUERY}
QUERIES = {_PATH: allocation_candidates.LIST}
RESPONSES = {
    _PATH: {
        "GET": extension_answers({200: SHOWN}, 403, 404, 406, *SEARCHING, later=OF_QUERY),
        "POST": extension_answers({200: QUERIED}, 403, 404, 406, 415, *SEARCHING, later=OF_QUERY),
    }
}
