"""Queries of /usages (rest-api.md 3.13)."""

from placement.schemas.schema import Json, Schema, closed_object

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
