"""Responses of /berth/v1/empty_searches (extensions.md 13)."""

from placement.schemas.answer_shapes import AnswerTable, exactly
from placement.schemas.answer_tables import extension_answers
from placement.schemas.json_schema import STRING, Schema

_SEARCH = exactly(
    {
        "query": STRING,
        "searches": {"type": "integer", "minimum": 1},
        "reason": {"type": ["string", "null"]},
        "last": {
            "type": "string",
            "pattern": "^[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}:[0-9]{2}Z$",
        },
    }
)
LISTED: AnswerTable = {
    (1, 0): Schema(
        exactly(
            {
                "minutes": {"const": 60},
                "searches": {"type": ["integer", "null"], "minimum": 0},
                "queries": {"type": "array", "items": _SEARCH, "maxItems": 50},
            }
        )
    )
}

RESPONSES = {"/berth/v1/empty_searches": {"GET": extension_answers({200: LISTED}, 403, 406)}}
