"""Requests and responses of /berth/v1/plans/survives (extensions.rst)."""

from placement.errors import TooManyPlans
from placement.extensions.plans.terms_schema import NAMED_ROOT, TERMS
from placement.extensions.what_if.schema import IF
from placement.schemas.answer_shapes import AMOUNTS, AnswerTable, exactly, keyed
from placement.schemas.answer_tables import OF_QUERY, SEARCHING, extension_answers
from placement.schemas.json_schema import (
    RESOURCE_CLASS_KEY,
    STRING,
    UUID,
    Json,
    Schema,
    closed_object,
)

#: how many sets a body may give, and how many roots they may have together. These aren't part of
#: the schema, whose message would repeat all of them
MOST_SETS = MOST_ROOTS = 10_000
#: how many sets an answer tells of, and how many consumers of each, by default and at most
LIMIT, MOST_SHOWN = 100, 300
#: how many sets may be lost together
MOST_TOGETHER = 5

_SETS: Json = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "array", "minItems": 1, "items": UUID},
}
JUDGE = {
    (1, 10): Schema(
        closed_object(
            {
                "each": {"anyOf": [{"type": "string", "enum": ["root", "aggregate"]}, _SETS]},
                "among": closed_object({"member_of": STRING}, ["member_of"]),
                "together": {"type": "integer", "minimum": 1, "maximum": MOST_TOGETHER},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST_SHOWN},
                **TERMS,
                "if": IF,
            },
            ["each"],
        ),
        exact_ends=True,
    )
}

_COUNT: Json = {"type": "integer", "minimum": 0}
_LEFT = exactly({"consumer": STRING, "resources": AMOUNTS, "reason": STRING})
_LOST = exactly(
    {
        "roots": {"type": "array", "minItems": 1, "items": NAMED_ROOT},
        "name": STRING,
        "verdict": {"type": "string", "enum": ["impossible", "unknown"]},
        "alike": {"type": "integer", "minimum": 0},
        "consumers": _COUNT,
        "placed": _COUNT,
        "left": {"type": "array", "items": _LEFT},
        "missing": keyed(RESOURCE_CLASS_KEY, {"type": "integer", "minimum": 1}),
    }
)
JUDGED: AnswerTable = {
    (1, 10): Schema(
        exactly(
            {
                "verdict": {"type": "string", "enum": ["possible", "impossible", "unknown"]},
                "sets": _COUNT,
                "of": _COUNT,
                "absorbed": _COUNT,
                "unknown": _COUNT,
                "worst": {"type": "array", "items": _LOST},
                "constraints": _COUNT,
                "message": STRING,
            }
        )
    )
}

_PATH = "/berth/v1/plans/survives"
BODIES = {(_PATH, "POST"): JUDGE}
RESPONSES = {
    _PATH: {
        "POST": extension_answers(
            {200: JUDGED}, 403, 404, 406, 415, *SEARCHING, TooManyPlans, later=OF_QUERY
        )
    }
}
