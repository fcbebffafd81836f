"""Requests and responses of /resource_classes (rest-api.md 3.11)."""

from placement.domain.names import CUSTOM, MAX_NAME
from placement.schemas.answer_shapes import (
    NO_BODY,
    NOT_GIVEN,
    RESOURCE_CLASS,
    AnswerTable,
    exactly,
    links,
)
from placement.schemas.json_schema import Json, Schema, closed_object

CUSTOM_NAME: Json = {"type": "string", "pattern": CUSTOM, "maxLength": MAX_NAME}
#: since 1.7 also for the name in the path of PUT
NAMED = {(1, 2): Schema(closed_object({"name": CUSTOM_NAME}, ["name"]))}

_CLASS: Json = exactly(
    {"name": RESOURCE_CLASS, "links": links("/resource_classes/[A-Z0-9_]+", ["self"])}
)

LISTED: AnswerTable = {
    (1, 2): Schema(exactly({"resource_classes": {"type": "array", "items": _CLASS}}))
}
SHOWN: AnswerTable = {(1, 2): Schema(_CLASS)}
RENAMED: AnswerTable = {(1, 2): Schema(_CLASS), (1, 7): NOT_GIVEN}
ENSURED: AnswerTable = {(1, 7): NO_BODY}
