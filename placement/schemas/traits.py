"""Requests and responses of traits (rest-api.md 3.5, 3.12)."""

from placement.domain.names import CUSTOM, MAX_NAME
from placement.schemas.answer_shapes import GENERATION, AnswerTable, exactly
from placement.schemas.json_schema import INTEGER, STRING, Json, Schema, closed_object

#: the name of a trait that somebody makes
CUSTOM_NAME: Json = {"type": "string", "pattern": CUSTOM, "maxLength": MAX_NAME}
NAMES = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 255}}

REPLACE_OF_PROVIDER = {
    (1, 6): Schema(
        closed_object(
            {"traits": NAMES, "resource_provider_generation": INTEGER},
            ["traits", "resource_provider_generation"],
        )
    )
}
LIST = {(1, 6): Schema(closed_object({"name": STRING, "associated": STRING}))}

_SHOWN_NAMES = NAMES | {"uniqueItems": True}

LISTED: AnswerTable = {(1, 6): Schema(exactly({"traits": _SHOWN_NAMES}))}
#: response of GET and of PUT
SHOWN_OF_PROVIDER: AnswerTable = {
    (1, 6): Schema(exactly({"traits": _SHOWN_NAMES, "resource_provider_generation": GENERATION}))
}
