"""Requests and responses of /berth/v1/capacity/evacuate (extensions.md 6)."""

from placement.errors import TooManyPlans
from placement.extensions.what_if.schema import IF
from placement.schemas.answer_shapes import (
    AMOUNTS,
    PROVIDER_UUID,
    PROVIDER_UUID_KEY,
    AnswerTable,
    exactly,
    keyed,
)
from placement.schemas.answer_tables import OF_QUERY, SEARCHING, extension_answers
from placement.schemas.json_schema import STRING, UUID, UUID_KEY, Json, Schema, closed_object

#: how many consumers, roots and queries a request may name in each list. These aren't part of the
#: schema, whose message would repeat all of them
MOST_NAMED = 10_000

#: what consumers ask for in place of what they hold: queries of GET /allocation_candidates
REQUESTS: Json = {
    "type": "object",
    "patternProperties": {UUID_KEY: STRING},
    "additionalProperties": False,
}
_HOSTS: Json = {"without": {"type": "array", "minItems": 1, "items": UUID}, "if": IF}
EVACUATE = {
    (1, 0): Schema(closed_object(_HOSTS, ["without"]), exact_ends=True),
    (1, 10): Schema(closed_object({**_HOSTS, "requests": REQUESTS}, ["without"]), exact_ends=True),
}

_COUNT: Json = {"type": "integer", "minimum": 0}
_BOOLEAN: Json = {"type": "boolean"}
_MOVE = exactly(
    {
        "root": PROVIDER_UUID,
        "allocations": keyed(PROVIDER_UUID_KEY, exactly({"resources": AMOUNTS}), 1),
    }
)
EVACUATED: AnswerTable = {
    (1, 0): Schema(
        exactly(
            {
                "fits": _BOOLEAN,
                "exact": _BOOLEAN,
                "verdict": {"type": "string", "enum": ["possible", "impossible", "unknown"]},
                "consumers": exactly({"total": _COUNT, "fit": _COUNT, "unfit": _COUNT}),
                "moves": keyed("^.+$", _MOVE),
                "unfit": {
                    "type": "array",
                    "items": exactly({"consumer": STRING, "message": STRING}),
                },
            }
        )
    )
}

_PATH = "/berth/v1/capacity/evacuate"
BODIES = {(_PATH, "POST"): EVACUATE}
RESPONSES = {
    _PATH: {
        "POST": extension_answers(
            {200: EVACUATED}, 403, 406, 415, *SEARCHING, TooManyPlans, later=OF_QUERY
        )
    }
}
