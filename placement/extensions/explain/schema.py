"""Queries and responses of /berth/v1/allocation_candidates/explain (extensions.md 5)."""

from placement.errors import BadQueryValue, DuplicateKey
from placement.extensions.what_if.schema import IF
from placement.schemas import allocation_candidates
from placement.schemas.answer_shapes import PROVIDER_UUID, AnswerTable, exactly
from placement.schemas.answer_tables import OF_QUERY, SEARCHING, extension_answers
from placement.schemas.json_schema import STRING, UUID, Json, Schema, closed_object

#: the parameters that the query for candidates doesn't have; each may be given once
OWN: Json = {"provider": STRING, "consumer": UUID}
LIST = {
    version: Schema(schema.source | {"properties": schema.source["properties"] | OWN})
    for version, schema in allocation_candidates.LIST.items()
}

QUERY = {
    (1, 10): Schema(
        closed_object({"query": STRING, "if": IF, **OWN}, ["query"]),
        exact_ends=True,
    )
}

_COUNT: Json = {"type": "integer", "minimum": 0}
_INTEGER: Json = {"type": "integer"}
_REASON: Json = {
    "enum": [
        "no_inventory",
        "capacity",
        "min_unit",
        "max_unit",
        "step_size",
        "trait",
        "forbidden_trait",
        "aggregate",
        "forbidden_aggregate",
        "in_tree",
        "root_required",
        "no_sharing",
        "same_subtree",
        "isolate",
        "together",
        "unknown_name",
    ]
}
_CHANGE: Json = exactly({"before": _COUNT, "after": _COUNT})
_AMOUNTS: Json = {
    "free": _INTEGER,
    "total": _COUNT,
    "reserved": _COUNT,
    "used": _COUNT,
    "allocation_ratio": {"type": "number"},
    "min_unit": _COUNT,
    "max_unit": _COUNT,
    "step_size": _COUNT,
}
_MISSING: Json = closed_object(
    {
        "group": STRING,
        "reason": _REASON,
        "name": STRING,
        "uuid": PROVIDER_UUID,
        "provider": STRING,
        "aggregates": {"type": "array", "items": UUID},
        "asked": _COUNT,
        **_AMOUNTS,
    },
    ["group", "reason", "name"],
)
_NEAR: Json = exactly(
    {
        "root": PROVIDER_UUID,
        "root_name": STRING,
        "uuid": PROVIDER_UUID,
        "name": STRING,
        "missing": {"type": "array", "items": _MISSING},
    }
)
_STEP: Json = closed_object(
    {
        "group": STRING,
        "step": STRING,
        "name": STRING,
        "asked": _COUNT,
        "providers": _CHANGE,
        "trees": _CHANGE,
    },
    ["group", "step", "name", "providers", "trees"],
)
_CHANGED: Json = {
    "oneOf": [
        closed_object({"drop": STRING, "add": STRING}, ["drop"]),
        closed_object({"lower": STRING, "group": STRING, "to": _COUNT}, ["lower", "to"]),
        closed_object({"raise": STRING, "group": STRING, "to": _COUNT}, ["raise", "to"]),
    ]
}

_EXPLAINED: Json = {
    "message": STRING,
    "verdict": {"enum": ["none", "some", "unknown"]},
    "candidates": {"type": ["integer", "null"], "minimum": 0},
    "trees": closed_object(
        {"total": _COUNT, "left": _COUNT, "undecided": _COUNT}, ["total", "left"]
    ),
    "steps": {"type": "array", "items": _STEP},
    "reasons": {
        "type": "array",
        "items": closed_object(
            {
                "reason": _REASON,
                "group": STRING,
                "name": STRING,
                "trees": _COUNT,
                "conflict": {
                    "type": "array",
                    "items": exactly({"reason": _REASON, "name": STRING}),
                    "minItems": 2,
                },
            },
            ["reason", "group", "name", "trees"],
        ),
    },
    "nearest": {"type": "array", "items": _NEAR, "maxItems": 10},
    "relaxations": {
        "type": "array",
        "items": {
            "oneOf": [
                exactly({"change": _CHANGED, "text": STRING, "trees": _COUNT}),
                exactly(
                    {
                        "change": exactly({"move": _COUNT}),
                        "text": STRING,
                        "trees": _COUNT,
                        # as POST /berth/v1/plans/room answers
                        "plan": {"type": "object"},
                    }
                ),
            ]
        },
        "maxItems": 21,
    },
    "relaxations_complete": {"type": "boolean"},
}
EXPLAINED: AnswerTable = {
    (1, 10): Schema(closed_object({**_EXPLAINED, "provider": _NEAR}, list(_EXPLAINED)))
}

_PATH = "/berth/v1/allocation_candidates/explain"
QUERIES = {_PATH: LIST}
BODIES = {(_PATH, "POST"): QUERY}
RESPONSES = {
    _PATH: {
        "GET": extension_answers(
            {200: EXPLAINED},
            *(403, 404, 406, BadQueryValue, DuplicateKey, *SEARCHING),
            later=OF_QUERY,
        ),
        "POST": extension_answers(
            {200: EXPLAINED},
            *(403, 404, 406, 415, BadQueryValue, *SEARCHING),
            later=OF_QUERY,
        ),
    }
}
