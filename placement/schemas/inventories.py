"""Requests and responses of a provider's inventories (rest-api.md 3.3)."""

from placement.domain.capacity import MAX_AMOUNT
from placement.schemas.answer_shapes import GENERATION, AnswerTable, exactly, keyed
from placement.schemas.json_schema import INTEGER, RESOURCE_CLASS_KEY, Json, Schema, closed_object

_FROM_ZERO = {"type": "integer", "maximum": MAX_AMOUNT, "minimum": 0}
_FROM_ONE = {"type": "integer", "maximum": MAX_AMOUNT, "minimum": 1}

RECORD: Json = {
    "resource_provider_generation": INTEGER,
    "total": _FROM_ONE,
    "reserved": _FROM_ZERO,
    "min_unit": _FROM_ONE,
    "max_unit": _FROM_ONE,
    "step_size": _FROM_ONE,
    "allocation_ratio": {"type": "number", "maximum": 3.40282e38},
}

#: one inventory, without its class
RECORD_ALONE = Schema(closed_object(RECORD, ["total"]))

#: all inventories of a provider, with the provider generation that the caller expects
STOCK: Json = closed_object(
    {
        "resource_provider_generation": INTEGER,
        "inventories": {
            "type": "object",
            "patternProperties": {RESOURCE_CLASS_KEY: closed_object(RECORD, ["total"])},
        },
    },
    ["resource_provider_generation", "inventories"],
)

CREATE = {
    (1, 0): Schema(
        closed_object(
            RECORD | {"resource_class": {"type": "string", "pattern": RESOURCE_CLASS_KEY}},
            ["total", "resource_class"],
        )
    )
}
REPLACE = {(1, 0): Schema(STOCK)}
UPDATE = {(1, 0): Schema(closed_object(RECORD, ["total", "resource_provider_generation"]))}

_SHOWN: Json = {name: RECORD[name] for name in RECORD if name != "resource_provider_generation"}
#: an inventory as bodies with several show it
RECORD_SHOWN: Json = exactly(_SHOWN)
_ONE: AnswerTable = {(1, 0): Schema(exactly(_SHOWN | {"resource_provider_generation": GENERATION}))}
_ALL: AnswerTable = {
    (1, 0): Schema(
        exactly(
            {
                "resource_provider_generation": GENERATION,
                "inventories": keyed(RESOURCE_CLASS_KEY, RECORD_SHOWN),
            }
        )
    )
}

LISTED = REPLACED = _ALL
CREATED = SHOWN = UPDATED = _ONE
