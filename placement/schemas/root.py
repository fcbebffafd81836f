"""Responses of / (rest-api.md 1.1)."""

from placement.schemas.answer_shapes import AnswerTable, exactly
from placement.schemas.json_schema import Json, Schema

_VERSION: Json = exactly(
    {
        "id": {"const": "v1.0"},
        "max_version": {"type": "string", "pattern": r"^1\.[0-9]+$"},
        "min_version": {"const": "1.0"},
        "status": {"const": "CURRENT"},
        "links": {
            "type": "array",
            "items": exactly({"rel": {"const": "self"}, "href": {"const": ""}}),
            "minItems": 1,
            "maxItems": 1,
        },
    }
)

DISCOVERED: AnswerTable = {
    (1, 0): Schema(
        exactly({"versions": {"type": "array", "items": _VERSION, "minItems": 1, "maxItems": 1}})
    )
}
