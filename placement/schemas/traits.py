"""Bodies and queries of traits (rest-api.md 3.5, 3.12)."""

from placement.schemas.schema import INTEGER, STRING, Schema, closed_object

_NAMES = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 255}}

REPLACE_OF_PROVIDER = {
    (1, 6): Schema(
        closed_object(
            {"traits": _NAMES, "resource_provider_generation": INTEGER},
            ["traits", "resource_provider_generation"],
        )
    )
}
LIST = {(1, 6): Schema(closed_object({"name": STRING, "associated": STRING}))}
