"""What a request may say of every plan, and how an answer shows a move (extensions.rst)."""

from placement.extensions.evacuation.schema import REQUESTS
from placement.schemas.answer_shapes import (
    AMOUNTS,
    PROVIDER_UUID,
    PROVIDER_UUID_KEY,
    exactly,
    keyed,
)
from placement.schemas.json_schema import STRING, UUID, UUID_KEY, Json, closed_object

_UUIDS: Json = {"type": "array", "items": UUID}
_TYPE: Json = {"type": "string", "pattern": "^([A-Z0-9_]+|unknown)$", "minLength": 1}
#: consumers that have to be apart, or together
_SETS: Json = {"type": "array", "items": {"type": "array", "minItems": 2, "items": UUID}}

#: who may move
MOVABLE: Json = closed_object(
    {
        "consumer_types": {"type": "array", "minItems": 1, "items": _TYPE},
        "except": _UUIDS,
        "only": _UUIDS,
    }
)
#: who may be where, as far as placement can't know it
CONSTRAINTS: Json = closed_object(
    {
        "apart": _SETS,
        "together": _SETS,
        "not_on": {
            "type": "object",
            "patternProperties": {UUID_KEY: _UUIDS},
            "additionalProperties": False,
        },
    }
)
#: the keys of a body
TERMS: Json = {"movable": MOVABLE, "constraints": CONSTRAINTS, "requests": REQUESTS}

#: a root in an answer
NAMED_ROOT: Json = exactly({"root": PROVIDER_UUID, "name": STRING})
_ROOTS: Json = {"type": "array", "minItems": 1, "items": NAMED_ROOT}
#: one move of an answer
MOVE: Json = exactly(
    {
        "consumer": STRING,
        "consumer_type": STRING,
        "project_id": STRING,
        "from": _ROOTS,
        "to": _ROOTS,
        "allocations": keyed(PROVIDER_UUID_KEY, exactly({"resources": AMOUNTS}), 1),
        "after": {"type": "array", "items": {"type": "integer", "minimum": 0}},
    }
)
