"""Requests and responses of /berth/v1/allocations/query (extensions.md 2)."""

from placement.extensions.provider_trees.schema import CONSUMERS
from placement.schemas import allocations
from placement.schemas.answer_shapes import PROVIDER_UUID_KEY, AnswerTable, exactly, keyed
from placement.schemas.answer_tables import extension_answers
from placement.schemas.json_schema import UUID_KEY, Json, Schema, closed_object

#: names of one request for allocations. It isn't part of the schema, whose message would repeat
#: all of them
MOST_NAMES = 10_000
_NAMES: Json = {"type": "array", "items": {"type": "string", "pattern": UUID_KEY}}
ALLOCATIONS_QUERY = {
    (1, 0): Schema(
        closed_object({"consumers": _NAMES, "resource_providers": _NAMES}) | {"minProperties": 1},
        exact_ends=True,
    )
}
ALLOCATIONS_FOUND: AnswerTable = {
    (1, 0): Schema(
        exactly(CONSUMERS | {"providers": keyed(PROVIDER_UUID_KEY, allocations.OF_PROVIDER)})
    )
}

_PATH = "/berth/v1/allocations/query"
BODIES = {(_PATH, "POST"): ALLOCATIONS_QUERY}
RESPONSES = {_PATH: {"POST": extension_answers({200: ALLOCATIONS_FOUND}, 403, 406, 415)}}
