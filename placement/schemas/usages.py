"""Queries and responses of /usages and the usages of a provider (rest-api.md 3.6, 3.13)."""

from placement.schemas.answer_shapes import GENERATION, USAGES, AnswerTable, exactly, keyed
from placement.schemas.json_schema import Json, Schema, closed_object

_SHORT = {"type": "string", "minLength": 1, "maxLength": 255}
_TYPE: Json = {
    "type": "string",
    "pattern": "^[A-Z0-9_]+$|^all|^unknown$",
    "minLength": 1,
    "maxLength": 255,
}

LIST = {
    (1, 9): Schema(closed_object({"project_id": _SHORT, "user_id": _SHORT}, ["project_id"])),
    (1, 38): Schema(
        closed_object(
            {"project_id": _SHORT, "user_id": _SHORT, "consumer_type": _TYPE}, ["project_id"]
        )
    ),
}

SHOWN_OF_PROVIDER: AnswerTable = {
    (1, 0): Schema(exactly({"resource_provider_generation": GENERATION, "usages": USAGES}))
}

_GROUP: Json = USAGES | {
    "properties": {"consumer_count": {"type": "integer", "minimum": 1}},
    "required": ["consumer_count"],
}
LISTED: AnswerTable = {
    (1, 9): Schema(exactly({"usages": USAGES})),
    (1, 38): Schema(exactly({"usages": keyed("^([A-Z0-9_]+|all|unknown)$", _GROUP)})),
}
