"""Words that the schemas of answers are built from.

A table of answers is like one of requests: from the first microversion of a shape to its schema.
Two other entries are possible: NO_BODY where the answer has none, and NOT_GIVEN where the status
is no longer answered.
"""

import enum
from collections.abc import Mapping, Sequence

from placement.schemas.json_schema import RESOURCE_CLASS_KEY, Json, Schema, closed_object


class Bodiless(enum.Enum):
    """What stands in a table of answers in place of a schema."""

    NO_BODY = enum.auto()
    NOT_GIVEN = enum.auto()


NO_BODY, NOT_GIVEN = Bodiless.NO_BODY, Bodiless.NOT_GIVEN

#: from the first microversion on, what the body of an answer is
AnswerTable = Mapping[tuple[int, int], Schema | Bodiless]

_UUID_TEXT = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
#: the uuid of a provider, always in the one spelling
PROVIDER_UUID_KEY = f"^{_UUID_TEXT}$"
PROVIDER_UUID: Json = {"type": "string", "pattern": PROVIDER_UUID_KEY}
REQUEST_ID: Json = {"type": "string", "pattern": f"^req-{_UUID_TEXT}$"}
GENERATION: Json = {"type": "integer", "minimum": 0}
RESOURCE_CLASS: Json = {"type": "string", "pattern": RESOURCE_CLASS_KEY}
#: what is held of each class
AMOUNTS: Json = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {RESOURCE_CLASS_KEY: {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
}
#: what is used of each class, maybe nothing
USAGES: Json = {
    "type": "object",
    "patternProperties": {RESOURCE_CLASS_KEY: {"type": "integer", "minimum": 0}},
    "additionalProperties": False,
}


def exactly(properties: Json) -> Json:
    """An object with all of these properties and no others."""
    return closed_object(properties, list(properties))


def keyed(pattern: str, value: Json, at_least: int = 0) -> Json:
    """An object whose keys fit the pattern, at least so many."""
    return {
        "type": "object",
        "minProperties": at_least,
        "patternProperties": {pattern: value},
        "additionalProperties": False,
    }


def links(path: str, rels: Sequence[str]) -> Json:
    """Links with just these rels, in this order.

    :param path: regular expression of the path of `self`, behind the mount point; the other
        links are below it
    """
    return {
        "type": "array",
        "prefixItems": [_link(path, rel) for rel in rels],
        "minItems": len(rels),
        "maxItems": len(rels),
    }


def _link(path: str, rel: str) -> Json:
    ending = path if rel == "self" else f"{path}/{rel}"
    return exactly(
        {"rel": {"const": rel}, "href": {"type": "string", "pattern": f"^(/.+)?{ending}$"}}
    )


#: links of a provider are below this
PROVIDER_PATH = f"/resource_providers/{_UUID_TEXT}"
