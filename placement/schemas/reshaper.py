"""Requests of /reshaper (rest-api.md 3.10)."""

from placement.schemas.allocations import RESHAPED
from placement.schemas.inventories import STOCK
from placement.schemas.json_schema import UUID_KEY, Json, Schema, closed_object

_STOCKS: Json = {
    "type": "object",
    "patternProperties": {UUID_KEY: STOCK},
    "minProperties": 1,
    "additionalProperties": False,
}

RESHAPE = {
    version: Schema(
        closed_object(
            {"inventories": _STOCKS, "allocations": consumers}, ["inventories", "allocations"]
        )
    )
    for version, consumers in RESHAPED.items()
}
