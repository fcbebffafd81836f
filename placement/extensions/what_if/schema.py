"""What a request may say under the key `if` (extensions.rst)."""

from placement.schemas.inventories import RECORD
from placement.schemas.json_schema import (
    RESOURCE_CLASS_KEY,
    STRING,
    UUID,
    UUID_KEY,
    Json,
    closed_object,
)

#: how many providers may be changed, and how many added
MOST_CHANGED = MOST_ADDED = 100_000

_STOCK = closed_object(
    {name: rule for name, rule in RECORD.items() if name != "resource_provider_generation"}
)
_STOCKS: Json = {
    "type": "object",
    "patternProperties": {RESOURCE_CLASS_KEY: _STOCK},
    "additionalProperties": False,
}


def _by_provider(value: Json) -> Json:
    return {
        "type": "object",
        "patternProperties": {UUID_KEY: value},
        "additionalProperties": False,
    }


def _sets(item: Json) -> Json:
    members = {"type": "array", "items": item}
    return closed_object({"add": members, "remove": members})


_LIKE: Json = closed_object(
    {
        "like": UUID,
        "count": {"type": "integer", "minimum": 1, "maximum": MOST_ADDED},
        "empty": {"type": "boolean"},
        "name": {"type": "string", "minLength": 1, "maxLength": 200},
    },
    ["like"],
)
IF: Json = closed_object(
    {
        "inventories": _by_provider(_STOCKS),
        "traits": _by_provider(_sets(STRING)),
        "aggregates": _by_provider(_sets(UUID)),
        "all": closed_object(
            {"classes": _STOCKS, "member_of": STRING, "required": STRING}, ["classes"]
        ),
        "add": {"type": "array", "items": _LIKE},
        "without": {"type": "array", "items": UUID},
        "freed": {"type": "array", "items": UUID},
    }
)
