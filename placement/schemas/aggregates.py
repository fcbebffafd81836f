"""Requests and responses of a provider's aggregates (rest-api.md 3.4)."""

from placement.schemas.answer_shapes import GENERATION, AnswerTable, exactly
from placement.schemas.json_schema import INTEGER, UUID, Json, Schema, closed_object

UUIDS: Json = {"type": "array", "items": UUID, "uniqueItems": True}

REPLACE = {
    (1, 1): Schema(UUIDS),
    (1, 19): Schema(
        closed_object(
            {"aggregates": UUIDS, "resource_provider_generation": INTEGER},
            ["aggregates", "resource_provider_generation"],
        )
    ),
}

#: response of GET and of PUT
SHOWN: AnswerTable = {
    (1, 1): Schema(exactly({"aggregates": UUIDS})),
    (1, 19): Schema(exactly({"aggregates": UUIDS, "resource_provider_generation": GENERATION})),
}
