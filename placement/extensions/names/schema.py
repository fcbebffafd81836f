"""Responses of /berth/v1/names (extensions.md 14)."""

from placement.schemas.answer_shapes import AnswerTable, exactly
from placement.schemas.answer_tables import extension_answers
from placement.schemas.json_schema import Json, Schema

_NAMES: Json = {"type": "object", "additionalProperties": {"type": "string", "maxLength": 255}}
SHOWN: AnswerTable = {
    (1, 0): Schema(
        exactly(
            {
                "aggregates": _NAMES,
                "projects": _NAMES,
                "users": _NAMES,
                "problem": {"type": ["string", "null"]},
            }
        )
    )
}

RESPONSES = {"/berth/v1/names": {"GET": extension_answers({200: SHOWN}, 403, 406)}}
