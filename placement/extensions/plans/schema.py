"""Requests and responses of /berth/v1/plans (extensions.rst)."""

from placement.errors import TooManyPlans
from placement.extensions.plans.terms_schema import MOVE, NAMED_ROOT, TERMS
from placement.extensions.what_if.schema import IF
from placement.schemas.answer_shapes import AnswerTable, exactly, keyed
from placement.schemas.answer_tables import OF_QUERY, SEARCHING, extension_answers
from placement.schemas.json_schema import (
    RESOURCE_CLASS_KEY,
    STRING,
    UUID,
    Json,
    Schema,
    closed_object,
)

#: how many moves a plan has at most by default, and by request; for how many room is made
MOVES, MOST_MOVES, MOST_COUNT = 5, 10, 1_000

ROOM = {
    (1, 10): Schema(
        closed_object(
            {
                "query": STRING,
                "count": {"type": "integer", "minimum": 1, "maximum": MOST_COUNT},
                "within": {"type": "array", "minItems": 1, "items": UUID},
                **TERMS,
                "limit": closed_object(
                    {"moves": {"type": "integer", "minimum": 1, "maximum": MOST_MOVES}}
                ),
                "by": {"type": "string", "pattern": "^(moves|[A-Z0-9_]+)$"},
                "if": IF,
            },
            ["query"],
        ),
        exact_ends=True,
    )
}

_COUNT: Json = {"type": "integer", "minimum": 0}
PLAN: Json = exactly(
    {
        "verdict": {"type": "string", "enum": ["fits", "possible", "impossible", "unknown"]},
        "exact": {"type": "boolean"},
        "moves": {"type": "array", "items": MOVE},
        "cost": exactly({"moves": _COUNT, "amounts": keyed(RESOURCE_CLASS_KEY, _COUNT)}),
        "then": exactly({"trees": {"type": "array", "items": NAMED_ROOT}, "candidates": _COUNT}),
        "message": STRING,
        "tried": exactly({"trees": _COUNT}),
        "constraints": _COUNT,
    }
)
MADE: AnswerTable = {(1, 10): Schema(PLAN)}

_ROOM = "/berth/v1/plans/room"
BODIES = {(_ROOM, "POST"): ROOM}
RESPONSES = {
    _ROOM: {
        "POST": extension_answers(
            {200: MADE}, 403, 404, 406, 415, *SEARCHING, TooManyPlans, later=OF_QUERY
        )
    }
}
