"""Building blocks for the schemas of responses.

Like a table for requests, a table for responses maps the first microversion of a schema to the
schema. Two other values are possible: NO_BODY for a response without a body, and NOT_GIVEN if the
endpoint no longer responds with the status.
"""

import enum
from collections.abc import Mapping, Sequence

from placement.schemas.json_schema import RESOURCE_CLASS_KEY, Json, Schema, closed_object


class Bodiless(enum.Enum):
    """The values that a table for responses may have instead of a schema."""

    NO_BODY = enum.auto()
    NOT_GIVEN = enum.auto()


NO_BODY, NOT_GIVEN = Bodiless.NO_BODY, Bodiless.NOT_GIVEN

#: schemas of a response's body, by first microversion
AnswerTable = Mapping[tuple[int, int], Schema | Bodiless]

_UUID_TEXT = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
#: the uuid of a provider, which is always normalised
PROVIDER_UUID_KEY = f"^{_UUID_TEXT}$"
PROVIDER_UUID: Json = {"type": "string", "pattern": PROVIDER_UUID_KEY}
REQUEST_ID: Json = {"type": "string", "pattern": f"^req-{_UUID_TEXT}$"}
GENERATION: Json = {"type": "integer", "minimum": 0}
RESOURCE_CLASS: Json = {"type": "string", "pattern": RESOURCE_CLASS_KEY}
#: allocated amounts by class
AMOUNTS: Json = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {RESOURCE_CLASS_KEY: {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
}
#: used amounts by class, which may be 0
USAGES: Json = {
    "type": "object",
    "patternProperties": {RESOURCE_CLASS_KEY: {"type": "integer", "minimum": 0}},
    "additionalProperties": False,
}


def exactly(properties: Json) -> Json:
    """Return the schema of an object with all of these properties and no others."""
    return closed_object(properties, list(properties))


def keyed(pattern: str, value: Json, at_least: int = 0) -> Json:
    """Return the schema of an object with at least so many keys, which match the pattern."""
    return {
        "type": "object",
        "minProperties": at_least,
        "patternProperties": {pattern: value},
        "additionalProperties": False,
    }


def links(path: str, rels: Sequence[str]) -> Json:
    """Return the schema of links with exactly these rels, in this order.

    :param path: regular expression for the path of `self`, without the mount point; the paths of
        the other links are below it
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


#: regular expression for the path of a provider
PROVIDER_PATH = f"/resource_providers/{_UUID_TEXT}"
