"""Responses of /berth/v1 (extensions.md 1)."""

from placement.schemas.answer_shapes import AnswerTable, exactly
from placement.schemas.answer_tables import extension_answers
from placement.schemas.json_schema import STRING, Schema

DISCOVERED: AnswerTable = {
    (1, 0): Schema(
        exactly(
            {
                "version": {"const": "1.0"},
                "offers": {"type": "array", "items": STRING, "uniqueItems": True},
                "service": exactly(
                    {"name": {"const": "berth"}, "version": STRING, "reference": STRING}
                ),
            }
        )
    )
}

RESPONSES = {"/berth/v1": {"GET": extension_answers({200: DISCOVERED}, 406)}}
