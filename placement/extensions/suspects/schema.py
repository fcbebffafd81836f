"""Queries and responses of /berth/v1/suspects (extensions.md 12)."""

from placement.errors import BadQueryValue, DuplicateKey
from placement.extensions.suspects.rules import KINDS
from placement.schemas.answer_shapes import PROVIDER_UUID, RESOURCE_CLASS, AnswerTable, exactly
from placement.schemas.answer_tables import extension_answers
from placement.schemas.json_schema import STRING, Json, Schema, closed_object

#: how many suspects an answer has if nothing is said, and at most
LIMIT, MOST = 1000, 10_000

#: each may be given once
OWN: Json = {
    "kind": {"type": "string", "enum": list(KINDS)},
    "limit": {"type": "string", "pattern": "^[1-9][0-9]{0,8}$"},
    "marker": STRING,
}
LIST = {(1, 0): Schema(closed_object(OWN), exact_ends=True)}

_PROVIDER = exactly({"uuid": PROVIDER_UUID, "name": {"type": "string", "maxLength": 200}})
_SUSPECT = exactly(
    {
        "kind": {"enum": list(KINDS)},
        "provider": {"anyOf": [_PROVIDER, {"type": "null"}]},
        "consumer": {"type": ["string", "null"]},
        "resource_class": RESOURCE_CLASS | {"type": ["string", "null"]},
        "detail": STRING,
        "first_seen": {
            "type": "string",
            "pattern": "^[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}Z$",
        },
    }
)
_COUNT: Json = {"type": "integer", "minimum": 0}
LISTED: AnswerTable = {
    (1, 0): Schema(
        closed_object(
            {
                "suspects": {"type": "array", "items": _SUSPECT},
                "kinds": closed_object(dict.fromkeys(KINDS, _COUNT)) | {"minProperties": 1},
                "marker": {"type": "string", "pattern": r"^[a-z_]+\.[0-9]+\.[0-9]+$"},
            },
            ["suspects", "kinds"],
        )
    )
}

_PATH = "/berth/v1/suspects"
QUERIES = {_PATH: LIST}
RESPONSES = {
    _PATH: {"GET": extension_answers({200: LISTED}, 403, 406, BadQueryValue, DuplicateKey)}
}
