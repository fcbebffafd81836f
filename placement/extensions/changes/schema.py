"""Queries and responses of /berth/v1/changes (extensions.md 7)."""

from placement.errors import BadQueryValue, DuplicateKey, PositionGone, TooManyWaits
from placement.schemas.answer_shapes import PROVIDER_UUID, AnswerTable, exactly
from placement.schemas.answer_tables import extension_answers
from placement.schemas.json_schema import STRING, Json, Schema, closed_object

#: each may be given once
OWN: Json = {
    "after": STRING,
    "limit": {"type": "string", "pattern": "^[1-9][0-9]{0,8}$"},
    # seconds, at most 30
    "wait": {"type": "string", "pattern": "^([0-9]|[12][0-9]|30)$"},
}
LIST = {(1, 0): Schema(closed_object(OWN), exact_ends=True)}

LISTED: AnswerTable = {
    (1, 0): Schema(
        exactly(
            {
                "position": {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"},
                "providers": {"type": "array", "items": PROVIDER_UUID, "uniqueItems": True},
                "complete": {"type": "boolean"},
            }
        )
    )
}

_PATH = "/berth/v1/changes"
QUERIES = {_PATH: LIST}
RESPONSES = {
    _PATH: {
        "GET": extension_answers(
            {200: LISTED},
            *(403, 406, BadQueryValue, DuplicateKey, PositionGone, TooManyWaits),
        ),
    }
}
