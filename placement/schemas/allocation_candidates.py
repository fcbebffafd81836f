"""Queries and responses of /allocation_candidates (allocation-candidates.md 1.2, 5)."""

from placement.schemas.answer_shapes import (
    AMOUNTS,
    PROVIDER_UUID,
    PROVIDER_UUID_KEY,
    AnswerTable,
    exactly,
    keyed,
)
from placement.schemas.json_schema import RESOURCE_CLASS_KEY, STRING, Json, Schema, closed_object

# written as in the reference, because error messages quote the schema
_LIMIT: Json = {
    "type": ["integer", "string"],
    "pattern": "^[1-9][0-9]*$",
    "minimum": 1,
    "minLength": 1,
}
_POLICY: Json = {"type": "string", "enum": ["none", "isolate"]}
_TEXT: Json = {"type": ["string"]}
#: patterns for the suffix of a group's parameters
_NUMBER = "([1-9][0-9]*)?"
_FREE_TEXT = "([a-zA-Z0-9_-]{1,64})?"


def _one_group(**properties: Json) -> Schema:
    """Return the schema for versions before 1.25, with the parameters of one group."""
    return Schema(closed_object({"resources": STRING, **properties}, ["resources"]))


def _groups(suffix: str, *names: str, **properties: Json) -> Schema:
    """Return the schema since 1.25, with the parameters of groups with such suffixes."""
    return Schema(
        {
            "type": "object",
            "properties": {"limit": _LIMIT, "group_policy": _POLICY, **properties},
            "additionalProperties": False,
            "patternProperties": {f"^{name}{suffix}$": STRING for name in names},
        }
    )


_GROUP = ("resources", "required", "member_of")
_GROUP_IN_TREE = (*_GROUP, "in_tree")

LIST = {
    (1, 10): _one_group(),
    (1, 16): _one_group(limit=_LIMIT),
    (1, 17): _one_group(limit=_LIMIT, required=_TEXT),
    (1, 21): _one_group(limit=_LIMIT, required=_TEXT, member_of=_TEXT),
    (1, 25): _groups(_NUMBER, *_GROUP),
    (1, 31): _groups(_NUMBER, *_GROUP_IN_TREE),
    (1, 33): _groups(_FREE_TEXT, *_GROUP_IN_TREE),
    (1, 35): _groups(_FREE_TEXT, *_GROUP_IN_TREE, root_required=_TEXT),
    (1, 36): _groups(_FREE_TEXT, *_GROUP_IN_TREE, root_required=_TEXT, same_subtree=_TEXT),
}

_CAPACITY: Json = exactly(
    {"capacity": {"type": "integer"}, "used": {"type": "integer", "minimum": 0}}
)
_RESOURCES: Json = {"resources": keyed(RESOURCE_CLASS_KEY, _CAPACITY)}
_TRAITS: Json = {"traits": {"type": "array", "items": STRING, "uniqueItems": True}}
_FAMILY: Json = {
    "parent_provider_uuid": {"anyOf": [PROVIDER_UUID, {"type": "null"}]},
    "root_provider_uuid": PROVIDER_UUID,
}
_LISTED_REQUEST: Json = {
    "allocations": {
        "type": "array",
        "minItems": 1,
        "items": exactly(
            {"resource_provider": exactly({"uuid": PROVIDER_UUID}), "resources": AMOUNTS}
        ),
    }
}
KEYED_REQUEST: Json = {"allocations": keyed(PROVIDER_UUID_KEY, exactly({"resources": AMOUNTS}), 1)}
MAPPINGS: Json = {
    "mappings": keyed(
        "^[a-zA-Z0-9_-]{0,64}$",
        {"type": "array", "minItems": 1, "items": PROVIDER_UUID, "uniqueItems": True},
        1,
    )
}


def _candidates(request: Json, summary: Json) -> Schema:
    return Schema(
        exactly(
            {
                "allocation_requests": {"type": "array", "items": exactly(request)},
                "provider_summaries": keyed(PROVIDER_UUID_KEY, exactly(summary)),
            }
        )
    )


LISTED: AnswerTable = {
    (1, 10): _candidates(_LISTED_REQUEST, _RESOURCES),
    (1, 12): _candidates(KEYED_REQUEST, _RESOURCES),
    (1, 17): _candidates(KEYED_REQUEST, _RESOURCES | _TRAITS),
    (1, 29): _candidates(KEYED_REQUEST, _RESOURCES | _TRAITS | _FAMILY),
    (1, 34): _candidates(KEYED_REQUEST | MAPPINGS, _RESOURCES | _TRAITS | _FAMILY),
}
