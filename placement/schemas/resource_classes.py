"""Bodies of /resource_classes (rest-api.md 3.11)."""

from placement.schemas.schema import Schema, closed_object

#: also what a name in the URL of PUT must look like from 1.7 on
NAMED = {
    (1, 2): Schema(
        closed_object(
            {"name": {"type": "string", "pattern": "^CUSTOM_[A-Z0-9_]+$", "maxLength": 255}},
            ["name"],
        )
    )
}
